"""What is wrong, where, and how to fix it: the common error record of the loader, the graph and runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from reactor.errors import Place, ReactorError
from reactor.named_tuple import NamedTuple

PropertyPath = tuple[str | int, ...]
"""The path to a value inside a resource, for example ``("require", 0)``; ``()`` is the resource itself."""


class Diagnostic(NamedTuple):
    """One problem of a manifest, ready to be shown.

    ``code`` is its class of problems in `reactor.error_codes`. ``notes`` are related places: the other declaration of
    a duplicate, the edges of a cycle.
    """

    code: str
    message: str
    place: Place | None = None
    hint: str | None = None
    notes: tuple[tuple[str, Place | None], ...] = ()


def in_one_line(problem: Diagnostic, manifests: str) -> str:
    """Return the place of ``problem``, or else the ``manifests`` that have it, what is wrong, and how to fix it."""
    place = problem.place or (manifests if manifests not in problem.message else None)
    hint = f" (hint: {problem.hint})" if problem.hint else ""
    return f"{place}: {problem.message}{hint}" if place else f"{problem.message}{hint}"


_PLACED = r"(?s)(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): (?P<message>.*)"


def placed(warning: str) -> tuple[Place | None, str]:
    """Return the place with which a warning of the loader begins, if it does, and the rest."""
    if (found := re.fullmatch(_PLACED, warning)) is None:
        return None, warning
    return Place(found["file"], int(found["line"]), int(found["column"])), found["message"]


class ManifestError(ReactorError):
    """The manifest is invalid. Carries every problem found, in the order of their places.

    ``files`` are the files that it was loaded from, as far as they are known: changing one may fix it. ``texts`` has
    the sources of places that are not in a file, by the name used in these places. Code, hint and place are those of
    the first problem.

    ``valid`` are the resources without problems; ``invalid_names`` are the names of all others, if these are known.
    """

    valid: Sequence[Any] = ()
    invalid_names: frozenset[str] = frozenset()

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
    """A problem that a kind found in its own properties: the property, what is wrong, and how to fix it."""

    path: PropertyPath
    message: str
    hint: str | None = None


class InvalidPropertiesError(ReactorError, ValueError):
    """The properties of one resource contradict each other. Raised by `Resource` when it is built."""

    code = "R0112"

    def __init__(self, problems: list[PropertyProblem]) -> None:
        super().__init__("; ".join(p.message for p in problems))
        self.problems = problems
