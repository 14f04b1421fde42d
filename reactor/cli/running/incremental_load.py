"""Loads a manifest again after an edit: if only some of its items were edited, these are read and the others stay."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from reactor.graph.graph import Graph
from reactor.language.expression import were_parsed
from reactor.loading import LoadedManifest, load
from reactor.manifest.inputs import Inputs
from reactor.manifest.item_lines import ItemLines
from reactor.manifest.manifest import read_manifests
from reactor.manifest.source import Source, base_of, read_source
from reactor.resource.base import Resource
from reactor.resource.declared import Declared, declare

FEWEST = 500
"""A manifest with fewer resources is loaded as a whole within some hundredths of a second."""


class IncrementalLoader:
    """Loads the manifests ``names`` again and again, as `reactor.loading.load` does, and gives the same result.

    After an edit of items of a long list, it reads only these items, if nothing but the check of each depends on what was
    edited. It remembers hashes of the source lines, which takes 12 bytes for each resource. ``require_allowed`` raises
    ManifestError if the run must not have one of the resources, judging by their relations.
    """

    def __init__(self, names: Sequence[str], require_allowed: Callable[[Iterable[Resource]], None]) -> None:
        self._names = names
        self._require_allowed = require_allowed
        self._before: LoadedManifest | None = None
        self._lines: ItemLines | None = None
        self._base: str | None = None

    def load(self, inputs: Inputs) -> LoadedManifest:
        """Load the newest version. Raises ManifestError."""
        source = self._source()
        if source is not None and (edited := self._edited(source, inputs)) is not None:
            return edited
        self._before = self._lines = None
        base = None if source is None else base_of(source.file)
        unsaved = {} if source is None else {os.path.abspath(source.file): source.text}
        loaded = load(self._names, inputs._replace(unsaved=unsaved))._replace(inputs=inputs)
        self._require_allowed(loaded.graph.resources.values())
        if source is not None and (lines := _lines_of(source, loaded)) is not None:
            self._before, self._lines, self._base = loaded, lines, base
        return loaded

    def _source(self) -> Source | None:
        """The text of the manifest; None if it is not a single file that can be read again."""
        if len(self._names) != 1 or not os.path.isfile(self._names[0]):
            return None
        found = read_source(self._names[0])
        return found if isinstance(found, Source) else None

    def _edited(self, source: Source, inputs: Inputs) -> LoadedManifest | None:
        """The new version, if it differs from the one before in some items only. None if all must be loaded."""
        before, lines = self._before, self._lines
        if before is None or lines is None or base_of(source.file) != self._base:
            return None
        if (edit := lines.edit(source.text)) is None:
            return None
        refs = before.graph.refs
        olds = [before.graph.resources[refs[index]] for index in edit.edited]
        news = _read(source.file, edit.text, inputs) if olds else []
        if news is None or len(news) != len(olds):
            return None
        if not all(_differs_alone(old, new, before.graph) for old, new in zip(olds, news, strict=True)):
            return None
        for old, new in zip(olds, news, strict=True):
            declare(new, old.declared)  # its first line is where it was
        resources = before.graph.resources | {new.ref: new for new in news}
        graph = Graph(resources, before.graph.edges, claimed=before.graph.claimed)
        self._lines, self._before = edit.lines, before._replace(graph=graph, inputs=inputs)
        return self._before


def _lines_of(source: Source, loaded: LoadedManifest) -> ItemLines | None:
    """The lines of the items of a manifest that depends on nothing but its text. None if it may depend on more."""
    graph = loaded.graph
    more = (
        graph.left_out, loaded.data, loaded.warnings, loaded.channels, loaded.shares, loaded.inputs.fact_paths
    )  # fmt: skip
    if len(graph.resources) < FEWEST or any(more) or not loaded.is_separable or were_parsed():
        return None
    if [*loaded.files] != [os.path.abspath(source.file), *loaded.inputs.files]:
        return None
    if loaded.settings.ordering == "manifest":
        return None
    declared = [each.declared for each in graph.resources.values()]
    if any(each.deferred is not None or each.members or each.form.is_ccm for each in declared):
        return None
    return ItemLines.of(source.text, [each.offset for each in declared])


def _read(file: str, text: str, inputs: Inputs) -> list[Resource] | None:
    """The resources of a manifest with this ``text``, which is a part of that in ``file``. None if anything is unusual."""
    unsaved = {os.path.abspath(file): text}
    manifest, problems = read_manifests([file], inputs=inputs._replace(unsaved=unsaved))
    unusual = (problems, manifest.placeholders, manifest.broken, manifest.unread, manifest.warnings)
    is_alone = manifest.parts[0].is_separable and not were_parsed()
    return manifest.resources if is_alone and not any(unusual) else None


def _differs_alone(old: Resource, new: Resource, graph: Graph) -> bool:
    """Whether ``new`` can take the place of ``old`` in ``graph``, because the two differ only for their own checks."""
    ref, claimed = old.ref, graph.claimed
    if type(old) is not type(new) or ref != new.ref or not _is_declared_alike(old.declared, new.declared):
        return False
    if (
        ref in claimed.paths
        or ref in claimed.attributes_only
        or ref in claimed.units
        or ref in claimed.unknown
    ):
        return False
    names = (name for name in type(old).model_fields if getattr(old, name) != getattr(new, name))
    return (
        old.deferred_properties.issuperset(names)  # so the graph can do without them
        and old.relations() == new.relations()
        and _claimed_by(old) == _claimed_by(new)
    )


def _is_declared_alike(old: Declared, new: Declared) -> bool:
    """Whether the new record may be replaced by the old one, of which the line is the same."""
    is_at_same_column = old.place and new.place and old.place.column == new.place.column
    return bool(is_at_same_column) and new.deferred is None and new.secrets == old.secrets


def _claimed_by(resource: Resource) -> list[tuple[str, str, bool]]:
    return [(claim.space, claim.key, claim.is_attributes_only) for claim in resource.claims()]
