"""Reads a manifest and its child manifests, file by file, into one resource table."""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING, Any

from reactor.data.resolve import Layer, Resolved
from reactor.errors import Place
from reactor.manifest.binding import Binder
from reactor.manifest.child_manifests import ChildManifests
from reactor.manifest.data_sections import data_of, warning
from reactor.manifest.document import (
    NO_DOCUMENT,
    OUTPUTS,
    PARAMETERS,
    Document,
    Message,
    Part,
    is_ccm,
    read_document,
)
from reactor.manifest.evaluation import Outcomes
from reactor.manifest.expression_context import ExpressionContext
from reactor.manifest.inputs import Inputs
from reactor.manifest.kind_lookup import Kinds
from reactor.manifest.nodes import Mapping, Sequence, items_of_long_nodes
from reactor.manifest.resource_factory import ResourceFactory
from reactor.manifest.resource_table import ResourceTable
from reactor.manifest.secret_section import NO_SECRETS, Secrets, secrets_of
from reactor.manifest.source import Problems, base_of, read_source
from reactor.manifest.values import DEFAULTS, NO_DEFAULTS
from reactor.manifest.yaml_tree import parsed
from reactor.resource.composite import Composite
from reactor.resource.declared import Form
from reactor.resource.diagnostic import Diagnostic, ManifestError
from reactor.resource.gc_control import free

if TYPE_CHECKING:
    from reactor.manifest.bound_items import BoundItems
    from reactor.manifest.role_calls import Call
    from reactor.manifest.site_data import SiteData

_ASSERTIONS, _CHANNELS, _SHARES = "assertions", "notify", "shares"


