"""``reactor restore``: restores a file that reactor replaced or removed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from reactor.cli.messages import fail
from reactor.cli.options.common import Format, format_option
from reactor.cli.options.state_dir import directory_of, hint_about, state_dir_option
from reactor.cli.options.times import moment
from reactor.resource.escaping import escaped

if TYPE_CHECKING:
    from reactor.backup.entry import Version
    from reactor.cli.running.restoring_since import Action


@click.command(short_help="Restore an earlier version of a file.")
@click.argument("path", type=click.Path(), required=False)
@click.option("--from", "wanted", metavar="ID", help="Restore this version.  [default: the newest]")
@click.option(
    "--since",
    callback=moment,
    metavar="TIME",
    help="Restore every file that was replaced or removed since TIME, or the one at PATH, as it was then: 10m, yesterday, 14:00.",
)
@click.option("--list", "listing", is_flag=True, help="List the versions, and change nothing.")
@click.option("--diff", is_flag=True, help="Show the changes as a unified diff, and change nothing.")
@format_option("one JSON object")
@state_dir_option
def restore(
    path: str | None,
    wanted: str | None,
    since: float | None,
    listing: bool,
    diff: bool,
    form: Format,
    state_dir: str | None,
) -> None:
    """Restore the file at PATH as it was before a resource replaced or removed it, with owner and mode.

    The current content is backed up first, so a second restore undoes the first. While the manifest has the file, the
    next run changes it back. Backups have files of up to 8 MiB, for 30 days, at most 100 versions of each and 256 MiB
    in all. Nothing is kept of a directory that is removed recursively. A version with secrets can be restored, but is
    not shown.

    --since restores only files, and lists what else has changed since then.

    Exit codes: 0 done; 1 there is no such version, or it can't be restored; 2 bad usage.

    \b
    Examples:
      reactor restore --list /etc/ssh/sshd_config
      reactor restore --diff /etc/ssh/sshd_config
      reactor restore /etc/ssh/sshd_config
      reactor restore --from 3f9a1c27 /etc/ssh/sshd_config
      reactor restore --since 10m --list
      reactor restore --since 10m
    """
    if listing and (diff or wanted is not None):
        raise click.UsageError("--list can't be used with --diff or --from")
    if wanted is not None and since is not None:
        raise click.UsageError("--since can't be used with --from")
    if path is None and since is None:
        raise click.UsageError("name a PATH, or a time: --since 10m")
    directory = directory_of(state_dir)
    path = None if path is None else f"/{os.path.abspath(path).lstrip('/')}"
    action: Action = "list" if listing else "diff" if diff else "restore"
    try:
        if since is not None:
            _restore_since(directory, since, path, (action, form))
        elif path is not None:
            _restore_one(directory, path, wanted, (action, form))
    except PermissionError:
        fail("R0608", f"{directory} can't be read: permission denied", hint_about(directory), 1)


def _restore_since(directory: str, since: float, path: str | None, how: tuple[Action, Format]) -> None:
    from reactor.backup.store import Store, backups_in
    from reactor.cli.running.restoring_since import Since, restore_since

    action, form = how
    restore_since(Since(Store(backups_in(directory)), directory, since, path, form), action)


def _restore_one(directory: str, path: str, wanted: str | None, how: tuple[Action, Format]) -> None:
    from reactor.backup.store import Store, backups_in
    from reactor.cli.running import restoring

    action, form = how
    store = Store(backups_in(directory))
    if not (versions := store.versions(path)):
        hint = (
            hint_about(directory)
            or "reactor keeps what it replaces or removes: write the path as in the manifest"
        )
        fail("R0608", f"{directory} has no version of {path}", hint, 1)
    if action == "list":
        _show(versions, form)
    elif action == "diff":
        restoring.show_diff(store, _choose(versions, wanted), versions, form)
    else:
        restoring.require_own_state(directory)
        if restoring.restore_version(store, _choose(versions, wanted), form):
            restoring.warn_of_next_run(directory, versions[0])


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
    from reactor.cli.running import restoring
    from reactor.hostfs import names_of

    if form == "json":
        restoring.print_json({"path": versions[0].path, "versions": [*map(restoring.record, versions)]})
        return
    rows = [("id", "time", "bytes", "owner", "mode", "changed by")]
    for version in versions:
        owner = ":".join(names_of(version.uid, version.gid))
        size = str(version.size)
        rows.append(
            (version.name.id, restoring.time_of(version), size, owner, f"{version.mode:04o}", version.ref)
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        click.echo(escaped("  ".join(cells).rstrip()))
