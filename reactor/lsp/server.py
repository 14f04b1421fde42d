"""The language server: speaks the Language Server Protocol over stdin and stdout."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.protocol import default_converter
from pygls.uris import from_fs_path, to_fs_path

from reactor.lsp.completion import Candidate, candidates
from reactor.lsp.document import Document, Problem
from reactor.lsp.hover import docs_at, docs_of
from reactor.lsp.idle import IdleWork, kinds_in
from reactor.lsp.navigation import RenameError, definitions, renamed_part, renaming
from reactor.lsp.positions import Units
from reactor.manifest.inputs import Inputs
from reactor.resource.entry_points import installed_version

QUIET_TIME = 0.002
"""Seconds without a change before a manifest is checked: what is typed in one burst is checked once."""

_ITEM_KINDS = {
    "kind": types.CompletionItemKind.Class,
    "section": types.CompletionItemKind.Module,
    "property": types.CompletionItemKind.Property,
    "value": types.CompletionItemKind.EnumMember,
    "reference": types.CompletionItemKind.Reference,
    "key": types.CompletionItemKind.Field,
    "root": types.CompletionItemKind.Variable,
    "function": types.CompletionItemKind.Function,
}
_TRIGGERS = [".", "#", " ", "{", '"']


class ManifestServer(LanguageServer):
    """The server for manifests that are evaluated with ``inputs``. ``external`` are references to accept."""

    def __init__(self, inputs: Inputs, external: Sequence[str] = ()) -> None:
        converter = default_converter()  # type: ignore[no-untyped-call]
        sync = types.TextDocumentSyncKind.Full
        super().__init__("reactor", installed_version(), sync, converter_factory=lambda: converter)
        self.inputs = inputs
        self._external = external
        self._documents: dict[str, Document] = {}
        self._pending: dict[str, asyncio.TimerHandle] = {}
        self._idle = IdleWork(
            lambda: {kind for each in self._documents.values() for kind in kinds_in(each.outline)},
            lambda: converter.unstructure(types.PublishDiagnosticsParams("", [_SAMPLE])),
        )
        _add_synchronization(self)
        _add_completion(self)
        _add_navigation(self)

    def units(self, document: Document) -> Units:
        """Return the units of the columns of a document."""
        return Units(document.lines, self.workspace.position_encoding)

    def place(self, uri: str, position: types.Position) -> tuple[Document, int, int]:
        """Return the document, the line and the column in characters of a request. Raises KeyError."""
        document = self._documents[uri]
        return document, position.line, self.units(document).column(position)

    def changed(self, uri: str, text: str) -> None:
        """Take the new text of a manifest, and check it soon, and the open manifests that apply it."""
        before = self._documents.get(uri)
        path = os.path.abspath(to_fs_path(uri) or uri.rpartition(":")[2])
        self._documents[uri] = Document(path, text, before)
        self._check_soon(uri)
        self._check_others(uri, path)

    def closed(self, uri: str) -> None:
        """Forget a manifest, and take its problems away."""
        gone = self._documents.pop(uri, None)
        if (timer := self._pending.pop(uri, None)) is not None:
            timer.cancel()
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))
        if gone is not None:
            self._check_others(uri, gone.path)

    def _check_others(self, uri: str, path: str) -> None:
        """Check the other open manifests that depend on the file ``path``."""
        for other, document in self._documents.items():
            if other != uri and (document.files is None or path in document.files):
                self._check_soon(other)

    def _check_soon(self, uri: str) -> None:
        if (timer := self._pending.pop(uri, None)) is not None:
            timer.cancel()
        self._pending[uri] = asyncio.get_running_loop().call_later(QUIET_TIME, self._check, uri)

    def _check(self, uri: str) -> None:
        self._pending.pop(uri, None)
        document = self._documents[uri]
        unsaved = {each.path: each.text for each in self._documents.values()}
        problems = document.problems(self.inputs, unsaved, self._external)
        version = self.workspace.get_text_document(uri).version
        units = self.units(document)
        found = [_diagnostic(each, units) for each in problems]
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))
        document.forget()
        self._idle.after_check()


_START = types.Position(0, 0)
_SAMPLE = types.Diagnostic(
    types.Range(_START, _START),
    "",
    related_information=[
        types.DiagnosticRelatedInformation(types.Location("", types.Range(_START, _START)), "")
    ],
)
"""A diagnostic to convert while nothing is typed: the first conversion takes 35 ms, and the next ones 3 µs."""


def _diagnostic(problem: Problem, units: Units) -> types.Diagnostic:
    related = [
        types.DiagnosticRelatedInformation(
            types.Location(from_fs_path(os.path.abspath(place.file)) or "", _point(place.line, place.column)),
            note,
        )
        for note, place in problem.related
    ]
    severity = types.DiagnosticSeverity.Warning if problem.is_warning else types.DiagnosticSeverity.Error
    return types.Diagnostic(
        range=units.range(problem.span),
        message=problem.message,
        severity=severity,
        code=problem.code,
        source="reactor",
        related_information=related or None,
    )


def _point(line: int, column: int) -> types.Range:
    position = types.Position(line - 1, column - 1)
    return types.Range(position, position)


def _add_synchronization(server: ManifestServer) -> None:
    """Register what happens when a manifest is opened, changed or closed."""

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.changed(params.text_document.uri, params.text_document.text)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        server.changed(uri, server.workspace.get_text_document(uri).source)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.closed(params.text_document.uri)


def _add_completion(server: ManifestServer) -> None:
    """Register completion and docs."""

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(_TRIGGERS, resolve_provider=True))
    def completed(params: types.CompletionParams) -> list[types.CompletionItem]:
        document, line, column = server.place(params.text_document.uri, params.position)
        units = server.units(document)
        return [_item(each, units) for each in candidates(document, line, column, server.inputs)]

    @server.feature(types.COMPLETION_ITEM_RESOLVE)
    def resolved(item: types.CompletionItem) -> types.CompletionItem:
        if isinstance(item.data, list):
            kind, path = item.data
            item.documentation = _markdown(docs_of(kind, tuple(path)))
        return item

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hovered(params: types.HoverParams) -> types.Hover | None:
        document, line, column = server.place(params.text_document.uri, params.position)
        found = docs_at(document, line, column)
        content = _markdown(found.text) if found else None
        return types.Hover(content, server.units(document).range(found.span)) if found and content else None


def _add_navigation(server: ManifestServer) -> None:
    """Register go to definition, and renaming."""

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def defined(params: types.DefinitionParams) -> list[types.Location]:
        document, line, column = server.place(params.text_document.uri, params.position)
        units, uri = server.units(document), params.text_document.uri
        return [types.Location(uri, units.range(each)) for each in definitions(document, line, column)]

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepared(params: types.PrepareRenameParams) -> types.Range | None:
        document, line, column = server.place(params.text_document.uri, params.position)
        try:
            return server.units(document).range(renamed_part(document, line, column))
        except RenameError:
            return None

    @server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    def renamed(params: types.RenameParams) -> types.WorkspaceEdit:
        document, line, column = server.place(params.text_document.uri, params.position)
        units = server.units(document)
        try:
            spans = renaming(document, line, column, params.new_name)
        except RenameError as error:
            raise JsonRpcInvalidParams(error.message) from error
        edits = [types.TextEdit(units.range(each), params.new_name) for each in spans]
        return types.WorkspaceEdit({params.text_document.uri: edits})


def _item(found: Candidate, units: Units) -> types.CompletionItem:
    data: Any = [found.target[0], [*found.target[1]]] if found.target else None
    return types.CompletionItem(
        label=found.label,
        kind=_ITEM_KINDS[found.what],
        detail=found.detail,
        documentation=_markdown(found.docs),
        filter_text=found.label,
        text_edit=types.TextEdit(units.range(found.span), found.text),
        data=data,
    )


def _markdown(text: str | None) -> types.MarkupContent | None:
    return types.MarkupContent(types.MarkupKind.Markdown, text) if text else None
