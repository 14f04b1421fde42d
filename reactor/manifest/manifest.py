"""A manifest as the rest of the program sees it, and the functions that read one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reactor.errors import Place
from reactor.manifest.declaration import Declaration
from reactor.manifest.document import Message, Part, Settings, joined
from reactor.manifest.inputs import NO_INPUTS, Inputs
from reactor.manifest.kind_lookup import INSTALLED, Kinds
from reactor.manifest.manifest_loader import ManifestLoader
from reactor.manifest.nodes import as_written
from reactor.manifest.resource_table import ResourceTable
from reactor.manifest.source import Problems
from reactor.resource.base import Resource
from reactor.resource.diagnostic import Diagnostic, PropertyPath
from reactor.resource.gc_control import gc_paused

if TYPE_CHECKING:
    from reactor.manifest.notify_channels import Channel


@dataclass(eq=False, repr=False)
class Manifest:
    """One manifest, or several combined. Each of the ``parts`` keeps its own data and form.

    ``resources`` has the valid resources, in the order of the files.

    ``placeholders`` replace invalid resources: they have only the name and references, so that references are still
    checked. ``broken`` has the refs, by name and by alias, of resources without a placeholder: references to these are
    not reported. If a manifest is ``unread``, its resources are unknown, so no unknown reference is reported.
    ``chains`` has the indices of resources that run one after the other. ``settings`` and the messages combine those
    of all parts; ``path`` and ``data`` are those of the first part. ``files`` are all files that were read.
    ``children`` are the manifests that are applied, each after the ref of what applies it.
    ``shares`` are the values that the host shares with its fleet, by name.
    ``declarations`` may be set to None once no place is needed any more.
    """

    parts: Sequence[Part]
    resources: list[Resource] = field(default_factory=list)
    placeholders: list[Resource] = field(default_factory=list)
    chains: Sequence[tuple[Sequence[int], bool]] = ()
    settings: Settings = field(default_factory=Settings)
    broken: frozenset[str] = frozenset()
    unread: bool = False
    files: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    pre_message: str | None = None
    post_message: str | None = None
    channels: Mapping[str, Channel] = field(default_factory=dict)
    declarations: list[Declaration] | None = field(default=None, repr=False)
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    children: Sequence[tuple[str, Part]] = ()
    shares: Mapping[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The name of the first part, as the user wrote it."""
        return self.parts[0].file

    @property
    def data(self) -> Mapping[str, Any]:
        """The data that the expressions of the first part see."""
        return self.parts[0].data.values

    def locate(self, index: int, path: PropertyPath = ()) -> Place | None:
        """Return the place of a property's value in the resource at ``index``, or of the value that encloses it.

        The indices of placeholders follow those of the resources.
        """
        resource = [*self.resources, *self.placeholders][index]
        locate = resource.declared.form.locate
        if self.declarations is None or locate is None:
            return resource.declared.place
        return locate(self.declarations[index].find(type(resource), path).at)

    def declared(self, index: int) -> Mapping[str, Any]:
        """Return the properties of the resource at ``index`` as written, including its defaults."""
        if self.declarations is None:
            return {}
        declaration = self.declarations[index]
        parts = (declaration.general, declaration.defaults, declaration.body)
        return {key: value for part in parts if part is not None for key, value in as_written(part).items()}


def read_manifests(
    files: Iterable[str], kinds: Kinds = INSTALLED, inputs: Inputs = NO_INPUTS
) -> tuple[Manifest, list[Diagnostic]]:
    """Read ``files`` and their child manifests as one manifest. Return it, and all errors in the order of the files.

    Only one of the files may declare a given resource. Never raises for invalid input: a file that can't be read gives
    an empty manifest. Changes nothing on the host.
    """
    with gc_paused():
        resource_table = ResourceTable()
        reading = ManifestLoader(resource_table, kinds, inputs)
        parts = [reading.read(file) for file in files]
        resource_table.free()
        return _manifest(resource_table, parts), resource_table.problems


def read_tree(
    problems: Problems, tree: Any, kinds: Kinds = INSTALLED, inputs: Inputs = NO_INPUTS
) -> tuple[Manifest, list[Diagnostic]]:
    """Read a manifest from a tree that was already parsed or built. ``problems`` has the problems of its source."""
    with gc_paused():
        resource_table = ResourceTable()
        part = ManifestLoader(resource_table, kinds, inputs).read_tree(problems, tree)
        return _manifest(resource_table, [part]), resource_table.problems


def _manifest(resource_table: ResourceTable, parts: Sequence[Part]) -> Manifest:
    documents = [part.document for part in parts]
    return Manifest(
        parts=parts,
        resources=resource_table.resources,
        placeholders=[placeholder for placeholder, _ in resource_table.placeholders],
        chains=resource_table.chains,
        settings=joined([document.settings for document in documents]),
        broken=frozenset(resource_table.broken),
        unread=resource_table.unread,
        files=tuple(resource_table.files),
        warnings=tuple(resource_table.warnings),
        pre_message=_text([document.pre_message for document in documents]),
        post_message=_text([document.post_message for document in documents]),
        channels=resource_table.channels,
        declarations=[
            *resource_table.declarations,
            *(declaration for _, declaration in resource_table.placeholders),
        ],
        texts=resource_table.texts,
        children=resource_table.children,
        shares=resource_table.shares,
    )


def _text(messages: Iterable[Message | None]) -> str | None:
    return "\n".join(message.text for message in messages if message is not None) or None
