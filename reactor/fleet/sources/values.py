"""Values of keys and registrations that expressions read: kept in memory and in files, and followed while a run lasts."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import AsyncIterable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from reactor.fleet.link.errors import (
    ContextError,
    DamagedError,
    DeniedError,
    LinkError,
    MissingError,
    UnreachableError,
)
from reactor.fleet.link.status import Status
from reactor.fleet.registry.entry import STREAM, entry_of_record, filter_subject
from reactor.fleet.registry.file_sd import file_sd
from reactor.fleet.registry.stream import look_up
from reactor.fleet.sources.connections import Connections
from reactor.fleet.sources.mirror import Mirrors
from reactor.fleet.sources.place import parse_place
from reactor.resource.network_value import NetworkValue

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from reactor.fleet.link.jetstream import JetStream

Warn = Callable[[str], None]

LOOK = 30.0
"""The mean seconds between two reads of a value: an event may be lost, and an expiry may cause none."""
_SPREAD = 0.2
_AWAY = 5.0
"""Seconds for which a command without a permanent connection does not retry an unavailable network."""
_PAUSE = 5.0
_LARGEST = 1 << 20
_CONFIRMED = 3600.0
"""Seconds after which the file of an unchanged value gets a new time."""


class Value:
    """One value: ``key`` is the function and its arguments."""

    def __init__(self, key: tuple[str, tuple[str, ...]], mirrors: Mirrors | None) -> None:
        self.function, self.arguments = key
        self.name = _name(*key)
        self.value: Any = None
        self.read = 0.0
        """The last time when it was known to be current, in seconds since 1970."""
        self.problem: LinkError | None = None
        self.is_wrong = False
        self.is_asked = False
        self._written = 0.0
        self._mirrors = mirrors
        if mirrors is not None and (found := mirrors.read(self.name)) is not None:
            self.value, self.read = found
            self._written = self.read

    @property
    def found(self) -> NetworkValue:
        """The value, as expressions read it."""
        mirror = None if self._mirrors is None else self._mirrors.path(self.name)
        value, methods = self.value, None
        if self.function == "registrations" and value is not None:
            entries = [entry_of_record(each) for each in value]
            value, methods = [each.fields for each in entries], {"PrometheusFileSD": file_sd(entries)}
        return NetworkValue(self.name, value, self.problem, not self.is_wrong, mirror, methods)

    @property
    def warning(self) -> str | None:
        """The warning about a value that is not current."""
        if self.problem is None or self.value is None:
            return None
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.read))
        return f"{self.name}: {self.problem.message}; the last value is used, of {when}"

    async def fetch(self, js: JetStream, stream: str) -> Any:
        """Return the current value, as JSON has it. Raises LinkError."""
        if self.function == "registrations":
            try:
                found = await look_up(js, self.arguments, stream)
            except ValueError as error:
                raise MissingError(str(error), 'give names, or "*" for all') from None
            return [each.record for each in found]
        bucket, key = self.arguments
        try:
            place = parse_place(f"kv://{bucket}/{key}")
        except ValueError as error:
            raise MissingError(str(error), "correct the arguments of kvGet") from None
        entry = await js.key_value(place.bucket).get(place.key)
        if entry is None:
            hint = f"write it with `nats kv put {bucket} {key}`, or correct the name"
            raise MissingError(f"there is no key {key} in the key-value bucket {bucket}", hint)
        return _text(entry.value, f"the value of {key} in the key-value bucket {bucket}")

    def current(self, value: Any) -> None:
        """Store the current value.

        Write its file if the value changed, or if the time of the file is old. Raises OSError.
        """
        is_new = value != self.value
        self.value, self.read = value, time.time()
        self.problem, self.is_wrong, self.is_asked = None, False, True
        if is_new or self.read - self._written > _CONFIRMED:
            self.write()

    def write(self) -> None:
        """Write the file of a value that is current. Raises OSError."""
        if self._mirrors is not None and self.value is not None and self.problem is None:
            self._written = self._mirrors.write(self.name, self.value)

    def failed(self, error: LinkError) -> None:
        """Record a failed read. The last value stays."""
        if self.problem is None and self.is_asked:
            self.read = time.time()
        self.problem, self.is_asked = error, True
        self.is_wrong = isinstance(error, MissingError | ContextError | DamagedError)


def _text(data: bytes, what: str) -> str:
    """Return the text of a value. Raises DamagedError: a file with only a part of it would be wrong."""
    if len(data) > _LARGEST:
        raise DamagedError(f"{what} has {len(data):,} bytes, and at most {_LARGEST:,} are read")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise DamagedError(f"{what} is not UTF-8 text", "encode bytes in base64") from None


class NatsValues:
    """Implements `reactor.resource.network_value.Network` with ``connections``."""

    def __init__(self, connections: Connections, context: str, stream: str | None = None) -> None:
        self._connections = connections
        self._context = context
        self._values: dict[tuple[str, tuple[str, ...]], Value] = {}
        self._lock = threading.Lock()
        self._mirrors: Mirrors | None = None
        self._away: tuple[float, LinkError] | None = None
        self._follow_new: Callable[[Value], None] | None = None
        self._stream = stream or STREAM

    def use(self, state: str) -> None:
        """Read the stored values below the state directory."""
        self._mirrors = Mirrors(state)

    def keep(self) -> None:
        """Write the values below the state directory from now on. Raises OSError."""
        if self._mirrors is not None:
            self._mirrors.keep()
            for value in self._values.values():
                value.write()

    def read(self, function: str, arguments: tuple[str, ...], *, briefly: bool) -> NetworkValue | None:
        """Implements `reactor.resource.network_value.Network`."""
        key = (function, arguments)
        with self._lock:
            if (value := self._values.get(key)) is None:
                value = self._values[key] = Value(key, self._mirrors)
                if self._follow_new is not None:
                    self._follow_new(value)
        if not value.is_asked or (value.problem is not None and self._follow_new is None):
            if briefly:
                return None
            self._ask(value)
        return value.found

    def warnings(self) -> list[str]:
        """The warnings about values that are not current."""
        return [warning for value in self._values.values() if (warning := value.warning) is not None]

    def stale(self) -> dict[str, str]:
        """Return the warnings about the values that are not current, by mirror file."""
        mirrors = self._mirrors
        if mirrors is None:
            return {}
        return {
            mirrors.path(value.name): warning
            for value in self._values.values()
            if (warning := value.warning) is not None
        }

    def _ask(self, value: Value) -> None:
        if self._away is not None and time.monotonic() < self._away[0]:
            value.failed(self._away[1])
            return
        try:
            value.current(self._connections.call(self._context, partial(value.fetch, stream=self._stream)))
        except MissingError as error:
            value.failed(error)
        except LinkError as error:
            value.failed(error)
            if self._follow_new is None:
                self._away = (time.monotonic() + _AWAY, error)

    async def run(self, warn: Warn) -> None:
        """Follow all values that expressions have read or will read, until cancelled."""
        try:
            async with self._connections.live(self._context, warn) as js:
                await self._run(js, warn)
        except ContextError as error:
            warn(f"values in NATS are not followed: {error}")

    async def _run(self, js: JetStream, warn: Warn) -> None:
        token = trio.lowlevel.current_trio_token()
        hints: list[_Hint] = []

        def changed(status: Status) -> None:
            for hint in hints if status.up else ():
                hint.give()
            for value in () if status.up else tuple(self._values.values()):
                value.failed(status.why or UnreachableError("there is no connection to NATS yet"))

        async with trio.open_nursery() as nursery:

            def follow(value: Value) -> None:
                hints.append(hint := _Hint())
                nursery.start_soon(self._follow, js, value, hint, warn)

            with self._lock:
                self._follow_new = lambda value: token.run_sync_soon(follow, value)
                for value in self._values.values():
                    follow(value)
            with js.connection.watched(changed):
                try:
                    await trio.sleep_forever()
                finally:
                    self._follow_new = None

    async def _follow(self, js: JetStream, value: Value, hint: _Hint, warn: Warn) -> None:
        """Keep one value current: read it at each event, and at an interval."""
        warned = ""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_hints, js, value, self._stream, hint)
            while True:
                problem = await self._look(js, value)
                if problem and problem != warned:
                    warn(problem)
                warned = problem
                await hint.wait(LOOK * random.uniform(1 - _SPREAD, 1 + _SPREAD))  # noqa: S311 - it is no secret

    async def _look(self, js: JetStream, value: Value) -> str:
        """Read a value; return a warning, an empty string if it is current or the connection is down."""
        await js.connection.wait_up()
        try:
            found = await value.fetch(js, self._stream)
        except (MissingError, DamagedError, DeniedError) as error:
            value.failed(error)
            return value.warning or f"{value.name}: {error}"
        except LinkError as error:
            value.failed(error)
            return ""
        try:
            value.current(found)
        except OSError as error:
            return f"{value.name} can't be kept: {error.strerror}"
        return ""


class _Hint:
    """A signal to read a value."""

    def __init__(self) -> None:
        self._event = trio.Event()

    def give(self) -> None:
        self._event.set()

    async def wait(self, seconds: float) -> None:
        with trio.move_on_after(seconds):
            await self._event.wait()
        self._event = trio.Event()


async def _hints(js: JetStream, value: Value, stream: str, hint: _Hint) -> None:
    """Signal each change. Without the permission to watch, only the interval is left."""
    while True:
        try:
            async with _changes(js, value, stream) as changes:
                async for _ in changes:
                    hint.give()
        except (LinkError, ValueError):
            await trio.sleep(_PAUSE)


def _changes(js: JetStream, value: Value, stream: str) -> AbstractAsyncContextManager[AsyncIterable[object]]:
    """The messages about a value. Raises ValueError for wrong arguments."""
    if value.function == "registrations":
        return js.reading(stream, [filter_subject(*value.arguments)], headers_only=True)
    bucket, key = value.arguments
    return js.key_value(bucket).watch(key, headers_only=True)


def _name(function: str, arguments: tuple[str, ...]) -> str:
    if function == "kvGet":
        return f"kv://{arguments[0]}/{arguments[1]}"
    return f"registrations({', '.join(arguments)})"
