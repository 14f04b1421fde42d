"""The work of ``reactor fleet backup`` and ``restore``."""

from __future__ import annotations

import sys
import time

import click

from reactor.cli.messages import fail_for, notice
from reactor.cli.options.common import Format
from reactor.cli.running.fleet_session import print_change, within
from reactor.errors import ReactorError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.operator.backup import (
    Backup,
    BackupError,
    SavedStream,
    back_up,
    reading_backup,
    writing_backup,
)
from reactor.fleet.operator.cluster import usual_copies
from reactor.fleet.operator.expulsion import revoked_hosts
from reactor.fleet.operator.restoring import restore
from reactor.fleet.operator.server_config import OperatorDirectory, load_operator_directory
from reactor.fleet.operator.session import fleet_of
from reactor.number_format import counted, date_and_time

_SHOWN_AGAIN = 0.2
"""Seconds between two signs of progress."""


class _Progress:
    """Shows on a terminal how far a stream is, and prints each that is done."""

    def __init__(self, form: Format, verb: str) -> None:
        self._form = form
        self._verb = verb
        self._shown = 0.0
        self._shows = sys.stderr.isatty()
        self.streams: list[SavedStream] = []

    def tell(self, name: str, size: int) -> None:
        """Show the bytes of a stream that are done, now and then."""
        if self._shows and time.monotonic() - self._shown > _SHOWN_AGAIN:
            self._shown = time.monotonic()
            click.echo(f"\r\x1b[K{name}: {size:,} bytes", nl=False, err=True)

    def done(self, stream: SavedStream) -> None:
        """Print that a stream is done."""
        self.streams.append(stream)
        self.clear()
        if self._form == "text":
            messages = counted(stream.messages, "message")
            click.echo(f"{self._verb} {stream.name}: {messages}, {stream.size:,} bytes")

    def clear(self) -> None:
        """Remove what is shown."""
        if self._shows and self._shown:
            click.echo("\r\x1b[K", nl=False, err=True)
            self._shown = 0.0

    def print_end(self, file: str, preposition: str) -> None:
        """Print what was done in all."""
        streams = [
            {"name": each.name, "messages": each.messages, "size": each.size, "sha256": each.digest}
            for each in self.streams
        ]
        words = f"{self._verb} {counted(len(streams), 'stream')} {preposition} {file}"
        print_change(self._form, {"file": file, self._verb: streams}, words)


def save(home: str, file: str, form: Format) -> None:
    """Save all streams of the fleet into a file."""
    shown = _Progress(form, "saved")
    try:
        fleet = fleet_of(home)
        with writing_backup(file) as writer:
            within(home, lambda js: back_up(js, writer, shown.tell, shown.done))
            writer.finish(fleet)
    except ReactorError as error:
        fail_for(error, 1)
    finally:
        shown.clear()
    shown.print_end(file, "in")


def restore_from(home: str, file: str, form: Format, *, replicas: int | None, replace: bool) -> None:
    """Restore all streams of a file."""
    shown = _Progress(form, "restored")
    try:
        files, fleet = load_operator_directory(home), fleet_of(home)
        with reading_backup(file) as backup:
            if backup.fleet != fleet:
                raise BackupError(
                    f"{file} is of another fleet: its account is {backup.fleet}, and that of {home} is {fleet}",
                    "give the --home of that fleet; its hosts believe no other keys",
                )
            backup.check(shown.tell)
            shown.clear()
            kept, revoked = within(
                home, lambda js: _restored(js, files, backup, shown, replicas, replace=replace)
            )
    except ReactorError as error:
        fail_for(error, 1)
    finally:
        shown.clear()
    shown.print_end(file, "from")
    if kept:
        notice(
            f"an earlier restore of it had ended early: it left {counted(len(kept), 'stream')} whole", None
        )
    notice(f"the servers are as at {date_and_time(backup.time)}", None)
    if revoked:
        hint = f"expel them again: reactor fleet expel {revoked[0]}"
        notice(f"expelled since then, and known again: {', '.join(revoked)}", hint)


async def _restored(
    js: JetStream,
    files: OperatorDirectory,
    backup: Backup,
    shown: _Progress,
    replicas: int | None,
    *,
    replace: bool,
) -> tuple[list[str], list[str]]:
    copies = replicas or await usual_copies(js, files.directory)
    kept = await restore(js, backup, copies=copies, replace=replace, tell=shown.tell, done=shown.done)
    return kept, await revoked_hosts(js, files)
