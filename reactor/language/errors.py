"""The errors of expressions and templates.

- ``FunctionError``: an operator or a function failed. It does not know where it was called, so it has no position;

  - ``Fault``: the same in a template; it may know its offset in the source;

    - ``LimitFault``: a template exceeded its limit of time, steps, characters or memory. ``try`` in a template does not
      catch it;

- ``ExpressionError``: an expression is wrong or failed. It has the position that the evaluator added;

  - ``ExpressionSyntaxError``: an expression can't be parsed;

- ``TemplateError``: a template is wrong or failed. It names the template, the line and the column;

  - ``TemplateSourceError``: a template can't be compiled.
"""

from __future__ import annotations

from reactor.errors import Place, ReactorError

_LONGEST = 200
"""Characters of a message; what it quotes may be much longer."""


class FunctionError(ReactorError):
    """An operator or a function can't do what was asked; ``hint`` says how to mend it."""

    code = "R0303"

    def __init__(self, message: str, hint: str | None = None, *, code: str | None = None) -> None:
        shown = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}..."
        super().__init__(shown, hint if hint is None or len(hint) <= _LONGEST else None, code=code)


class BriefLimitError(Exception):
    """An evaluation that must be brief is not: it goes on where it holds nobody up. No error of the expression."""


class ExpressionError(ReactorError):
    """An expression is wrong, or failed.

    ``start`` and ``end`` are offsets in characters of the whole text that was handed in, so that a caret can point at
    the culprit inside a YAML value.
    """

    code = "R0303"

    def __init__(
        self, message: str, start: int, end: int, hint: str | None = None, *, code: str | None = None
    ) -> None:
        super().__init__(message, hint, code=code)
        self.start = start
        self.end = end
        self.others: tuple[ExpressionError, ...] = ()
        """What else is wrong with the same text."""

    def moved(self, by: int) -> ExpressionError:
        """The same error for a text in which this expression begins ``by`` characters later."""
        return type(self)(self.message, self.start + by, self.end + by, self.hint, code=self.code)


class ExpressionSyntaxError(ExpressionError):
    """An expression can't be parsed."""

    code = "R0301"


class TemplateError(ReactorError):
    """A template that can't be compiled or rendered. ``line`` and ``column`` count from 1."""

    code = "R0307"

    def __init__(
        self,
        message: str,
        name: str,
        line: int,
        column: int,
        hint: str | None = None,
        *,
        code: str | None = None,
    ) -> None:
        super().__init__(message, hint, place=Place(name, line, column), code=code)
        self.name = name
        self.line = line
        self.column = column

    def without_words(self) -> TemplateError:
        """The same error for those who may not see the data, which its words may quote."""
        words = "the template failed, and why is not shown: the data hold secrets"
        return TemplateError(words, self.name, self.line, self.column, code=self.code)

    def __str__(self) -> str:
        return f"{self.name}:{self.line}:{self.column}: {self.message}"


class TemplateSourceError(TemplateError):
    """A source that is no template. Its words quote the source, and no data."""

    code = "R0306"

    def without_words(self) -> TemplateError:
        """Itself: whoever may see the place may see these words."""
        return self


class Fault(FunctionError):  # noqa: N818  half of an error: the other half is the place
    """Something that can't be done. ``offset`` is where in the source, when the raiser knows better than the engine."""

    def __init__(self, message: str, hint: str | None = None, offset: int | None = None) -> None:
        super().__init__(message, hint)
        self.offset = offset


class LimitFault(Fault):
    """A bound was reached."""

    code = "R0308"


def located(
    fault: FunctionError, name: str, source: str, offset: int, error: type[TemplateError] = TemplateError
) -> TemplateError:
    """The ``error`` for ``fault``, at its own offset or else at ``offset`` of ``source``."""
    own = fault.offset if isinstance(fault, Fault) else None
    at = offset if own is None else own
    line = source.count("\n", 0, at) + 1
    code = fault.code if isinstance(fault, LimitFault) else None
    return error(fault.message, name, line, at - source.rfind("\n", 0, at), fault.hint, code=code)
