"""Candidates for shell completion: names of resources from a manifest, the journal or a session; kinds; error codes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import click

from reactor.resource.entry_points import KINDS_GROUP, installed_entry_points

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_LIMIT = 500
"""The most candidates that a shell gets."""


def complete_manifest(
    context: click.Context, _parameter: click.Parameter, begun: str
) -> list[CompletionItem]:
    """The resources in the text of the manifests on the command line. Nothing is evaluated or validated."""
    # While an option lacks its value, click has not parsed the manifest: it is in `context.args`.
    words = (*(context.params.get("manifests") or ()), *context.args)
    return _candidates((ref for word in words for file in _files(word) for ref in _refs_in(file)), begun)


def complete_journal(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The resources of the newest manifest in the journal, also while a run is active."""
    from reactor.cli.options.state_dir import directory_of

    with suppress(click.UsageError):
        return _candidates(_journal_refs(directory_of(context.params.get("state_dir"))), begun)
    return []


def complete_session(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The resources that the session has ensured."""
    from reactor.cli.running.single_resource import named_session
    from reactor.ensure.sessions import Session, names_of

    directory = context.params.get("session") or named_session()
    past = Session(directory).past() if directory else []
    return _candidates((name for each in past for name in names_of(each)), begun)


def complete_kind(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The kinds that are installed."""
    return _candidates(installed_entry_points(KINDS_GROUP), begun)


def complete_code(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The codes of errors."""
    from reactor.error_codes import catalogue

    return _candidates(catalogue(), begun.upper())


def _candidates(names: Iterable[str], begun: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    found = sorted({name for name in names if name.startswith(begun) and name.isprintable()})
    return [CompletionItem(name) for name in found[:_LIMIT]]


def _files(word: str) -> list[str]:
    """The manifest files that a word of the command line means, if any."""
    from reactor.manifest.directories import is_directory, manifest_names

    with suppress(OSError):
        if is_directory(word):
            return [os.path.join(word, name) for name in manifest_names(word)]
    return [word] if os.path.isfile(word) else []


def _refs_in(path: str) -> Iterator[str]:
    """The refs in the text of a manifest that need no evaluation."""
    from reactor.manifest.source import Problems, Source, read_source
    from reactor.manifest.yaml_tree import parse

    source = read_source(path)
    root = parse(Problems(source)) if isinstance(source, Source) else None
    if not isinstance(root, dict):
        return
    block = root.get("ccm")
    entries = (block if isinstance(block, dict) else root).get("resources")
    for entry in entries if isinstance(entries, list) else []:
        for kind, below in entry.items() if isinstance(entry, dict) else ():
            yield from (f"{kind}#{name}" for name in _names(below) if "{" not in name)


def _names(below: Any) -> Iterator[str]:
    """The names of the resources below a kind."""
    if isinstance(below, dict):
        yield from (name for name in (below.get("name"),) if isinstance(name, str))
    for item in below if isinstance(below, list) else []:
        yield from (name for name in item if name != "defaults") if isinstance(item, dict) else ()


def _journal_refs(directory: str) -> list[str]:
    from reactor.journal.history import History, HistoryError

    try:
        with closing(History(directory, at_once=True)) as history:
            return [*history.present(), *history.aliases()]
    except HistoryError:
        return []
