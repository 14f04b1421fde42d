"""A manifest as the rest of the program sees it, and the one function that reads it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from reactor.manifest.binding import Binder
from reactor.manifest.declaration import Declaration
from reactor.manifest.document import Settings, read_document
from reactor.manifest.kinds import INSTALLED, Kinds
from reactor.manifest.source import LineMap, Problems, read_source
from reactor.manifest.tree import parse
from reactor.resource.base import Resource
from reactor.resource.collector import collector_paused
from reactor.resource.diagnostic import Diagnostic, Place, PropertyPath


@dataclass(frozen=True)
class Positions:
    """Where everything of a manifest stands. It holds the whole tree; the resources hold nothing of it."""

    lines: LineMap
    declarations: list[Declaration]


@dataclass
class Manifest:
    """What is to be converged. ``resources`` are in the order of the file, without those that are wrong.

    ``wrecks`` are what is left of these, name and references only, to be checked with the others. ``broken`` holds
    the refs of what left nothing, by name and by alias: a reference to one is no further problem.
    ``positions`` may be set to None once nothing is located any more.
    """

    path: str
    resources: list[Resource] = field(default_factory=list)
    wrecks: list[Resource] = field(default_factory=list)
    settings: Settings = field(default_factory=Settings)
    broken: frozenset[str] = frozenset()
    pre_message: str | None = None
    post_message: str | None = None
    positions: Positions | None = field(default=None, repr=False)

    def locate(self, index: int, path: PropertyPath = ()) -> Place | None:
        """The place of a property's value in the resource at ``index``, or of what is closest around it.

        Wrecks are counted on after the resources.
        """
        resource = [*self.resources, *self.wrecks][index]
        if self.positions is None:
            return resource.place
        spot = self.positions.declarations[index].find(type(resource), path)
        return self.positions.lines.place(spot.at)


def read_manifest(
    path: str | os.PathLike[str], kinds: Kinds = INSTALLED
) -> tuple[Manifest, list[Diagnostic]]:
    """Read the manifest at ``path``, and all that is wrong with it, in the order of the file.

    Never raises for bad input: what can't be read at all gives an empty manifest. Changes nothing anywhere.
    """
    with collector_paused():
        return _read(os.fsdecode(path), kinds)


def _read(path: str, kinds: Kinds) -> tuple[Manifest, list[Diagnostic]]:
    source = read_source(path)
    if isinstance(source, Diagnostic):
        return Manifest(path), [source]
    problems = Problems(source)
    document = read_document(parse(problems), problems)
    binder = Binder(problems, kinds, os.path.dirname(os.path.abspath(path)))
    if document.entries is not None:
        binder.bind(document.entries)
    manifest = Manifest(
        path=path,
        resources=binder.resources,
        wrecks=[wreck for wreck, _ in binder.wrecks],
        settings=document.settings,
        broken=frozenset(binder.broken),
        pre_message=document.pre_message,
        post_message=document.post_message,
        positions=Positions(
            source.lines, [*binder.declarations, *(declaration for _, declaration in binder.wrecks)]
        ),
    )
    return manifest, problems.sorted()
