"""Watches systemd units: their state over D-Bus, and the directories of their files by inotify."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, cast

import trio

from reactor import Watch, Watcher, WatchSink, WatchState
from reactor.watchers.dbus import Bus, CallError, Match, Message, NoBusError, Scope, Subscription, connect
from reactor.watchers.unit_files import UnitFiles, concerns
from reactor.watchers.units import (
    MANAGER,
    MANAGER_PATH,
    SYSTEMD,
    directories,
    is_unit_name,
    manager_signal,
    object_path,
    pin,
    properties_changed,
    subscribe,
)

FIRST_WAIT = 0.02
ANSWER_TIMEOUT = 10.0
"""Seconds within which systemd must answer. After that, resources no longer wait for their watch."""
POLL_INTERVAL = 5.0
"""Seconds between two checks of all units while there is no connection; also the longest wait before a new attempt."""
FILES_SETTLE = 0.01
"""Seconds from a change of files to the check: most changes come in groups, and systemd must reread all the files."""
_OWNER_CHANGED = Match(
    "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameOwnerChanged", SYSTEMD
)
_MANAGER_SIGNALS = [manager_signal(member) for member in ("UnitFilesChanged", "Reloading")]
_JOB_ENDED = manager_signal("JobRemoved")


# Not UnitNew: a query of a unit that does not run loads and unloads it, which sends the next UnitNew.


@dataclass
class _Watched:
    """One unit: the vertices that watch it, its load state, and the subscription to its signals."""

    vertices: set[int] = field(default_factory=set)
    load: str = ""
    bus: Bus | None = None
    subscription: Subscription | None = None

    @property
    def path(self) -> str:
        """The object path of the unit on the bus: an alias has the path of its unit."""
        return self.subscription.match.path if self.subscription is not None else ""

    def is_subscribed(self, bus: Bus, path: str) -> bool:
        """Whether there is a subscription to its signals at ``path`` already."""
        return self.bus is bus and self.path == path

    def close(self) -> None:
        """End the subscription."""
        if self.subscription is not None:
            self.subscription.close()
            self.subscription = None


class UnitListener:
    """Marks the vertices of a unit whenever its state, its files or the whole systemd may have changed.

    Raises OSError when there is no inotify instance left.
    """

    def __init__(self, scope: Scope, sink: WatchSink) -> None:
        self._scope = scope
        self._sink = sink
        self._files = UnitFiles(directories(scope))
        self._units: dict[str, _Watched] = {}
        self._bus: Bus | None = None
        self._tried = trio.Event()
        self._connected = trio.CancelScope()
        self._listening = trio.Lock()
        self._poll_at = 0.0

    async def add(self, unit: str, vertex: int) -> None:
        """Mark ``vertex`` whenever ``unit`` changes. Returns after the first attempt to reach systemd."""
        self._units.setdefault(unit, _Watched()).vertices.add(vertex)
        await self._tried.wait()
        if self._bus is not None:
            try:
                await self._listen(self._bus, [unit])
            except (NoBusError, CallError):
                self._connected.cancel()

    def remove(self, unit: str, vertex: int) -> None:
        """Undo an `add`."""
        watched = self._units[unit]
        watched.vertices.discard(vertex)
        if not watched.vertices:
            del self._units[unit]
            watched.close()

    async def run(self) -> None:
        """Listen, until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._files.run, self._on_file, self._lose_files)
            await self._stay_connected()

    def close(self) -> None:
        """Free the descriptor, and end all subscriptions."""
        self._files.close()
        for watched in self._units.values():
            watched.close()

    # ---- the connection ----

    async def _stay_connected(self) -> None:
        wait, reason = 0.0, ""
        while True:
            began = trio.current_time()
            try:
                with trio.CancelScope() as self._connected:
                    await self._follow(await connect(self._scope), reason)
                reason = f"the connection to the {self._scope} bus was lost"
            except (NoBusError, CallError) as error:
                reason = str(error)
            self._do_without(reason)
            lasted = trio.current_time() - began
            wait = FIRST_WAIT if lasted > POLL_INTERVAL else min(POLL_INTERVAL, 2 * wait or FIRST_WAIT)
            await trio.sleep(wait)

    def _do_without(self, reason: str) -> None:
        """Report once that there is no connection; from then on, mark all units at regular times."""
        now = trio.current_time()
        if self._bus is not None or not self._tried.is_set():
            self._bus = None
            self._tried.set()
            self._poll_at = now + POLL_INTERVAL
            words = f"{reason}; until it is back, units are checked every {POLL_INTERVAL:g} s"
            self._sink.report(WatchState.POLLING, words)
        elif now >= self._poll_at:
            self._poll_at = now + POLL_INTERVAL
            self._mark(self._units)

    async def _follow(self, bus: Bus, lost: str) -> None:
        """Listen as long as the connection lasts. ``lost`` is why there was no connection before, or empty."""
        async with bus.signals(_OWNER_CHANGED, *_MANAGER_SIGNALS) as messages, self._marking_jobs(bus):
            with trio.move_on_after(ANSWER_TIMEOUT) as timeout:
                await subscribe(bus)
            if timeout.cancelled_caught:
                raise NoBusError(
                    f"systemd did not answer on the {self._scope} bus within {ANSWER_TIMEOUT:g} s"
                )
            await self._listen(bus, list(self._units))
            self._bus = bus
            self._tried.set()
            if lost:
                self._sink.report(WatchState.ARMED, "the connection to systemd is back")
                self._sink.mark_all(lost)
            async for message in messages:
                await self._on_signal(bus, message)

    @asynccontextmanager
    async def _marking_jobs(self, bus: Bus) -> AsyncIterator[None]:
        """Within the block, mark the units whose jobs end. There are so many jobs that no task is woken for them."""
        subscription = await bus.subscribe(_JOB_ENDED, self._on_job)
        try:
            yield
        finally:
            subscription.close()

    async def _listen(self, bus: Bus, units: Sequence[str]) -> None:
        """Subscribe to the signals of ``units`` at their present paths; mark units whose load state has changed."""
        async with self._listening:
            units = [unit for unit in units if is_unit_name(unit)]  # the answer omits other names
            (found,) = await bus.call(SYSTEMD, MANAGER_PATH, MANAGER, "ListUnitsByNames", "as", units)
            for unit, (_, _, load, _, _, _, path, *_) in zip(units, found, strict=True):
                if (watched := self._units.get(unit)) is None:
                    continue
                if watched.load not in {"", load}:
                    self._mark((unit,))
                watched.load = load
                if not watched.is_subscribed(bus, path):
                    await self._listen_at(bus, unit, path, watched)

    async def _listen_at(self, bus: Bus, unit: str, path: str, watched: _Watched) -> None:
        watched.close()
        handler = partial(self._on_unit, unit)
        watched.bus, watched.subscription = bus, await bus.subscribe(properties_changed(path), handler)
        if self._units.get(unit) is not watched:  # it was removed meanwhile
            watched.close()
        await pin(bus, unit)

    # ---- signals and events ----

    def _mark(self, units: Iterable[str], delay: float = 0.0) -> None:
        for unit in units:
            for vertex in self._units[unit].vertices:
                self._sink.mark(vertex, delay)

    def _on_unit(self, unit: str, _: Message) -> None:
        if unit in self._units:
            self._mark((unit,))

    def _on_job(self, message: Message) -> None:
        match message.body:
            case [_, _, str(name), _]:
                self._on_unit(name, message)

    async def _on_signal(self, bus: Bus, message: Message) -> None:
        match message.member, message.body:
            case "UnitFilesChanged", _:
                self._find_files()
            case "Reloading", [False]:  # a reload starts and stops nothing
                self._find_files()
                await self._listen(bus, list(self._units))
            case "NameOwnerChanged", [_, _, str(owner)] if owner:
                await subscribe(bus)
                await self._listen(bus, list(self._units))
                self._sink.mark_all("systemd was started again")

    def _on_file(self, name: str) -> None:
        stem = name.removesuffix(".d")
        units = {unit for unit in self._units if concerns(name, unit)}
        self._mark(units.union(self._at(object_path(stem))), FILES_SETTLE)

    def _find_files(self) -> None:
        """Watch new directories of unit files. The files in watched directories send events already."""
        for name in self._files.scan():
            self._on_file(name)

    def _lose_files(self) -> None:
        self._sink.mark_all("the inotify queue of the unit files overflowed")

    def _at(self, path: str) -> list[str]:
        """The units with the D-Bus path ``path``: several, if some are aliases."""
        return [unit for unit, watched in self._units.items() if watched.path == path]


