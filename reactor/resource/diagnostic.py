"""What is wrong, where, and how to mend it: the one error record of load, graph and run time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

PropertyPath = tuple[str | int, ...]
"""The way to a value inside a resource, for example ``("require", 0)``; ``()`` is the resource itself."""


class Place(NamedTuple):
    """A position in a file. Lines and columns count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Diagnostic(NamedTuple):
    """One problem of a manifest, ready to be shown.

    ``notes`` are further places that belong to it: the other half of a duplicate, the edges of a cycle.
    """

    message: str
    place: Place | None = None
    hint: str | None = None
    notes: tuple[tuple[str, Place | None], ...] = ()


class ManifestError(Exception):
    """The manifest can't be used. Carries every problem found, in the order of their places.

    ``files`` is all it was made of, as far as that is known: a change of one may mend it. ``texts`` are those with
    places in them that are in no file, by the names that the places have.
    """

    def __init__(
        self,
        diagnostics: list[Diagnostic],
        files: Sequence[str] = (),
        texts: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__("; ".join(d.message for d in diagnostics))
        self.diagnostics = diagnostics
        self.files = files
        self.texts = texts or {}


class PropertyProblem(NamedTuple):
    """What a kind says about its own properties: the property, what is wrong with it, how to mend it."""

    path: PropertyPath
    message: str
    hint: str | None = None


class InvalidPropertiesError(ValueError):
    """The properties of one resource do not go together. Raised by `Resource` when it is built."""

    def __init__(self, problems: list[PropertyProblem]) -> None:
        super().__init__("; ".join(p.message for p in problems))
        self.problems = problems
