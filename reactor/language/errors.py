"""The errors of expressions and templates.

- ``FunctionError``: an operator or a function failed. It has no position, because it does not know the call;

  - ``Fault``: the same in a template; it may know its offset in the source;

    - ``LimitFault``: a template exceeded its limit of time, steps, characters or memory. ``try`` in a template does not
      catch it;

- ``ExpressionError``: an expression is wrong or failed. It has the position that the evaluator added;

  - ``ExpressionSyntaxError``: an expression can't be parsed;

- ``TemplateError``: a template is wrong or failed. It names the template, the line and the column;

  - ``TemplateSourceError``: a template can't be compiled, or uses an unknown name.
"""

from __future__ import annotations

import re
from typing import Final

from reactor.errors import Place, ReactorError

_LONGEST = 200
"""The most characters of an error message, which may quote a long value."""


_NO_SUCH_KEY: Final = re.compile(
    r"(?:'dict object' has no attribute|there is no key|there is no field or method) '(\w+)'"
)
"""The whole message that a map of the data has no key, of each template language."""


def _has_word(source: str, line: int, word: str) -> bool:
    text = "".join(source.splitlines()[line - 1 : line])
    return re.search(rf"\b{re.escape(word)}\b", text) is not None


class FunctionError(ReactorError):
    """An operator or a function failed; ``hint`` says how to fix it."""

    code = "R0303"

    def __init__(self, message: str, hint: str | None = None, *, code: str | None = None) -> None:
        shown = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}..."
        super().__init__(shown, hint if hint is None or len(hint) <= _LONGEST else None, code=code)


class BriefLimitError(Exception):
    """An evaluation that must be brief would take too long.

    Not a user's error: the caller evaluates it in a thread instead.
    """


class ExpressionError(ReactorError):
    """An expression is wrong, or failed.

    ``start`` and ``end`` are offsets in characters of the whole string that was parsed. So a caret can point at the
    error inside a YAML value.
    """

    code = "R0303"

    def __init__(
        self, message: str, start: int, end: int, hint: str | None = None, *, code: str | None = None
    ) -> None:
        super().__init__(message, hint, code=code)
        self.start = start
        self.end = end
        self.others: tuple[ExpressionError, ...] = ()
        """More errors in the same string."""

    def moved(self, by: int) -> ExpressionError:
        """Return the same error for a string in which the expression begins ``by`` characters later."""
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
        self.others: tuple[TemplateError, ...] = ()
        """More errors in the same template."""

    def without_words(self, source: str = "") -> TemplateError:
        """Return the same error without its message, which may quote secret data.

        That a key is missing is no secret if the ``source`` of the template has this key, as a word in the same line.
        """
        if (found := _NO_SUCH_KEY.fullmatch(self.message)) and _has_word(source, self.line, found[1]):
            hint = f"give {found[1]} a default, or test whether it is there"
            return TemplateError(self.message, self.name, self.line, self.column, hint, code=self.code)
        words = "the template failed, and why is not shown: the data hold secrets"
        hint = "to see why, use a copy of the manifest with invented values in place of the secrets"
        return TemplateError(words, self.name, self.line, self.column, hint, code=self.code)

    def __str__(self) -> str:
        return f"{self.name}:{self.line}:{self.column}: {self.message}"


class TemplateSourceError(TemplateError):
    """A template can't be compiled, or uses an unknown name. The message quotes only the source, never data."""

    code = "R0306"

    def without_words(self, source: str = "") -> TemplateError:  # noqa: ARG002 - as in the base class
        """Return the error itself, because its message quotes no data."""
        return self


class Fault(FunctionError):  # noqa: N818  not an error yet: it has no place
    """An error in a template. ``offset`` is its place in the source, if known here; else the engine adds the place."""

    def __init__(self, message: str, hint: str | None = None, offset: int | None = None) -> None:
        super().__init__(message, hint)
        self.offset = offset


class LimitFault(Fault):
    """A limit was exceeded."""

    code = "R0308"


def located(
    fault: FunctionError, name: str, source: str, offset: int, error: type[TemplateError] = TemplateError
) -> TemplateError:
    """Return ``fault`` as an ``error`` of the template ``name``, at its own offset; if it has none, at ``offset``."""
    own = fault.offset if isinstance(fault, Fault) else None
    at = offset if own is None else own
    code = fault.code if isinstance(fault, LimitFault) else None
    return error(fault.message, name, *line_and_column(source, at), fault.hint, code=code)


def line_and_column(source: str, offset: int) -> tuple[int, int]:
    """Return the line and column of ``offset`` in ``source``, both from 1."""
    return source.count("\n", 0, offset) + 1, offset - source.rfind("\n", 0, offset)