class ManifestLoader:
    """One load of manifests. Adds the errors in all files to the problems of ``resource_table``."""

    def __init__(self, resource_table: ResourceTable, kinds: Kinds, inputs: Inputs) -> None:
        self._resource_table = resource_table
        self._kinds = kinds
        self._inputs = inputs.loaded_now()
        self._outside = (Layer("the command line", inputs.data, inputs.secrets),) if inputs.data else ()
        self._site_is_whole = True
        self._secrets = NO_SECRETS
        if inputs.secret_reader is not None:
            inputs.secret_reader.begin_load()
        self._defaults = NO_DEFAULTS
        self._children = self._children_of("/")

    def read(self, file: str) -> Part:
        """Read the manifest ``file`` and its child manifests. Each call adds a part."""
        path = os.path.abspath(file)
        self._resource_table.files.update(dict.fromkeys((path, *self._inputs.files)))
        source = read_source(file, unsaved=self._inputs.unsaved)
        if isinstance(source, Diagnostic):
            self._resource_table.problems.append(source)
            self._resource_table.unread = True
            return Part(file, NO_DOCUMENT, Resolved({}, {}), range(0))
        self._children = self._children_of(path)
        problems = Problems(source)
        bound = self._inputs.bound
        tree, is_separable = parsed(problems) if bound is None else (bound.reparser.parse(problems), False)
        kept = items_of_long_nodes(tree)
        part = self.read_tree(problems, tree)
        del tree
        free(kept)
        return part._replace(is_separable=is_separable)

    def _children_of(self, path: str) -> ChildManifests:
        return ChildManifests(self._resource_table, self._inputs, self._outside, path)

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
        from reactor.manifest.site_data import SiteData  # noqa: PLC0415 - many sites have no data

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
        document = read_document(tree, problems)
        strict = not document.is_ccm
        data = data_of(document.root, problems, self._inputs, over, strict=strict)
        above = self._secrets, self._defaults
        if composite is not None:
            from reactor.manifest.kind_defaults import inherited  # noqa: PLC0415 - many manifests are not applied

            self._defaults = NO_DEFAULTS if call else inherited(self._defaults)
        self._secrets = self._secrets_in(document.root, problems)
        expression_context = self._context(problems, data, strict=strict)
        expression_context.expression_functions.outcomes = Outcomes()
        self._add_channels(document.root, problems, expression_context, composite)
        self._read_entries(document, expression_context, problems, data, composite=composite, call=call)
        document = document._replace(
            root=Mapping(document.root.at),  # nothing reads the tree again, which is large
            entries=None,
            pre_message=_rendered(document.pre_message, expression_context, problems),
            post_message=_rendered(document.post_message, expression_context, problems),
        )
        self._secrets, self._defaults = above
        self._collect(problems, expression_context, data)
        return document, data

    def _context(self, problems: Problems, data: Resolved, *, strict: bool) -> ExpressionContext:
        """Return the context of the expressions in a file with this ``data``."""
        # Invalid values may have removed other keys too, so a missing key is no error.
        is_whole = data.is_whole and self._site_is_whole
        values = data.values
        if self._children.above:
            from reactor.language.unknown import opened  # noqa: PLC0415 - many manifests apply no others

            values = opened(values)
        return self._inputs.expression_context(
            problems.source,
            values,
            data.secrets,
            strict=strict and is_whole,
            declared=self._secrets,
        )

    def _read_entries(
        self,
        document: Document,
        expression_context: ExpressionContext,
        problems: Problems,
        data: Resolved,
        *,
        composite: Composite | None,
        call: Call | None,
    ) -> None:
        """Read what comes before the resources of a file, and these. A template may write the list of resources."""
        entries, of_entries = document.entries, problems
        if not document.is_ccm:
            found = self._begin(document, problems, expression_context, call)
            entries, expression_context = entries if found else None, found or expression_context
        if document.jet_file is not None:
            from reactor.manifest.ccm_parts import rendered_entries  # noqa: PLC0415 - few manifests have a template

            entries, of_entries = rendered_entries(
                document.jet_file, document.jet_at, expression_context, problems, self._resource_table
            )
        if entries is None:
            self._resource_table.unread = True
        elif not self._children.denied(composite, entries, self._kinds):
            self._bind(entries, document, expression_context, of_entries, data)
        if of_entries is not problems:
            self._resource_table.problems += of_entries.sorted()
        self._resource_table.files.update(
            dict.fromkeys(sorted(expression_context.expression_functions.reads))
        )

    def _collect(self, problems: Problems, expression_context: ExpressionContext, data: Resolved) -> None:
        """Add what was found while a file was read to the table: the files it needs, warnings and problems."""
        table = self._resource_table
        expression_context.expression_functions.outcomes = None
        table.files.update(dict.fromkeys(sorted(expression_context.expression_functions.reads)))
        table.warnings += (warning(each, problems.source) for each in data.warnings)
        table.warnings += expression_context.new_warnings()
        table.problems += problems.sorted()

    def _add_channels(
        self,
        root: Mapping,
        problems: Problems,
        expression_context: ExpressionContext,
        composite: Composite | None,
    ) -> None:
        """Add the channels for notifications that the file declares."""
        if _CHANNELS not in root:
            return
        from reactor.manifest.notify_section import channels_in  # noqa: PLC0415 - most manifests declare no channels

        at = root.key_at(_CHANNELS)
        if composite is not None and not (self._inputs.applied_notify and len(self._children.above) == 1):
            hint = "move it to the manifest that is run"
            problems.add("R0105", "a manifest that is applied must not declare channels", at, hint)
            return
        for name, channel in channels_in(root, problems, expression_context).items():
            if name in self._resource_table.channels:
                problems.add("R0104", f"the channel {name} is declared twice", at, "rename one of them")
            self._resource_table.channels[name] = channel

    def _secrets_in(self, root: Mapping, problems: Problems) -> Secrets:
        """Return the secrets that the file declares, and those of the files that apply it."""
        base = base_of(problems.source.file)
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
            (self._inputs.parameters if not self._children.above else {})
            if call is None
            else call.role.given_parameters
        )
        root = document.root
        is_plain = call is None and not given and PARAMETERS not in root and OUTPUTS not in root
        if is_plain:
            found: ExpressionContext | None = context
        else:
            from reactor.manifest.role_calls import outputs_of, with_parameters  # noqa: PLC0415 - many manifests are no roles

            found = with_parameters(document, problems, context, given, call)
        if found is None:
            return None
        self._read_sections(root, problems, found)
        if not is_plain:
            exports = outputs_of(document, problems, found)
            if call is not None:
                call.role.export(exports)
        return found

    def _read_sections(
        self, root: Mapping, problems: Problems, expression_context: ExpressionContext
    ) -> None:
        """Check the assertions, and read the defaults and the shares."""
        if _ASSERTIONS in root:
            from reactor.manifest.assertions import assertions_in, check_assertions  # noqa: PLC0415 - many have none

            check_assertions(assertions_in(root, problems), problems, expression_context)
        if DEFAULTS in root:
            from reactor.manifest.kind_defaults import read_defaults  # noqa: PLC0415 - many manifests have none

            self._defaults = read_defaults(root, problems, self._kinds, expression_context, self._defaults)
        if _SHARES in root:
            from reactor.manifest.shares_section import add_shares  # noqa: PLC0415 - few manifests share

            add_shares(root, problems, expression_context, self._resource_table.shares)

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
        meta = self._children.strengthened()
        is_for_checking = self._inputs.bound is not None
        factory = ResourceFactory(
            problems,
            self._resource_table,
            form,
            meta=meta,
            included=lambda composite, at: self._children.include(composite, at, problems, data, self._read),
            scope=self._children.scope,
            known_outputs=self._inputs.known_outputs,
            is_for_checking=is_for_checking,
        )
        Binder(
            problems,
            self._resource_table,
            self._kinds,
            expression_context,
            factory,
            allows_loops=not document.is_ccm,
            allows_prototypes=not (
                form.is_ccm or meta or self._children.scope or is_for_checking or problems.source.is_secret
            ),
            defaults=NO_DEFAULTS if document.is_ccm else self._defaults,
            bound=self._earlier_items(document, data),
        ).bind(entries)
        if in_order:
            is_child, check_only = bool(self._children.above), "monitor_only" in meta
            ends_with_failure = document.settings.fail_fast and is_child and not check_only
            self._resource_table.chains.append((factory.direct, ends_with_failure))

    def _earlier_items(self, document: Document, data: Resolved) -> BoundItems | None:
        """The items that an editor has bound before, after telling them that a load begins; None if the file can't use them."""
        bound = self._inputs.bound
        if bound is None or self._children.above or document.is_ccm or self._inputs.site is not None:
            return None
        bound.begin(document.root, data)
        return bound


def _rendered(
    message: Message | None, expression_context: ExpressionContext, problems: Problems
) -> Message | None:
    """Return ``message`` with its expressions evaluated. Errors are added to ``problems``."""
    if message is None:
        return None
    from reactor.manifest.ccm_parts import rendered_message  # noqa: PLC0415 - few manifests have messages

    return rendered_message(message, expression_context, problems)
