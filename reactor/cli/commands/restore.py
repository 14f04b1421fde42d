"""``reactor restore``: restores a file that reactor replaced or removed."""

from __future__ import annotations

import os
import shlex
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from reactor.cli.messages import fail, warn
from reactor.cli.options.common import Format, format_option
from reactor.cli.options.state_dir import directory_of, hint_about, state_dir_option
from reactor.number_format import date_and_time
from reactor.resource.escaping import escaped

if TYPE_CHECKING:
    from reactor.backup.entry import Version
    from reactor.backup.store import Store
    from reactor.engine.check import CheckResult

_PERMISSIONS = 0o777


@click.command(short_help="Restore an earlier version of a file.")
@click.argument("path", type=click.Path())
@click.option("--from", "wanted", metavar="ID", help="Restore this version.  [default: the newest]")
@click.option("--list", "listing", is_flag=True, help="List the versions, and change nothing.")
@click.option("--diff", is_flag=True, help="Show the changes as a unified diff, and change nothing.")
@format_option("one JSON object")
@state_dir_option
def restore(
    path: str, wanted: str | None, listing: bool, diff: bool, form: Format, state_dir: str | None
) -> None:
    """Restore the file at PATH as it was before a resource replaced or removed it, with owner and mode.

    The current content is backed up first, so a second restore undoes the first. While the manifest has the file, the
    next run changes it back. Backups have files of up to 8 MiB, for 30 days, at most 100 versions of each and 256 MiB
    in all. Nothing is kept of a directory that is removed recursively. A version with secrets can be restored, but is
    not shown.

    Exit codes: 0 done; 1 there is no such version, or it can't be restored; 2 bad usage.

    \b
    Examples:
      reactor restore --list /etc/ssh/sshd_config
      reactor restore --diff /etc/ssh/sshd_config
      reactor restore /etc/ssh/sshd_config
      reactor restore --from 3f9a1c27 /etc/ssh/sshd_config
    """
    from reactor.backup.store import Store, backups_in

    if listing and (diff or wanted is not None):
        raise click.UsageError("--list can't be used with --diff or --from")
    directory = directory_of(state_dir)
    store = Store(backups_in(directory))
    path = f"/{os.path.abspath(path).lstrip('/')}"
    try:
        versions = store.versions(path)
    except PermissionError:
        fail("R0608", f"{directory} can't be read: permission denied", hint_about(directory), 1)
    if not versions:
        hint = (
            hint_about(directory)
            or "reactor keeps what it replaces or removes: write the path as in the manifest"
        )
        fail("R0608", f"{directory} has no version of {path}", hint, 1)
    if listing:
        _show(versions, form)
    elif diff:
        _show_diff(store, _choose(versions, wanted), versions, form)
    else:
        _require_own_state(directory)
        if _restore(store, _choose(versions, wanted), form):
            _warn_of_next_run(directory, versions[0])


def _require_own_state(directory: str) -> None:
    """End the command if other users can write to the state directory: their files would be restored with our rights."""
    from reactor.trust.inputs import require_own_directory
    from reactor.trust.rule import DistrustedError

    try:
        require_own_directory(directory)
    except DistrustedError as error:
        fail("R0401", f"the state directory {directory} can't be trusted: {error}", error.fix, 1)


def _choose(versions: list[Version], wanted: str | None) -> Version:
    if wanted is None:
        return versions[0]
    chosen = next((version for version in versions if version.name.id == wanted), None)
    if chosen is None:
        path = versions[0].path
        fail(
            "R0608",
            f"{path} has no version {wanted}",
            f"'reactor restore --list {path}' lists the versions",
            1,
        )
    return chosen


def _show(versions: list[Version], form: Format) -> None:
    from reactor.hostfs import names_of

    if form == "json":
        _print_json({"path": versions[0].path, "versions": [_record(version) for version in versions]})
        return
    rows = [("id", "time", "bytes", "owner", "mode", "changed by")]
    for version in versions:
        owner = ":".join(names_of(version.uid, version.gid))
        size = str(version.size)
        rows.append((version.name.id, _time(version), size, owner, f"{version.mode:04o}", version.ref))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        click.echo(escaped("  ".join(cells).rstrip()))


def _record(version: Version) -> dict[str, Any]:
    name = version.name
    return {
        "id": name.id, "time": name.time / 1e9, "bytes": version.size, "uid": version.uid, "gid": version.gid,
        "mode": f"{version.mode:04o}", "changed_by": version.ref,
    }  # fmt: skip


def _print_json(record: dict[str, Any]) -> None:
    from reactor.console.jsonlines import line

    click.echo(line(record), nl=False)


def _show_diff(store: Store, version: Version, versions: list[Version], form: Format) -> None:
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
        _print_json({"path": version.path, "version": version.name.id, "diffs": result.diffs})
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


def _restore(store: Store, version: Version, form: Format) -> bool:
    """Restore the file, and say so. Return whether that changed it."""
    import trio

    from reactor.engine.outcome import Outcome

    result = trio.run(_apply_version, store, version, _content(store, version))
    if result.outcome is Outcome.FAILED:
        fail(result.code or "R0608", str(result.error), result.hint, 1)
    changed = result.outcome is not Outcome.OK
    if form == "json":
        _print_json({"path": version.path, "version": version.name.id, "changed": changed})
    elif changed:
        click.echo(
            f"restored {escaped(version.path)} to version {version.name.id}, from before {_time(version)}"
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


def _warn_of_next_run(directory: str, version: Version) -> None:
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


def _time(version: Version) -> str:
    return date_and_time(version.name.time / 1e9)
