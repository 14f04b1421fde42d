"""What all the files of one load come to: their resources, in order, and who may be called what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from reactor.errors import Place
from reactor.manifest.declaration import Declaration
from reactor.manifest.source import LineMap, Problems, Source
from reactor.resource.base import Resource
from reactor.resource.declared import numbered
from reactor.resource.diagnostic import Diagnostic, PropertyPath

_Spot = tuple[LineMap, int, int]
"""An offset in one of the files, and the part that was read then: a place is looked up only for a problem."""


class Origin(NamedTuple):
    """Where a resource is declared: in which file, and where in it."""

    source: Source
    declaration: Declaration

    def place(self, model: type[Resource], path: PropertyPath) -> Place:
        """The place of a property's value, or of what is closest around it."""
        return self.source.lines.place(self.declaration.find(model, path).at)


@dataclass(eq=False, repr=False)
class ResourceTable:
    """``resources`` and ``origins`` belong together by index.

    ``placeholders`` are what is left of resources that could not be built, name and references only, with their origins.
    ``broken`` holds the refs of what left not even that, so that a reference to it is no further problem. With
    something ``unread``, a manifest of which nobody knows what it declares, no reference is. ``chains`` are the
    indices of resources that go one after the other. ``files`` are the absolute paths of all that was read.
    ``warnings`` keep nothing from being used. ``texts`` are those that templates have made, by the names that places
    in them have. ``part`` is the number of the manifest that is read now, of those that the user has named.
    """

    resources: list[Resource] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)
    placeholders: list[tuple[Resource, Origin]] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    unread: bool = False
    chains: list[tuple[Sequence[int], bool]] = field(default_factory=list)
    files: dict[str, None] = field(default_factory=dict)
    problems: list[Diagnostic] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    part: int = 0
    _taken: dict[str, _Spot] = field(default_factory=dict)
    _repeats: dict[str, int] = field(default_factory=dict)

    def add(self, resource: Resource, origin: Origin) -> None:
        """Take a resource in."""
        self.resources.append(resource)
        self.origins.append(origin)

    def claim(self, ref: str, at: int, problems: Problems, hint: str) -> bool:
        """Take ``ref`` for the resource at ``at``. A ref taken before is a problem, and False."""
        spot = problems.source.lines, at, self.part
        if (taken := self._taken.setdefault(ref, spot)) is spot:
            return True
        lines, first_at, _ = taken
        first = lines.place(first_at)
        notes = [("first declared here", first)]
        if first == problems.source.lines.place(at):
            notes, hint = (
                [],
                "its manifest is applied twice: apply it once, or make the name of what is in its data",
            )
        problems.add("R0201", f"{ref} is declared twice", at, hint, notes)
        return False

    def is_of_other_part(self, ref: str) -> bool:
        """Whether another of the manifests that the user has named declares ``ref``."""
        return ref in self._taken and self._taken[ref][2] != self.part

    def repeat(self, ref: str, at: int, problems: Problems) -> int:
        """Take ``ref`` where names may repeat. Returns which one of that name it is, from 1.

        A number whose ref somebody else has is passed over: a name may look like one with a number.
        """
        number = self._repeats.get(ref, 0) + 1
        while (own := numbered(ref, number)) in self._taken:
            number += 1
        self._taken[own] = problems.source.lines, at, self.part
        self._repeats[ref] = number
        return number
