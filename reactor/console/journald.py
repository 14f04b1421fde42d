"""Lines and events as entries of the systemd journal, with fields that programs can match."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import socket
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import trio

from reactor.console.style import Style
from reactor.console.text import TextSink
from reactor.engine.events import (
    AuditFound,
    Blocked,
    Checked,
    Event,
    EventsLost,
    Flapping,
    ReloadRejected,
    Result,
    WatcherChanged,
    as_json,
)
from reactor.resource.redaction import redact
from reactor.resource.watch import WatchState

SOCKET = "/run/systemd/journal/socket"

LIMIT = 16 << 20
"""Characters that may wait for the journal. Beyond that, entries are counted and not kept: memory stays bounded."""

_IDENTIFIER = {"SYSLOG_IDENTIFIER": "reactor"}
_BATCH = 16
_LAST_WAIT = 5.0
"""Seconds that a journal which takes nothing may hold up the end of the process."""
_TOO_LONG = (errno.EMSGSIZE, errno.ENOBUFS)
_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


class Journald:
    """Collects entries; the task `run` sends them, so that a busy journal never delays repairs.

    If the journal is gone, ``instead`` is called with each entry as a plain line. Entries beyond `LIMIT`
    are lost; when the journal has taken half of what waits, one entry in their place says how many.
    """

    def __init__(self, instead: Callable[[str], None], path: str = SOCKET) -> None:
        self._instead = instead
        self._path = path
        self._pending: deque[Mapping[str, str]] = deque()
        self._pending_size = 0
        self._lost = 0
        self._new_data = trio.Event()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)

    def write(self, entry: Mapping[str, str]) -> None:
        """Take one entry; returns at once."""
        if self._lost or self._pending_size > LIMIT:
            self._lost += 1
        else:
            self._put({name: redact(value) for name, value in entry.items()})

    def _put(self, entry: Mapping[str, str]) -> None:
        entry = {**entry, **_IDENTIFIER}
        self._pending.append(entry)
        self._pending_size += _size(entry)
        self._new_data.set()

    async def run(self) -> None:
        """Send entries, until cancelled."""
        while True:
            await self._new_data.wait()
            self._new_data = trio.Event()
            while self._pending:
                if not self._send_some():
                    await trio.lowlevel.wait_writable(self._socket)
                await trio.lowlevel.checkpoint()

    def finish(self) -> None:
        """Send the waiting entries, unless the journal takes none for `_LAST_WAIT` seconds. Call it last."""
        while self._pending:
            if not self._send_some() and not select.select((), (self._socket,), (), _LAST_WAIT)[1]:
                break
        self._socket.close()

    def _send_some(self) -> bool:
        """Send a few entries. Return whether the journal took them all."""
        return all(self._send_next() for _ in range(min(_BATCH, len(self._pending))))

    def _send_next(self) -> bool:
        """Send the first entry. Return False if the journal has no room for it now."""
        entry = self._pending[0]
        try:
            self._socket.connect(self._path)  # each time: a restarted journal has another socket
            self._send(encoded(entry))
        except BlockingIOError:
            return False
        except OSError:
            self._instead(f"{entry['MESSAGE']}\n")
        self._pending.popleft()
        self._pending_size -= _size(entry)
        if self._lost and self._pending_size < LIMIT // 2:
            self._put(_lost_entries(self._lost))
            self._lost = 0
        return True

    def _send(self, datagram: bytes) -> None:
        try:
            self._socket.send(datagram)
        except OSError as error:
            if error.errno not in _TOO_LONG:
                raise
            self._send_in_memory(datagram)

    def _send_in_memory(self, datagram: bytes) -> None:
        """Send an entry that is too long for a datagram in a memory file, sealed so that it can't change any more."""
        descriptor = os.memfd_create("journal-entry", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        with open(descriptor, "wb") as memory:
            memory.write(datagram)
            memory.flush()
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
            socket.send_fds(self._socket, [b""], [descriptor])


def _size(entry: Mapping[str, str]) -> int:
    return sum(map(len, entry.values()))


def _lost_entries(count: int) -> dict[str, str]:
    return {"MESSAGE": f"{count} entries are lost: the journal took none for too long", "PRIORITY": _WARNING}


def encoded(entry: Mapping[str, str]) -> bytes:
    """The fields in the protocol of the journal: a value with a line break is preceded by its length."""
    parts = []
    for name, text in entry.items():
        value = text.encode(errors="backslashreplace")
        head = name.encode()
        if b"\n" in value:
            parts.append(head + b"\n" + len(value).to_bytes(8, "little") + value + b"\n")
        else:
            parts.append(head + b"=" + value + b"\n")
    return b"".join(parts)


_ERROR, _WARNING, _NOTICE, _INFO = "3", "4", "5", "6"
_UNSHOWN = {"time", "diffs", "health", "counts"}


class JournaldSink:
    """Makes an entry for each event that a terminal would show. It also passes events to ``text.open_problems``."""

    def __init__(self, journald: Journald, *, continuous: bool) -> None:
        self._journald = journald
        self._lines: list[str] = []
        self.text = TextSink(self._lines.append, Style(coloured=False), continuous=continuous)

    def __call__(self, event: Event) -> None:
        """Take one event."""
        self.text(event)
        if self._lines:
            message = "".join(self._lines).removesuffix("\n")
            self._lines.clear()
            self._journald.write({"MESSAGE": message, "PRIORITY": priority(event), **fields(event)})


def priority(event: Event) -> str:
    """The priority of the event, as in syslog(3)."""
    match event:
        case Checked(result=Result.FAILED):
            return _ERROR
        case Checked(result=Result.CHANGED):
            return _NOTICE
        case WatcherChanged(state=WatchState.ARMED):
            return _INFO
        case Blocked() | Flapping() | EventsLost() | AuditFound() | ReloadRejected() | WatcherChanged():
            return _WARNING
        case _:
            return _INFO


def fields(event: Event) -> dict[str, str]:
    """The fields of the event in `docs/events.md`: in upper case after ``REACTOR_``, lists with commas."""
    return {
        f"REACTOR_{name.upper()}": _text(value)
        for name, value in as_json(event).items()
        if name not in _UNSHOWN and value not in (None, ())
    }


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (tuple, dict)) else str(value)
