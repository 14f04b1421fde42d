"""One cell of the matrix: a state of the world, what is desired of it, and what somebody else then did.

What judges the world looks for itself and shares no code with the kinds.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Place = Path
"""A directory that is the cell's own."""
Act = Callable[[Place], object]
Manifest = Callable[[Place], Sequence[Mapping[str, object]]]
"""The list ``resources`` of a manifest."""


def do_nothing(place: Place) -> None:
    """Leave the world as it is."""


def fixed_manifest(resources: Sequence[Mapping[str, object]], place: Place) -> Sequence[Mapping[str, object]]:
    """``resources``, which do not depend on the place of the cell."""
    return resources


def tree(place: Place) -> dict[str, object]:
    """All that can be seen below a directory without following links, but for times that reading moves."""
    found = {}
    for path in sorted(place.rglob("*")):
        seen = os.lstat(path)
        content = os.readlink(path) if stat.S_ISLNK(seen.st_mode) else None
        if stat.S_ISREG(seen.st_mode):
            content = path.read_bytes()
        key = str(path.relative_to(place))
        found[key] = (seen.st_ino, seen.st_mode, seen.st_uid, seen.st_gid, seen.st_mtime_ns, content)
    return found


@dataclass(frozen=True)
class Cell:
    """``state`` makes the world; ``wrong`` says what about it is not as ``resources`` ask, or nothing.

    With ``drift``, the manifest is applied first, then that is done to the world, and then the questions are asked.
    ``fails``: the desired state can't be reached. ``unforeseeable`` says why no dry run could know that. ``look`` is all
    that a dry run must leave alone, and ``clean`` takes away what is outside of the cell's place.
    """

    kind: str
    name: str
    resources: Manifest
    wrong: Callable[[Place], str | None]
    state: Act = do_nothing
    drift: Act | None = None
    fails: bool = False
    unforeseeable: str = ""
    look: Callable[[Place], object] = tree
    clean: Act = do_nothing
    always: bool = False
    """Whether each run does it again, as a command without a guard."""

    def __str__(self) -> str:
        return f"{self.kind}: {self.name}"


def differs(what: str, found: object, wanted: object) -> str | None:
    """The sentence of a judge, where the two are not equal."""
    return None if found == wanted else f"{what} is {found!r}, not {wanted!r}"


def first(*faults: str | None) -> str | None:
    """The first fault that there is."""
    return next((fault for fault in faults if fault), None)
