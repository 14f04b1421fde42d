"""Reads a manifest and its child manifests, file by file, into one resource table."""

from __future__ import annotations

import os.path
from typing import Any, NamedTuple

from reactor.data.resolve import Layer, Resolved
from reactor.errors import Place
from reactor.language.secrets import paths_of_secrets
from reactor.manifest.assertions import assertions_in, check_assertions
from reactor.manifest.binding import Binder
from reactor.manifest.ccm_parts import rendered_entries, rendered_message
from reactor.manifest.data_sections import data_of, warning
from reactor.manifest.document import NO_DOCUMENT, Document, is_ccm, read_document
from reactor.manifest.expression_context import ExpressionContext
from reactor.manifest.inputs import Inputs
from reactor.manifest.kind_defaults import NO_DEFAULTS, inherited, read_defaults
from reactor.manifest.kind_lookup import Kinds, look_up
from reactor.manifest.nodes import Mapping, Sequence
from reactor.manifest.notify_section import SECTION, channels_in
from reactor.manifest.resource_factory import ResourceFactory
from reactor.manifest.resource_table import ResourceTable
from reactor.manifest.role_calls import Call, bind_names, locate, outputs_of, with_parameters
from reactor.manifest.secret_section import NO_SECRETS, Secrets, secrets_of
from reactor.manifest.site_data import SiteData
from reactor.manifest.source import Problems, Source, read_source, with_line_feeds
from reactor.manifest.yaml_tree import parse
from reactor.resource.composite import Composite
from reactor.resource.declared import Form, declare
from reactor.resource.diagnostic import Diagnostic, ManifestError
from reactor.resource.role import RoleResource

MAX_DEPTH = 10
"""The maximum depth of manifests that apply each other."""


class Part(NamedTuple):
    """One of the manifests that the user named: its outline, its data, and the indices of all its resources."""

    file: str
    document: Document
    data: Resolved
    indices: range