@dataclass(frozen=True, slots=True)
class UnitWatch(Watch):
    """A systemd unit by its full name, such as ``nginx.service``: its state, its files, and whether it is enabled."""

    unit: str
    scope: Scope = Scope.SYSTEM


class UnitWatcher(Watcher):
    """Watches units of systemd. Without a bus they are marked at regular times, and that is reported."""

    serves: ClassVar[type[Watch]] = UnitWatch

    def __init__(self, sink: WatchSink) -> None:
        super().__init__(sink)
        self._listeners: dict[Scope, UnitListener] = {}
        self._has_new = trio.Event()

    async def arm(self, watch: Watch, vertex: int) -> None:
        """Listen for a UnitWatch. Raises OSError when there is no inotify instance left."""
        watch = cast("UnitWatch", watch)
        listener = self._listeners.get(watch.scope)
        if listener is None:
            listener = self._listeners[watch.scope] = UnitListener(watch.scope, self.sink)
            self._has_new.set()
        await listener.add(watch.unit, vertex)

    def disarm(self, watch: Watch, vertex: int) -> None:
        """Stop listening for a UnitWatch."""
        watch = cast("UnitWatch", watch)
        self._listeners[watch.scope].remove(watch.unit, vertex)

    async def run(self) -> None:
        """Run a listener for each scope, from its first watch on."""
        running: set[Scope] = set()
        async with trio.open_nursery() as nursery:
            while True:
                for scope in self._listeners.keys() - running:
                    running.add(scope)
                    nursery.start_soon(self._listeners[scope].run)
                await self._has_new.wait()
                self._has_new = trio.Event()

    def close(self) -> None:
        """Free the descriptors, and end all subscriptions."""
        for listener in self._listeners.values():
            listener.close()
