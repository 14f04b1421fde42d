"""Puts back one earlier version of a file, or shows what that would change."""

from __future__ import annotations

import shlex
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from reactor.cli.messages import fail, warn
from reactor.cli.options.common import Format
from reactor.number_format import date_and_time
from reactor.resource.escaping import escaped

if TYPE_CHECKING:
    from reactor.backup.entry import Version
    from reactor.backup.store import Store
    from reactor.engine.check import CheckResult

_PERMISSIONS = 0o777


def require_own_state(directory: str) -> None:
    """End the command if other users can write to the state directory: their files would be restored with our rights."""
    from reactor.trust.inputs import require_own_directory
    from reactor.trust.rule import DistrustedError

    try:
        require_own_directory(directory)
    except DistrustedError as error:
        fail("R0401", f"the state directory {directory} can't be trusted: {error}", error.fix, 1)


def show_diff(store: Store, version: Version, versions: list[Version], form: Format) -> None:
    """Show what restoring ``version`` would change. If one of ``versions`` has a secret, the others may have it too."""
    import sys

    import trio

    from reactor.console.style import Style, wants_colour

    content = _content(store, version)
    if any(each.is_secret for each in versions):
        fail(
            "R0608",
            f"{escaped(version.path)} may contain secrets, so its content is not shown",
            "restore it, and read the file",
            1,
        )
    result = trio.run(partial(_apply_version, store, version, content, noop=True))
    if result.error is not None:
        fail(result.code or "R0608", result.error, result.hint, 1)
    if form == "json":
        print_json({"path": version.path, "version": version.name.id, "diffs": result.diffs})
        return
    style = Style(wants_colour(sys.stdout))
    for text in result.diffs:
        click.echo(style.diff(text), nl=False, color=True)
    if not result.diffs:
        click.echo(f"{escaped(version.path)} is as in version {version.name.id}")


def _content(store: Store, version: Version) -> str:
    """The path of a file with the content of ``version``. Ends the command if it is damaged."""
    try:
        return store.content(version)
    except OSError as error:
        fail("R0608", f"version {version.name.id} can't be read: {error.strerror}", None, 1)


def restore_version(store: Store, version: Version, form: Format) -> bool:
    """Restore the file, and say so. Return whether that changed it."""
    import trio

    from reactor.engine.outcome import Outcome

    result = trio.run(_apply_version, store, version, _content(store, version))
    if result.outcome is Outcome.FAILED:
        fail(result.code or "R0608", str(result.error), result.hint, 1)
    changed = result.outcome is not Outcome.OK
    if form == "json":
        print_json({"path": version.path, "version": version.name.id, "changed": changed})
    elif changed:
        click.echo(
            f"restored {escaped(version.path)} to version {version.name.id}, from before {time_of(version)}"
        )
    else:
        click.echo(f"{escaped(version.path)} is already as in version {version.name.id}")
    if changed and version.mode & ~_PERMISSIONS:
        warn(f"the setuid, setgid and sticky bits of its mode {version.mode:04o} are not restored")
    return changed


async def _apply_version(store: Store, version: Version, content: str, *, noop: bool = False) -> CheckResult:
    """Apply a file resource with the old content, owner and mode: as safely as in a run, with a backup."""
    from reactor.engine.check import check
    from reactor.resource.backup_store import backup_store
    from reactor.resource.output import output_sink
    from reactor.resource.registry import find_kind

    backup_store.set(store)
    output_sink.set(warn)
    file = find_kind("file").model_validate(
        {
            "name": version.path,
            "ensure": "present",
            "source": content,
            "owner": str(version.uid),
            "group": str(version.gid),
            "mode": f"{version.mode & _PERMISSIONS:04o}",
        }
    )
    return await check(file, refresh=False, noop=noop, diff=noop, before_apply=_nothing_to_record)


async def _nothing_to_record(_found: Any) -> None:
    """Record nothing before the change: a restore has no journal."""


def warn_of_next_run(directory: str, version: Version) -> None:
    """Warn of a run that undoes the restore: the active one, or the next one. ``version`` was replaced last."""
    from reactor.journal.state_directory import holder

    ref, running = version.ref, holder(directory)
    writer = _writer_of(directory, version, unknown=None if running is None else ref)
    back = "changes the file back, unless you change the manifest"
    if writer is None:
        return
    if running is not None:
        pause = f", or pause it first: reactor pause {shlex.quote(ref)} --for 1h --reason TEXT"
        pause = pause if writer == ref else ""
        warn(f"{running} is running; if its manifest has {writer}, it {back}{pause}")
    elif writer == ref:
        warn(f"the manifest of the last run has {ref}: the next run {back}")
    else:
        warn(f"if the manifest of the last run has {writer}, the next run {back}")


def _writer_of(directory: str, version: Version, unknown: str | None) -> str | None:
    """What in the newest manifest writes the file: words for it; None for nothing, ``unknown`` without a journal.

    Every kind that writes a file calls it ``file#PATH`` in the backups, so that may be the ref of no resource.
    """
    from reactor.journal.history import History, HistoryError

    try:
        with closing(History(directory, at_once=True)) as history:
            if version.ref in history.present():
                return version.ref
            return None if history.knows(version.ref) else f"a line, a block or the like of {version.path}"
    except HistoryError:
        return unknown


def print_json(found: dict[str, Any]) -> None:
    """Print one object."""
    from reactor.console.jsonlines import line

    click.echo(line(found), nl=False)


def time_of(version: Version) -> str:
    """When the version was replaced or removed."""
    return date_and_time(version.name.time / 1e9)


def record(version: Version) -> dict[str, Any]:
    """The version as JSON shows it."""
    name = version.name
    return {
        "id": name.id, "time": name.time / 1e9, "bytes": version.size, "uid": version.uid, "gid": version.gid,
        "mode": f"{version.mode:04o}", "changed_by": version.ref,
    }  # fmt: skip