class ManifestLoader:
    """One load of manifests. Adds the errors in all files to the problems of ``resource_table``."""

    def __init__(self, resource_table: ResourceTable, kinds: Kinds, inputs: Inputs) -> None:
        self._resource_table = resource_table
        self._kinds = kinds
        self._inputs = inputs.loaded_now()
        self._outside = (Layer("the command line", inputs.data, inputs.secrets),) if inputs.data else ()
        self._site_is_whole = True
        self._chain: dict[str, Composite | None] = {}
        self._secrets = NO_SECRETS
        if inputs.secret_reader is not None:
            inputs.secret_reader.begin_load()
        self._directory = "/"
        self._defaults = NO_DEFAULTS

    def read(self, file: str) -> Part:
        """Read the manifest ``file`` and its child manifests. Each call adds a part."""
        path = os.path.abspath(file)
        self._directory = os.path.dirname(path)
        self._resource_table.files.update(dict.fromkeys((path, *self._inputs.files)))
        source = read_source(file, unsaved=self._inputs.unsaved)
        if isinstance(source, Diagnostic):
            self._resource_table.problems.append(source)
            self._resource_table.unread = True
            return Part(file, NO_DOCUMENT, Resolved({}, {}), range(0))
        self._chain = {path: None}
        problems = Problems(source)
        return self.read_tree(problems, parse(problems))

    def read_tree(self, problems: Problems, tree: Any) -> Part:
        """Read ``tree``, which was already parsed or built, as a manifest; also read its child manifests."""
        resource_table = self._resource_table
        first = len(resource_table.resources)
        site = self._site_data(strict=not is_ccm(tree))
        document, data = self._read(problems, tree, (*((site.layer,) if site else ()), *self._outside))
        if site is not None:
            site.check(data.values, data.secrets)
            resource_table.warnings += site.warnings
            resource_table.problems += site.problems.sorted()
        found: dict[Diagnostic, Diagnostic] = {}
        for each in resource_table.problems:  # a file applied twice adds its problems twice
            found.setdefault(each._replace(notes=()), each)
        resource_table.problems = sorted(found.values(), key=lambda each: each.place or Place("", 0, 0))
        resource_table.warnings = list(dict.fromkeys(resource_table.warnings))
        resource_table.part += 1
        return Part(problems.source.file, document, data, range(first, len(resource_table.resources)))

    def _site_data(self, *, strict: bool) -> SiteData | None:
        if self._inputs.site is None:
            return None
        try:
            site = SiteData(self._inputs.site, self._inputs, strict=strict)
        except ManifestError as error:
            self._resource_table.problems += error.diagnostics
            self._site_is_whole = False
            return None
        self._site_is_whole = site.is_whole
        return site

    def _read(
        self,
        problems: Problems,
        tree: Any,
        over: tuple[Layer, ...],
        composite: Composite | None = None,
        call: Call | None = None,
    ) -> tuple[Document, Resolved]:
        """Read one file. The layers ``over`` are merged on top of its data.

        ``composite`` applies the file, if any does; for a role there is a ``call``.
        """
        source = problems.source
        document = read_document(tree, problems)
        strict = not document.is_ccm
        data = data_of(document.root, problems, self._inputs, over, strict=strict)
        # Invalid values may have removed other keys too, so a missing key is no error.
        is_whole = data.is_whole and self._site_is_whole
        above, self._secrets = self._secrets, self._secrets_in(document.root, problems)
        expression_context = ExpressionContext.of(
            source, data.values, data.secrets, self._inputs, strict=strict and is_whole, values=self._secrets
        )
        self._add_channels(document.root, problems, expression_context, composite)
        entries = document.entries
        of_entries = problems
        if strict:
            found = self._begin(document, problems, expression_context, call)
            entries, expression_context = entries if found else None, found or expression_context
        if document.jet_file is not None:
            entries, of_entries = rendered_entries(
                document.jet_file, document.jet_at, expression_context, problems, self._resource_table
            )
        if entries is None:
            self._resource_table.unread = True
        elif not self._denied(composite, entries):
            self._bind(entries, document, expression_context, of_entries, data)
        document = document._replace(
            pre_message=rendered_message(document.pre_message, expression_context, problems),
            post_message=rendered_message(document.post_message, expression_context, problems),
        )
        self._secrets = above
        self._resource_table.files.update(
            dict.fromkeys(sorted(expression_context.expression_functions.reads))
        )
        self._resource_table.warnings += (warning(each, source) for each in data.warnings)
        self._resource_table.warnings += expression_context.slips()
        self._resource_table.problems += problems.sorted()
        if of_entries is not problems:
            self._resource_table.problems += of_entries.sorted()
        return document, data

    def _add_channels(
        self,
        root: Mapping,
        problems: Problems,
        expression_context: ExpressionContext,
        composite: Composite | None,
    ) -> None:
        """Add the channels for notifications that the file declares."""
        if SECTION not in root:
            return
        at = root.key_at(SECTION)
        if composite is not None:
            hint = "move it to the manifest that is run"
            problems.add("R0105", "a manifest that is applied declares no channels", at, hint)
            return
        for name, channel in channels_in(root, problems, expression_context).items():
            if name in self._resource_table.channels:
                problems.add("R0104", f"the channel {name} is declared twice", at, "rename one of them")
            self._resource_table.channels[name] = channel

    def _secrets_in(self, root: Mapping, problems: Problems) -> Secrets:
        """Return the secrets that the file declares, and those of the files that apply it."""
        base = os.path.dirname(os.path.abspath(problems.source.file))
        found, reads = secrets_of(root, problems, self._inputs.secret_reader, base)
        self._resource_table.files.update(dict.fromkeys(sorted(reads)))
        return found.over(self._secrets)

    def _begin(
        self, document: Document, problems: Problems, context: ExpressionContext, call: Call | None
    ) -> ExpressionContext | None:
        """Read the parameters, assertions, defaults and outputs. Return the context with the parameters.

        None if these are wrong.
        """
        given = (
            (self._inputs.parameters if not self._above else {})
            if call is None
            else call.role.parameters or {}
        )
        found = with_parameters(document, problems, context, given, call)
        if found is not None:
            check_assertions(assertions_in(document.root, problems), problems, found)
            self._defaults = read_defaults(document.root, problems, self._kinds, found, self._defaults)
            exports = outputs_of(document, problems, found)
            if call is not None:
                call.role.export(exports)
        return found

    def _bind(
        self,
        entries: Sequence,
        document: Document,
        expression_context: ExpressionContext,
        problems: Problems,
        data: Resolved,
    ) -> None:
        in_order = document.settings.ordering == "manifest"
        form = Form(document.is_ccm, not (document.is_ccm and in_order), problems.source.lines.place)
        meta = self._strengthened()
        factory = ResourceFactory(
            problems,
            self._resource_table,
            form,
            meta=meta,
            included=lambda composite, at: self._include(composite, at, problems, data),
            scope=self._scope,
            known_outputs=self._inputs.known_outputs,
        )
        Binder(
            problems,
            self._resource_table,
            self._kinds,
            expression_context,
            factory,
            allows_loops=not document.is_ccm,
            defaults=NO_DEFAULTS if document.is_ccm else self._defaults,
        ).bind(entries)
        if in_order:
            is_child, check_only = bool(self._above), "monitor_only" in meta
            ends_with_failure = document.settings.fail_fast and is_child and not check_only
            self._resource_table.chains.append((factory.direct, ends_with_failure))

    def _include(self, composite: Composite, at: int, problems: Problems, data: Resolved) -> None:
        """Add the resources of the manifest that ``composite`` applies, unless its conditions exclude it."""
        if (deferred := composite.declared.deferred) is not None and not deferred.is_decided:
            hint = "put the condition on the resources of that manifest"
            problems.add(
                "R0114", "whether a manifest is applied must be known when this one is loaded", at, hint
            )
        elif deferred is None or not deferred.is_declined or self._locks_all:
            self._find(composite, at, problems, data)

    def _find(self, composite: Composite, at: int, problems: Problems, data: Resolved) -> None:
        """Read the manifest that ``composite`` applies, or report why it can't be applied."""
        call = None
        if isinstance(composite, RoleResource):
            call = Call(composite, self._resource_table.origins[-1], problems)
            if not locate(call, self._inputs, self._directory, self._resource_table):
                self._resource_table.unread = True
                return
        path = composite.manifest_path
        self._resource_table.files[path] = None
        if path in self._chain:
            names = " -> ".join([*list(self._chain)[list(self._chain).index(path) :], path])
            problems.add("R0114", f"a manifest applies itself: {names}", at, "take this apply away")
        elif len(self._above) == MAX_DEPTH:
            hint = "apply fewer manifests from each other"
            problems.add("R0114", f"maximum apply depth of {MAX_DEPTH} exceeded", at, hint)
        elif call is not None and not os.path.exists(path):
            hint = "write the directory as source, or make it with: reactor init role NAME"
            problems.add("R0123", f"there is no role in {os.path.dirname(path)}", call.at("source"), hint)
            self._resource_table.unread = True
        elif path in self._inputs.unsaved:
            self._splice(composite, Source(path, with_line_feeds(self._inputs.unsaved[path])), data, call)
        elif not os.path.exists(path):
            composite.refuse(f"open {path}: no such file or directory", is_missing=True)
        elif not (os.path.isfile(path) or os.path.isdir(path)):  # opening a pipe would wait for its writer
            problems.add("R0101", f"can't read the manifest: {path} is not a regular file", at, "name a file")
        elif isinstance(source := read_source(path), Diagnostic):
            self._resource_table.problems.append(source)
            self._resource_table.unread = True
        else:
            self._splice(composite, source, data, call)

    def _splice(self, composite: Composite, source: Source, data: Resolved, call: Call | None) -> None:
        """Read the manifest that ``composite`` applies; its resources become the members of ``composite``."""
        table = self._resource_table
        first, first_placeholder = len(table.resources), len(table.placeholders)
        if composite.data is None and call is not None:
            over: tuple[Layer, ...] = ()
        elif composite.data is None:
            over = (Layer("the manifest above", data.values, data.secrets),)
        else:
            secrets = frozenset(paths_of_secrets(composite.data))
            over = (
                Layer(f"data of {composite.ref}", composite.data, secrets),
                *(self._outside if call is None else ()),
            )
        defaults, self._defaults = self._defaults, NO_DEFAULTS if call else inherited(self._defaults)
        self._chain[composite.manifest_path] = composite
        around = call.problems.inside(f"in {composite.ref}", call.origin.declaration.at) if call else ()
        problems = Problems(source, around)
        self._read(problems, parse(problems), over, composite, call)
        if call is not None:
            placeholders = (each for each, _ in table.placeholders[first_placeholder:])
            bind_names(self._scope, (*table.resources[first:], *placeholders))
        del self._chain[composite.manifest_path]
        self._defaults = defaults
        members = table.resources[first:]
        inner = {ref for member in members for ref in member.declared.members}
        direct = tuple(member.ref for member in members if member.ref not in inner)
        declare(composite, composite.declared._replace(members=direct))

    def _denied(self, composite: Composite | None, entries: Sequence) -> bool:
        """Whether ``entries`` apply manifests although ``composite`` forbids it. Then none of the entries is used."""
        if composite is None or composite.allow_apply:
            return False
        kinds = {kind for entry in entries if isinstance(entry, dict) for kind in entry}
        found = (look_up(self._kinds, kind) for kind in sorted(kinds))
        if denied := any(isinstance(kind, type) and issubclass(kind, Composite) for kind in found):
            composite.refuse("apply resources are denied")
        return denied

    def _strengthened(self) -> dict[str, Any]:
        """Return the ``meta`` properties that the manifests above force on all resources below.

        The resources below can't weaken them.
        """
        wanted = (
            ("noop", True, any(each.noop or each.meta.noop for each in self._above)),
            ("mode", "warn", any(each.meta.mode == "warn" for each in self._above)),
            (
                "monitor_only",
                True,
                any(each.health_check_only or each.meta.monitor_only for each in self._above),
            ),
        )
        return {name: value for name, value, is_wanted in wanted if is_wanted}

    @property
    def _locks_all(self) -> bool:
        """Whether roles are locked, also those that this host does not use."""
        return self._inputs.roles is not None and self._inputs.roles.locks_all

    @property
    def _scope(self) -> str:
        """The names of the roles around the current file, each with a slash after it."""
        return "".join(f"{each.name}/" for each in self._above if isinstance(each, RoleResource))

    @property
    def _above(self) -> list[Composite]:
        """The composites that apply the current file, outermost first."""
        return [composite for composite in self._chain.values() if composite is not None]
