"""Finds the child manifests and roles that composites apply, and lets them be read into the same resource table."""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING, Any

from reactor.data.resolve import Layer, Resolved
from reactor.language.secrets import paths_of_secrets
from reactor.manifest.document import Document, Part
from reactor.manifest.inputs import Inputs
from reactor.manifest.kind_lookup import Kinds, look_up
from reactor.manifest.nodes import Sequence
from reactor.manifest.resource_table import ResourceTable
from reactor.manifest.source import Problems, Source, read_source, with_line_feeds
from reactor.manifest.yaml_tree import parse
from reactor.resource.composite import Composite
from reactor.resource.declared import declare
from reactor.resource.diagnostic import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable

    from reactor.language.unknown import Unknown
    from reactor.manifest.role_calls import Call

    Read = Callable[
        [Problems, Any, tuple[Layer, ...], Composite | None, Call | None], tuple[Document, Resolved]
    ]

MAX_DEPTH = 10
"""The maximum depth of manifests that apply each other."""


class ChildManifests:
    """The child manifests of the manifest in ``path``. ``outside`` are the data of the command line."""

    def __init__(self, table: ResourceTable, inputs: Inputs, outside: tuple[Layer, ...], path: str) -> None:
        self._table = table
        self._inputs = inputs
        self._outside = outside
        self._directory = os.path.dirname(path)
        self._chain: dict[str, Composite | None] = {path: None}

    def include(self, composite: Composite, at: int, problems: Problems, data: Resolved, read: Read) -> None:
        """Add the resources of the manifest that ``composite`` applies, unless its conditions exclude it.

        ``read`` reads one parsed file with further layers over its data, and adds its resources to the table. It gets
        the composite that applies the file and, for a role, the call; it returns the outline and the data of the file.
        """
        if (deferred := composite.declared.deferred) is not None and not deferred.is_decided:
            hint = "put the condition on the resources of that manifest"
            problems.add(
                "R0114", "whether a manifest is applied must be known when this one is loaded", at, hint
            )
        elif deferred is None or not deferred.is_declined or self._locks_all:
            self._find(composite, at, problems, data, read)

    def _find(self, composite: Composite, at: int, problems: Problems, data: Resolved, read: Read) -> None:
        """Read the manifest that ``composite`` applies, or report why it can't be applied."""
        from reactor.manifest.role_calls import Call, locate  # noqa: PLC0415 - many manifests apply no others
        from reactor.resource.role import RoleResource  # noqa: PLC0415

        call = None
        if isinstance(composite, RoleResource):
            call = Call(composite, self._table.declarations[-1], problems)
            if not locate(call, self._inputs, self._directory, self._table):
                self._table.unread = True
                return
        self._table.files[composite.manifest_path] = None
        if (source := self._source(composite, call, at, problems)) is not None:
            self._splice(composite, source, data, call, read)

    def _source(self, composite: Composite, call: Call | None, at: int, problems: Problems) -> Source | None:
        """Return the text of the manifest that ``composite`` applies; None, and a report, if it can't be applied."""
        path = composite.manifest_path
        if path in self._chain:
            names = " -> ".join([*list(self._chain)[list(self._chain).index(path) :], path])
            problems.add("R0114", f"a manifest applies itself: {names}", at, "remove this apply")
        elif len(self.above) == MAX_DEPTH:
            hint = "apply fewer manifests from each other"
            problems.add("R0114", f"maximum apply depth of {MAX_DEPTH} exceeded", at, hint)
        elif call is not None and not os.path.exists(path):
            hint = "write the directory as source, or make it with: reactor init role NAME"
            problems.add("R0123", f"there is no role in {os.path.dirname(path)}", call.at("source"), hint)
            self._table.unread = True
        elif path in self._inputs.unsaved:
            return Source(path, with_line_feeds(self._inputs.unsaved[path]))
        elif not os.path.exists(path):
            composite.refuse(f"open {path}: no such file or directory", is_missing=True)
        elif not (os.path.isfile(path) or os.path.isdir(path)):  # opening a pipe would wait for its writer
            problems.add("R0101", f"can't read the manifest: {path} is not a regular file", at, "name a file")
        elif isinstance(source := read_source(path), Diagnostic):
            self._table.problems.append(source)
            self._table.unread = True
        else:
            return source
        return None

    def _splice(
        self, composite: Composite, source: Source, data: Resolved, call: Call | None, read: Read
    ) -> None:
        """Read the manifest that ``composite`` applies; its resources become the members of ``composite``."""
        table = self._table
        if (unknown := _wholly_unknown(composite)) is not None:
            composite.refuse(str(unknown.error))
            table.unread = True
            return
        first, first_placeholder = len(table.resources), len(table.placeholders)
        over = self._layers_over(composite, data, is_role=call is not None)
        self._chain[composite.manifest_path] = composite
        around = call.problems.inside(f"in {composite.ref}", call.declaration.at) if call else ()
        problems = Problems(source, around)
        children, table.children = table.children, []
        document, found = read(problems, parse(problems), over, composite, call)
        part = Part(source.file, document, found, range(first, len(table.resources)))
        table.children = [*children, (composite.ref, part), *table.children]
        if call is not None:
            from reactor.manifest.role_calls import bind_names  # noqa: PLC0415 - many manifests use no roles

            placeholders = (each for each, _ in table.placeholders[first_placeholder:])
            bind_names(self.scope, (*table.resources[first:], *placeholders))
        del self._chain[composite.manifest_path]
        members = table.resources[first:]
        inner = {ref for member in members for ref in member.declared.members}
        direct = tuple(member.ref for member in members if member.ref not in inner)
        declare(composite, composite.declared._replace(members=direct))

    def _layers_over(self, composite: Composite, data: Resolved, *, is_role: bool) -> tuple[Layer, ...]:
        """What goes over the data of the manifest that ``composite`` applies; ``data`` are those of the manifest above."""
        given = composite.given_data
        if given is None:
            return () if is_role else (Layer("the manifest above", data.values, data.secrets),)
        from reactor.language.unknown import paths_of_unknown  # noqa: PLC0415 - many manifests apply no others

        secrets = frozenset((*paths_of_secrets(given), *paths_of_unknown(given)))
        return (Layer(f"data of {composite.ref}", given, secrets), *(() if is_role else self._outside))

    def denied(self, composite: Composite | None, entries: Sequence, kinds_of: Kinds) -> bool:
        """Whether ``entries`` apply manifests although ``composite`` forbids it. Then none of the entries is used."""
        if composite is None or composite.allow_apply:
            return False
        kinds = {kind for entry in entries if isinstance(entry, dict) for kind in entry}
        found = (look_up(kinds_of, kind) for kind in sorted(kinds))
        if denied := any(isinstance(kind, type) and issubclass(kind, Composite) for kind in found):
            composite.refuse("apply resources are denied")
        return denied

    def strengthened(self) -> dict[str, Any]:
        """Return the ``meta`` properties that the manifests above force on all resources below.

        The resources below can't weaken them.
        """
        wanted = (
            ("noop", True, any(each.noop or each.meta.noop for each in self.above)),
            ("mode", "warn", any(each.meta.mode == "warn" for each in self.above)),
            (
                "monitor_only",
                True,
                any(each.health_check_only or each.meta.monitor_only for each in self.above),
            ),
        )
        return {name: value for name, value, is_wanted in wanted if is_wanted}

    @property
    def _locks_all(self) -> bool:
        """Whether roles are locked, also those that this host does not use."""
        return self._inputs.roles is not None and self._inputs.roles.locks_all

    @property
    def scope(self) -> str:
        """The names of the roles around the current file, each with a slash after it."""
        if not self.above:
            return ""
        from reactor.resource.role import RoleResource  # noqa: PLC0415 - many manifests apply no others

        return "".join(f"{each.name}/" for each in self.above if isinstance(each, RoleResource))

    @property
    def above(self) -> list[Composite]:
        """The composites that apply the current file, outermost first."""
        return [composite for composite in self._chain.values() if composite is not None]


def _wholly_unknown(composite: Composite) -> Unknown | None:
    """Return what stands for all data, or all parameters, if these are one value that is not known yet."""
    from reactor.language import unknown  # noqa: PLC0415 - many manifests apply no others
    from reactor.resource.role import RoleResource  # noqa: PLC0415

    given = [composite.given_data]
    if isinstance(composite, RoleResource):
        given.append(composite.given_parameters)
    return next((each for each in given if isinstance(each, unknown.Unknown)), None)
