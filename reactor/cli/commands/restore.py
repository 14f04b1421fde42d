"""``reactor restore``: put back what a file held before reactor replaced or removed it."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from reactor.cli.messages import fail, warn
from reactor.cli.options.formats import Format, format_option
from reactor.cli.options.state_dir import directory_of, hint_about, state_dir_option
from reactor.console.number_format import date_and_time
from reactor.resource.escaping import escaped

if TYPE_CHECKING:
    from reactor.backup.entry import Version
    from reactor.backup.store import Store
    from reactor.engine.check import Verdict

_PERMISSIONS = 0o777


@click.command(short_help="Put back what a file held before.")
@click.argument("path", type=click.Path())
@click.option("--from", "wanted", metavar="ID", help="This version.  [default: the newest]")
@click.option("--list", "listing", is_flag=True, help="Show the versions there are, and change nothing.")
@click.option("--diff", is_flag=True, help="Show what would change, as a unified diff, and change nothing.")
@format_option("one JSON object")
@state_dir_option
def restore(
    path: str, wanted: str | None, listing: bool, diff: bool, form: Format, state_dir: str | None
) -> None:
    """Put back what the file at PATH held before a resource replaced or removed it, with owner and mode.

    What PATH holds now is kept first, so a second restore takes the first one back. Kept are files of up to 8 MiB,
    for 30 days, and at most 100 versions of each and 256 MiB in all; of a directory that is removed with all that
    is in it, nothing is. What was made with secrets is put back, but not shown.

    Exit codes: 0 done; 1 there is no such version, or it can't be put back; 2 bad usage.

    \b
    Examples:
      reactor restore --list /etc/ssh/sshd_config
      reactor restore --diff /etc/ssh/sshd_config
      reactor restore /etc/ssh/sshd_config
      reactor restore --from 3f9a1c27 /etc/ssh/sshd_config
    """
    from reactor.backup.store import Store, backups_in

    directory = directory_of(state_dir)
    store = Store(backups_in(directory))
    path = f"/{os.path.abspath(path).lstrip('/')}"
    try:
        versions = store.versions(path)
    except PermissionError:
        fail("R0608", f"{directory} is not ours to look into", hint_about(directory), 1)
    if not versions:
        hint = hint_about(directory) or "write the path as the manifest does"
        fail("R0608", f"no version of {path} is kept in {directory}", hint, 1)
    if listing:
        _show(versions, form)
    elif diff:
        _show_diff(store, _choose(versions, wanted), versions, form)
    else:
        _require_own_state(directory)
        _restore(store, _choose(versions, wanted), form)
        _warn_of_active_run(directory, versions[0])


def _require_own_state(directory: str) -> None:
    """What others could put there would be written with the rights we have."""
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
            f"reactor restore --list {path} shows those there are",
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
    """What putting ``version`` back would change. Where one of ``versions`` has a secret, others may hold it too."""
    import sys

    import trio

    from reactor.console.style import Style, wants_colour

    content = _content(store, version)
    if any(each.is_secret for each in versions):
        fail(
            "R0608",
            f"{escaped(version.path)} holds secrets, and is not shown",
            "put it back, and look at it there",
            1,
        )
    verdict = trio.run(partial(_put_back, store, version, content, noop=True))
    if verdict.error is not None:
        fail(verdict.code or "R0608", verdict.error, verdict.hint, 1)
    if form == "json":
        _print_json({"path": version.path, "version": version.name.id, "diffs": verdict.diffs})
        return
    style = Style(wants_colour(sys.stdout))
    for text in verdict.diffs:
        click.echo(style.diff(text), nl=False, color=True)
    if not verdict.diffs:
        click.echo(f"{escaped(version.path)} is as in version {version.name.id}")


def _content(store: Store, version: Version) -> str:
    """A file with what ``version`` held. Ends the command when that is damaged."""
    try:
        return store.content(version)
    except OSError as error:
        fail("R0608", f"version {version.name.id} can't be read: {error.strerror}", None, 1)


def _restore(store: Store, version: Version, form: Format) -> None:
    import trio

    from reactor.engine.outcome import Outcome

    verdict = trio.run(_put_back, store, version, _content(store, version))
    if verdict.outcome is Outcome.FAILED:
        fail(verdict.code or "R0608", str(verdict.error), verdict.hint, 1)
    changed = verdict.outcome is not Outcome.OK
    if form == "json":
        _print_json({"path": version.path, "version": version.name.id, "changed": changed})
    elif changed:
        click.echo(
            f"{escaped(version.path)} is again as in version {version.name.id}, from before {_time(version)}"
        )
    else:
        click.echo(f"{escaped(version.path)} is already as in version {version.name.id}")
    if changed and version.mode & ~_PERMISSIONS:
        warn(f"of its mode {version.mode:04o} the setuid, setgid and sticky bits are left out")


async def _put_back(store: Store, version: Version, content: str, *, noop: bool = False) -> Verdict:
    """Bring the path into the old state just as a manifest would, so it is as safe, and can be taken back."""
    from reactor.engine.check import check
    from reactor.resource.backup_store import backup_store
    from reactor.resource.output import speaker
    from reactor.resource.registry import find_kind

    backup_store.set(store)
    speaker.set(warn)
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
    """Nothing is to be noted before the change."""


def _warn_of_active_run(directory: str, version: Version) -> None:
    from reactor.journal.state_directory import holder

    if (running := holder(directory)) is not None:
        warn(
            f"{running} is running; if its manifest has {version.ref}, it repairs the file again, unless the"
            " manifest changes"
        )


def _time(version: Version) -> str:
    return date_and_time(version.name.time / 1e9)
