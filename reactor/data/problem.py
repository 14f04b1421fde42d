"""What is wrong with the data of a manifest."""

from __future__ import annotations

from typing import NamedTuple

DocumentPath = tuple[str | int, ...]
"""The way from the top of the document: ``("overrides", "os:debian", "ports", 0)``."""


class DataProblem(NamedTuple):
    """One problem, for whoever knows the positions of the document to place.

    ``code`` is its class of problems in `reactor.error_codes`. ``path`` leads to the value that it is about. For an error within an expression, ``start`` and ``end`` are
    offsets in the text of that value; for one about an annotation or a key, ``comment_at`` is the offset of
    the comment or key in the document.
    """

    code: str
    path: DocumentPath
    message: str
    hint: str | None = None
    start: int | None = None
    end: int | None = None
    comment_at: int | None = None
