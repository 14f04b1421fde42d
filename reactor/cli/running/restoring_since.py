"""Restores every file that was replaced or removed since a time, and says what else has changed."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Literal, NamedTuple

import click

from reactor.cli.messages import EndedByErrorsError, fail, warn
from reactor.cli.options.common import Format
from reactor.cli.options.state_dir import hint_about
from reactor.cli.running.restoring import (
    print_json,
    record,
    require_own_state,
    restore_version,
    show_diff,
    time_of,
)
from reactor.journal.history import Filter, History, HistoryError
from reactor.journal.state_directory import holder
from reactor.number_format import date_and_time
from reactor.resource.escaping import escaped

if TYPE_CHECKING:
    from reactor.backup.entry import Version
    from reactor.backup.store import Store

Action = Literal["list", "diff", "restore"]


class Since(NamedTuple):
    """The files that were replaced or removed since ``time``, in seconds since 1970; with a ``path``, only that one."""

    store: Store
    directory: str
    time: float
    path: str | None
    form: Format


def restore_since(asked: Since, action: Action) -> None:
    """List the versions, show what would change, or restore the files as they were at that time.

    Ends the command with an error if there is none, or if one can't be restored; the others are.
    """
    versions = [each for each in asked.store.oldest_since(asked.time) if asked.path in (None, each.path)]
    if not versions:
        where = "no file" if asked.path is None else f"nothing at {asked.path}"
        hint = hint_about(asked.directory) or "'reactor events --since TIME' shows what has changed"
        fail("R0608", f"{where} was replaced or removed since {date_and_time(asked.time)}", hint, 1)
    if action == "restore":
        require_own_state(asked.directory)
    problems: list[str] = []
    changed = False
    for version in versions:
        try:
            changed |= _handle(asked, version, action)
        except EndedByErrorsError as error:
            problems += error.problems
    if changed:
        running = holder(asked.directory)
        again = "the next run" if running is None else f"{running} is running, and"
        warn(f"{again} changes back what its manifest has: change the manifest, too")
    if asked.path is None and asked.form != "json":
        _show_other_changes(asked, {f"file#{version.path}" for version in versions})
    if problems:
        raise EndedByErrorsError(1, problems)


def _handle(asked: Since, version: Version, action: Action) -> bool:
    """Do one version; return whether that has changed its file."""
    if action == "restore":
        return restore_version(asked.store, version, asked.form)
    if action == "diff":
        show_diff(asked.store, version, asked.store.versions(version.path), asked.form)
    elif asked.form == "json":
        print_json({"path": version.path, "versions": [record(version)]})
    else:
        click.echo(escaped(f"{version.name.id}  {time_of(version)}  {version.path}"))
    return False


def _show_other_changes(asked: Since, files: set[str]) -> None:
    """Say what else has changed than the ``files``: what was created, and what is no file. The journal knows."""
    found: dict[str, list[str]] = {}
    try:
        with closing(History(asked.directory, at_once=True)) as history:
            for entry in history.entries(Filter(asked.time)):
                if entry.result == "changed" and entry.ref not in files:
                    found.setdefault(str(entry.ref), []).extend(entry.record["actions"])
    except HistoryError:  # files were changed without a journal, as by `ensure`
        return
    if found:
        click.echo("other changes since then, taken back only where they are in the files above:")
    for ref, actions in found.items():
        click.echo(escaped(f"    {ref}  {', '.join(dict.fromkeys(actions))}"))
