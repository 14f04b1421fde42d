"""The result of one load: the resources of all files, in order, and their unique refs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reactor.manifest.declaration import Declaration
from reactor.manifest.source import LineMap, Problems
from reactor.resource.base import Resource
from reactor.resource.declared import numbered
from reactor.resource.diagnostic import Diagnostic
from reactor.resource.gc_control import free_dict

if TYPE_CHECKING:
    from reactor.manifest.document import Part
    from reactor.manifest.notify_channels import Channel

_Spot = tuple[LineMap, int, int]
"""The lines of a file, an offset in it, and the number of the part.

The place is computed only if there is a problem.
"""


@dataclass(eq=False, repr=False)
class ResourceTable:
    """``resources`` and ``declarations`` have the same indices.

    ``placeholders`` replace invalid resources: they have only the name and references, with their declarations. ``broken``
    has the refs of resources without a placeholder: references to these are not reported. If a manifest is ``unread``,
    its resources are unknown, so no unknown reference is reported. ``chains`` has the indices of resources that run
    one after the other. ``files`` has the absolute paths of all files that were read. ``texts`` has rendered
    templates, by the file names in places. ``part`` is the number of the current manifest among those that the user
    named. ``channels`` are those for notifications. ``children`` has the manifests that are applied, after the ref of
    what applies each, in the order in which they are found. ``shares`` are the values that the host shares, by name.
    """

    resources: list[Resource] = field(default_factory=list)
    declarations: list[Declaration] = field(default_factory=list)
    placeholders: list[tuple[Resource, Declaration]] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    unread: bool = False
    chains: list[tuple[Sequence[int], bool]] = field(default_factory=list)
    files: dict[str, None] = field(default_factory=dict)
    problems: list[Diagnostic] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    shares: dict[str, Any] = field(default_factory=dict)
    part: int = 0
    channels: dict[str, Channel] = field(default_factory=dict)
    children: list[tuple[str, Part]] = field(default_factory=list)
    _taken: dict[str, _Spot] = field(default_factory=dict)
    _repeats: dict[str, int] = field(default_factory=dict)

    def free(self) -> None:
        """Free what only the reading needs, piece by piece. See `reactor.resource.gc_control.free`."""
        free_dict(self._taken)
        free_dict(self._repeats)

    def add(self, resource: Resource, declaration: Declaration) -> None:
        """Add a resource and its declaration."""
        self.resources.append(resource)
        self.declarations.append(declaration)

    def take(self, ref: str, at: int, problems: Problems) -> bool:
        """Reserve ``ref`` for the resource at the offset ``at``, and return True, if it is not taken."""
        spot = problems.source.lines, at, self.part
        return self._taken.setdefault(ref, spot) is spot

    def claim(self, ref: str, at: int, problems: Problems, hint: str, again: str) -> bool:
        """Reserve ``ref`` for the resource at the offset ``at``. If it is taken, add a problem and return False.

        ``again`` is the hint if the same declaration has taken it.
        """
        if self.take(ref, at, problems):
            return True
        lines, first_at, _ = self._taken[ref]
        first = lines.place(first_at)
        notes = [("first declared here", first)]
        if first == problems.source.lines.place(at):
            notes, hint = [], again
        problems.add("R0201", f"{ref} is declared twice", at, hint, notes)
        return False

    def is_of_other_part(self, ref: str) -> bool:
        """Whether a different manifest that the user named declares ``ref``."""
        return ref in self._taken and self._taken[ref][2] != self.part

    def repeat(self, ref: str, at: int, problems: Problems) -> int:
        """Reserve ``ref`` where names may repeat. Return its number among the resources of that name, from 1.

        Skips numbers whose ref is taken: the name of another resource may end with that number.
        """
        number = self._repeats.get(ref, 0) + 1
        while (own := numbered(ref, number)) in self._taken:
            number += 1
        self._taken[own] = problems.source.lines, at, self.part
        self._repeats[ref] = number
        return number
