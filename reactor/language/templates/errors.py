"""What goes wrong in a template.

- `TemplateError`: for the user; it names the template, the line and the column;
- `FunctionError`: the same before anybody knows the place. Functions raise it, as those of expressions do; the engine
  adds the place;
  - `Fault`: one that may know its place in the source;
  - `BoundFault`: a template asked for more time, text or steps than it may have. No ``try`` of a template catches it.
"""

from __future__ import annotations

from reactor.errors import Place, ReactorError
from reactor.language.expression.errors import FunctionError


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


class BoundFault(Fault):
    """A bound was reached."""

    code = "R0308"


def located(
    fault: FunctionError, name: str, source: str, offset: int, error: type[TemplateError] = TemplateError
) -> TemplateError:
    """The ``error`` for ``fault``, at its own offset or else at ``offset`` of ``source``."""
    own = fault.offset if isinstance(fault, Fault) else None
    at = offset if own is None else own
    line = source.count("\n", 0, at) + 1
    code = fault.code if isinstance(fault, BoundFault) else None
    return error(fault.message, name, line, at - source.rfind("\n", 0, at), fault.hint, code=code)
