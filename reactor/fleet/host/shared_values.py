"""The values of other hosts that expressions read with `shared`: files that a task keeps current while the run lasts."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any

import trio

from reactor.atomic_write import replace_file
from reactor.errors import ReactorError
from reactor.fleet.bucket_names import CHANGED_SHARED, SHARED
from reactor.fleet.debounced_event import DebouncedEvent
from reactor.fleet.host.look_rate import LookRate
from reactor.fleet.link.direct_get import last_messages
from reactor.fleet.link.errors import LinkError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.shared_value import by_host
from reactor.fleet.wire.parser import Message
from reactor.number_format import counted
from reactor.resource.network_value import NetworkValue

SETTLE = 1.0
"""The shortest time in seconds between two changes of one file."""
LOOK = 600.0
"""About the seconds between two reads without a hint."""
_FIRST_RETRY, _LONGEST_RETRY = 0.05, 5.0
_BRIEFLY_READ = 1 << 16
_MODE = 0o600


class SharedValues:
    """Implements `reactor.resource.network_value.Network` for the fleet. It reads files, and never waits for servers.

    ``state`` is the state directory; without one no value is known, as when a bundle is packed.
    """

    registers = True
    functions = frozenset({"shared"})

    def __init__(self, state: str | None) -> None:
        self._folder = None if state is None else os.path.join(state, "fleet", "shared")
        self._lock = threading.Lock()
        self._names: dict[str, None] = {}
        self._on_name: Callable[[str], None] | None = None

    def read(self, function: str, arguments: tuple[str, ...], *, briefly: bool) -> NetworkValue | None:
        """Implements `reactor.resource.network_value.Network`: a map of host to value."""
        name, where, minimum = arguments
        label = f"{function} {name}"
        if self._folder is None:
            return NetworkValue(label, may_pass=True)
        self._want(name)
        path = self.path(name)
        if briefly and _size(path) > _BRIEFLY_READ:
            return None
        values = read_mirror(path, name)
        if values is None:
            return NetworkValue(label, None, _problem("no value was read yet"), may_pass=True, mirror=path)
        group = where.removeprefix("group:")
        found = {
            host: each["v"] for host, each in sorted(values.items()) if not where or group in each["groups"]
        }
        if len(found) < int(minimum):
            known = counted(len(found), "host")
            problem = _problem(f"known are the values of {known}, and {minimum} are needed")
            return NetworkValue(label, None, problem, may_pass=True, mirror=path)
        return NetworkValue(label, found, mirror=path)

    def warnings(self) -> list[str]:
        """Implements `reactor.resource.network_value.Network`. The status shows the connection."""
        return []

    def path(self, name: str) -> str:
        """Return the file of the values ``name``."""
        return os.path.join(self._folder or "", f"{name}.json")

    def prepare(self) -> None:
        """Make the directory of the files. Raises OSError."""
        if self._folder is not None:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)

    def _want(self, name: str) -> None:
        with self._lock:
            if name not in self._names:
                self._names[name] = None
                if self._on_name is not None:
                    self._on_name(name)

    async def run(self, js: JetStream, warn: Callable[[str], None]) -> None:
        """Keep the files of all names that expressions have read or will read, until cancelled."""
        token = trio.lowlevel.current_trio_token()
        async with trio.open_nursery() as nursery:

            def follow(name: str) -> None:
                if self._on_name is not None:  # else this ends, and the nursery may be closed
                    nursery.start_soon(_MirrorFollower(js, name, self.path(name), warn).run)

            with self._lock:
                self._on_name = lambda name: token.run_sync_soon(follow, name)
                for name in self._names:
                    follow(name)
            try:
                await trio.sleep_forever()
            finally:
                self._on_name = None


class _MirrorFollower:
    """Keeps the file of one name current: reads its values at each hint, after each connection, and at an interval."""

    def __init__(self, js: JetStream, name: str, path: str, warn: Callable[[str], None]) -> None:
        self._js = js
        self._name = name
        self._path = path
        self._warn = warn
        self._warned = ""
        self._hinted = 0
        self._trigger = DebouncedEvent()
        self._rate = LookRate()

    async def run(self) -> None:
        connection = self._js.connection
        subject = f"{CHANGED_SHARED}{self._name}.*"
        with connection.subscribed(subject, self._hint), connection.watched(self._connected):
            retry = _FIRST_RETRY
            while True:
                await connection.wait_up()
                await self._rate.turn()
                done, settled = await self._look(), trio.current_time() + SETTLE
                if not done and retry >= _LONGEST_RETRY:
                    self._hinted = 0  # the key of the hint may have been removed since
                await self._trigger.wait(LOOK if done else retry)
                retry = _FIRST_RETRY if done else min(retry * 2, _LONGEST_RETRY)
                await trio.sleep_until(settled if done else 0)

    def _hint(self, message: Message) -> None:
        sequence = message.headers.get("Nats-Sequence", "")
        if sequence.isascii() and sequence.isdigit():
            self._hinted = max(self._hinted, int(sequence))
        self._trigger.set()

    def _connected(self, _: object) -> None:
        if self._js.connection.up:
            self._trigger.set()

    async def _look(self) -> bool:
        """Read the values. Return False if the server does not answer, or if it is behind a hint."""
        bucket, hinted = self._js.key_value(SHARED), self._hinted
        try:
            found = await last_messages(self._js, bucket.stream, [f"{bucket.prefix}*.{self._name}"])
            values = {
                each.host: {"v": each.value, "groups": [*each.groups]}
                for each in by_host(map(bucket.entry_of, found))
            }
            await trio.to_thread.run_sync(_write_mirror, self._path, self._name, values)
        except (LinkError, OSError) as error:
            self._warn_once(f"the values {self._name} of other hosts are not read: {error}")
            return False
        self._warned = ""
        return max((each.sequence for each in found), default=0) >= hinted

    def _warn_once(self, problem: str) -> None:
        if problem != self._warned and self._js.connection.up:
            self._warned = problem
            self._warn(problem)


def read_mirror(path: str, name: str) -> dict[str, Mapping[str, Any]] | None:
    """Return host -> ``v`` and ``groups`` of the file ``path``; None if there is none, or it is damaged."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        values = found["values"]
        if found["name"] != name or not all("v" in each and "groups" in each for each in values.values()):
            return None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return dict(values)


def _write_mirror(path: str, name: str, values: Mapping[str, Any]) -> None:
    """Write the file if it differs. Raises OSError."""
    if read_mirror(path, name) != values:
        replace_file(path, json.dumps({"name": name, "values": values}).encode(), _MODE)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _problem(message: str) -> ReactorError:
    return ReactorError(message, "look at what is shared with: reactor fleet shared")
