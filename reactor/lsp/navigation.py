"""Go to the declaration of a resource, and rename a resource with all references to it."""

from __future__ import annotations

from reactor.errors import ReactorError
from reactor.lsp.document import Document
from reactor.lsp.references import Span, declared, name_at, references, rename_problem


class RenameError(ReactorError):
    """A name can't be changed here, or not to this one."""

    code = "R0118"


def definitions(document: Document, line: int, column: int) -> list[Span]:
    """Return the places where the resource of the name or reference at a position is declared."""
    found = name_at(document.outline, line, column)
    if found is None:
        return []
    return [each.span for each in declared(document.outline) if each.ref == found.ref]


def renamed_part(document: Document, line: int, column: int) -> Span:
    """Return the name at a position. Raises RenameError where there is none that can be changed."""
    found = name_at(document.outline, line, column)
    if found is None:
        raise RenameError("there is no name of a resource here")
    if not any(each.ref == found.ref for each in declared(document.outline)):
        raise RenameError(f"{found.ref} is not declared by its name in this file")
    if "{{" in found.ref or "${" in found.ref:
        raise RenameError("the name is an expression, so change what it is made of")
    return found.span


def renaming(document: Document, line: int, column: int, new: str) -> list[Span]:
    """Return all places of the name at a position, which may be replaced with ``new``. Raises RenameError."""
    renamed_part(document, line, column)
    if problem := rename_problem(new):
        raise RenameError(problem)
    found = name_at(document.outline, line, column)
    ref = found.ref if found else ""
    changed = f"{ref.partition('#')[0]}#{new}"
    if any(each.ref == changed for each in declared(document.outline)):
        raise RenameError(f"there is already a resource {changed}")
    everywhere = (*declared(document.outline), *references(document.outline))
    return [each.span for each in everywhere if each.ref == ref]
