"""Reads a manifest and its child manifests, file by file, into one resource table."""

from __future__ import annotations

import os.path
from typing import Any, NamedTuple

from reactor.data.resolve import Layer, Resolved
from reactor.errors import Place
from reactor.language.errors import ExpressionError, FunctionError
from reactor.language.expression import parse_template
from reactor.language.secrets import SecretText, paths_of_secrets
from reactor.manifest.assertions import assertions_in, check_assertions
from reactor.manifest.binding import Binder
from reactor.manifest.data_sections import data_of, warning
from reactor.manifest.document import NO_DOCUMENT, Document, Message, is_ccm, read_document
from reactor.manifest.evaluation import report_expression
from reactor.manifest.expression_context import ExpressionContext
from reactor.manifest.inputs import Inputs
from reactor.manifest.kind_lookup import Kinds, look_up
from reactor.manifest.nodes import Mapping, Sequence
from reactor.manifest.notify_section import SECTION, channels_in
from reactor.manifest.phrasing import shown
from reactor.manifest.resource_factory import ResourceFactory
from reactor.manifest.resource_table import ResourceTable
from reactor.manifest.secret_section import NO_SECRETS, Secrets, secrets_of
from reactor.manifest.site_data import SiteData
from reactor.manifest.source import Problems, Source, read_source
from reactor.manifest.yaml_tree import parse
from reactor.resource.composite import Composite
from reactor.resource.declared import Form, declare
from reactor.resource.diagnostic import Diagnostic, ManifestError

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

    def read(self, file: str) -> Part:
        """Read the manifest ``file`` and its child manifests. Each call adds a part."""
        path = os.path.abspath(file)
        self._resource_table.files.update(dict.fromkeys((path, *self._inputs.files)))
        source = read_source(file)
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
        found = dict.fromkeys(resource_table.problems)  # a file applied twice adds its problems twice
        resource_table.problems = sorted(found, key=lambda each: each.place or Place("", 0, 0))
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
        self, problems: Problems, tree: Any, over: tuple[Layer, ...], composite: Composite | None = None
    ) -> tuple[Document, Resolved]:
        """Read one file. The layers ``over`` are merged on top of its data.

        ``composite`` applies the file, if any does.
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
        if strict:
            check_assertions(assertions_in(document.root, problems), problems, expression_context)
        entries = document.entries
        of_entries = problems
        if document.jet_file is not None:
            entries, of_entries = self._rendered(
                document.jet_file, document.jet_at, expression_context, problems
            )
        if entries is None:
            self._resource_table.unread = True
        elif not self._denied(composite, entries):
            self._bind(entries, document, expression_context, of_entries, data)
        document = document._replace(
            pre_message=_message(document.pre_message, expression_context, problems),
            post_message=_message(document.post_message, expression_context, problems),
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
        )
        Binder(
            problems,
            self._resource_table,
            self._kinds,
            expression_context,
            factory,
            allows_loops=not document.is_ccm,
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
        elif deferred is None or not deferred.is_declined:
            self._find(composite, at, problems, data)

    def _find(self, composite: Composite, at: int, problems: Problems, data: Resolved) -> None:
        """Read the manifest that ``composite`` applies, or report why it can't be applied."""
        path = composite.manifest_path
        self._resource_table.files[path] = None
        if path in self._chain:
            names = " -> ".join([*list(self._chain)[list(self._chain).index(path) :], path])
            problems.add("R0114", f"a manifest applies itself: {names}", at, "take this apply away")
        elif len(self._above) == MAX_DEPTH:
            hint = "apply fewer manifests from each other"
            problems.add("R0114", f"maximum apply depth of {MAX_DEPTH} exceeded", at, hint)
        elif not os.path.exists(path):
            composite.refuse(f"open {path}: no such file or directory", is_missing=True)
        elif not (os.path.isfile(path) or os.path.isdir(path)):  # opening a pipe would wait for its writer
            problems.add("R0101", f"can't read the manifest: {path} is not a regular file", at, "name a file")
        elif isinstance(source := read_source(path), Diagnostic):
            self._resource_table.problems.append(source)
            self._resource_table.unread = True
        else:
            self._splice(composite, source, data)

    def _splice(self, composite: Composite, source: Source, data: Resolved) -> None:
        """Read the manifest that ``composite`` applies; its resources become the members of ``composite``."""
        first = len(self._resource_table.resources)
        if composite.data is None:
            over = (Layer("the manifest above", data.values, data.secrets),)
        else:
            secrets = frozenset(paths_of_secrets(composite.data))
            over = (Layer(f"data of {composite.ref}", composite.data, secrets), *self._outside)
        self._chain[composite.manifest_path] = composite
        problems = Problems(source)
        self._read(problems, parse(problems), over, composite)
        del self._chain[composite.manifest_path]
        members = self._resource_table.resources[first:]
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
    def _above(self) -> list[Composite]:
        """The composites that apply the current file, outermost first."""
        return [composite for composite in self._chain.values() if composite is not None]

    def _keep_text(self, source: Source) -> None:
        """Keep the text of ``source`` for excerpts, unless it is secret, or two different texts have that name."""
        if not source.is_secret:
            text = self._resource_table.texts.setdefault(source.file, source.text)
            self._resource_table.texts[source.file] = text if text == source.text else ""

    def _rendered(
        self, file: str, at: int, expression_context: ExpressionContext, problems: Problems
    ) -> tuple[Sequence | None, Problems]:
        """Return the list of resources that the Jet template ``file`` renders, and the problems of that output."""
        try:
            text = expression_context.expression_functions.rendered(
                file if file.endswith(".jet") else expression_context.expression_functions.read_file(file)
            )
        except FunctionError as error:
            problems.add("R0307", f"resources_jet_file: {error.message}", at, error.hint)
            return None, problems
        finally:
            expression_context.scope.warnings.locate(at, file)
        name = f"{os.path.join(os.path.dirname(problems.source.file), file)} (rendered)"
        rendered = Problems(Source(name, str(text), isinstance(text, SecretText)))
        self._keep_text(rendered.source)
        entries = parse(rendered)
        if not entries and not rendered:
            hint = "check it for syntax errors: [[ ]] are its delimiters"
            problems.add(
                "R0307", "resources jet template produced no output, check for syntax errors", at, hint
            )
        elif entries is not None and not isinstance(entries, Sequence):
            rendered.add("R0105", f"the template must give a list of resources, not {shown(entries)}", 0)
        return (entries if isinstance(entries, Sequence) else None), rendered


def _message(
    message: Message | None, expression_context: ExpressionContext, problems: Problems
) -> Message | None:
    """Return ``message`` with its expressions evaluated. Errors are added to ``problems``."""
    if message is None or (template := parse_template(message.text)) is None:
        return message
    try:
        return Message(template.render(expression_context.scope), message.at)
    except ExpressionError as error:
        report_expression(error, problems, message.at, message.text)
        return message
    finally:
        expression_context.scope.warnings.locate(message.at, message.text)
