"""A manifest as the rest of the program sees it, and the one function that reads it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reactor.data.resolve import Resolved
from reactor.manifest.collection import Collection, Origin
from reactor.manifest.document import Document, Settings
from reactor.manifest.inputs import NO_INPUTS, Inputs
from reactor.manifest.kinds import INSTALLED, Kinds
from reactor.manifest.reading import Reading
from reactor.manifest.source import Problems
from reactor.resource.base import Resource
from reactor.resource.collector import collector_paused
from reactor.resource.diagnostic import Diagnostic, Place, PropertyPath


@dataclass(eq=False, repr=False)
class Manifest:
    """What is to be converged. ``resources`` are in the order of the files, without those that are wrong.

    ``wrecks`` are what is left of these, name and references only, to be checked with the others. ``broken`` holds
    the refs of what left nothing, by name and by alias: a reference to one is no further problem, and with a manifest
    ``unread``, of which nobody knows what it declares, none is. ``chains`` are the indices of resources that go one
    after the other. ``files`` are all the files it was made of. ``secrets`` are the paths in ``data`` of what must not
    be shown. ``origins`` may be set to None once nothing is located any more.
    """

    path: str
    resources: list[Resource] = field(default_factory=list)
    wrecks: list[Resource] = field(default_factory=list)
    chains: Sequence[tuple[Sequence[int], bool]] = ()
    settings: Settings = field(default_factory=Settings)
    broken: frozenset[str] = frozenset()
    unread: bool = False
    data: Mapping[str, Any] = field(default_factory=dict)
    secrets: frozenset[tuple[str, ...]] = frozenset()
    files: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    is_ccm: bool = False
    pre_message: str | None = None
    post_message: str | None = None
    origins: list[Origin] | None = field(default=None, repr=False)
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)

    def locate(self, index: int, path: PropertyPath = ()) -> Place | None:
        """The place of a property's value in the resource at ``index``, or of what is closest around it.

        Wrecks are counted on after the resources.
        """
        resource = [*self.resources, *self.wrecks][index]
        return resource.place if self.origins is None else self.origins[index].place(type(resource), path)

    def declared(self, index: int) -> Mapping[str, Any]:
        """The properties of the resource at ``index`` as they are written, those of its defaults included."""
        if self.origins is None:
            return {}
        declaration = self.origins[index].declaration
        return {**(declaration.defaults or {}), **(declaration.body or {})}


def read_manifest(
    path: str | os.PathLike[str], kinds: Kinds = INSTALLED, inputs: Inputs = NO_INPUTS
) -> tuple[Manifest, list[Diagnostic]]:
    """Read the manifest at ``path``, with all it applies, and all that is wrong with it, in the order of the files.

    Never raises for bad input: what can't be read at all gives an empty manifest. Changes nothing anywhere.
    """
    file = os.fsdecode(path)
    with collector_paused():
        collection = Collection()
        document, data = Reading(collection, kinds, inputs).read(file)
        return _manifest(file, collection, document, data), collection.problems


def read_tree(
    problems: Problems, tree: Any, kinds: Kinds = INSTALLED, inputs: Inputs = NO_INPUTS
) -> tuple[Manifest, list[Diagnostic]]:
    """The same for a tree that is parsed, or made, already; ``problems`` are those of its source."""
    with collector_paused():
        collection = Collection()
        document, data = Reading(collection, kinds, inputs).read_tree(problems, tree)
        return _manifest(problems.source.file, collection, document, data), collection.problems


def _manifest(path: str, collection: Collection, document: Document, data: Resolved) -> Manifest:
    return Manifest(
        path=path,
        resources=collection.resources,
        wrecks=[wreck for wreck, _ in collection.wrecks],
        chains=collection.chains,
        settings=document.settings,
        broken=frozenset(collection.broken),
        unread=collection.unread,
        data=data.values,
        secrets=data.secrets,
        files=tuple(collection.files),
        warnings=tuple(collection.warnings),
        is_ccm=document.is_ccm,
        pre_message=document.pre_message.text if document.pre_message else None,
        post_message=document.post_message.text if document.post_message else None,
        origins=[*collection.origins, *(origin for _, origin in collection.wrecks)],
        texts=collection.texts,
    )
