"""What is wrong, where, and how to fix it: the one error record of loading, graph and run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from reactor.errors import Place, ReactorError

PropertyPath = tuple[str | int, ...]
"""The way to a value inside a resource, for example ``("require", 0)``; ``()`` is the resource itself."""


class Diagnostic(NamedTuple):
    """One problem of a manifest, ready to be shown.

    ``code`` is its class of problems in `reactor.error_codes`. ``notes`` are further places that belong to it: the other
    half of a duplicate, the edges of a cycle.
    """

    code: str
    message: str
    place: Place | None = None
    hint: str | None = None
    notes: tuple[tuple[str, Place | None], ...] = ()


class ManifestError(ReactorError):
    """The manifest can't be used. Carries every problem found, in the order of their places.

    ``files`` is all it was made of, as far as that is known: a change of one may fix it. ``texts`` are those with
    places in them that are in no file, by the names that the places have. Code, hint and place are those of the first.
    """

    def __init__(
        self,
        diagnostics: list[Diagnostic],
        files: Sequence[str] = (),
        texts: Mapping[str, str] | None = None,
    ) -> None:
        first = diagnostics[0]
        message = "; ".join(each.message for each in diagnostics)
        super().__init__(message, first.hint, place=first.place, code=first.code)
        self.diagnostics = diagnostics
        self.files = files
        self.texts = texts or {}


class PropertyProblem(NamedTuple):
    """What a kind says about its own properties: the property, what is wrong with it, how to fix it."""

    path: PropertyPath
    message: str
    hint: str | None = None


class InvalidPropertiesError(ReactorError, ValueError):
    """The properties of one resource do not go together. Raised by `Resource` when it is built."""

    code = "R0112"

    def __init__(self, problems: list[PropertyProblem]) -> None:
        super().__init__("; ".join(p.message for p in problems))
        self.problems = problems
