"""An error or warning about the data of a manifest."""

from __future__ import annotations

from reactor.named_tuple import NamedTuple

DocumentPath = tuple[str | int, ...]
"""The path from the root of the document: ``("overrides", "os:debian", "ports", 0)``."""


class DataProblem(NamedTuple):
    """One problem. The caller knows the positions in the document, and finds the place of the problem.

    ``code`` is its error code, see `reactor.error_codes`. ``path`` leads to the value that has the problem. For an
    error in an expression, ``start`` and ``end`` are offsets in the text of that value. For a problem with an
    annotation or a key, ``comment_at`` is the offset of the comment or key in the document.
    """

    code: str
    path: DocumentPath
    message: str
    hint: str | None = None
    start: int | None = None
    end: int | None = None
    comment_at: int | None = None
