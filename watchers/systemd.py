"""Watches systemd units: over D-Bus, and by inotify where their files are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

import trio

from reactor import Watch, Watcher, WatchSink
from reactor.watchers.dbus import Scope
from reactor.watchers.unit_listener import UnitListener


@dataclass(frozen=True, slots=True)
class UnitWatch(Watch):
    """The systemd unit of a full name, such as ``nginx.service``: its state, its files, and whether it is enabled."""

    unit: str
    scope: Scope = Scope.SYSTEM


class UnitWatcher(Watcher):
    """Hears what happens to units. Where there is no bus they are marked at regular times, and that is reported."""

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
        """Listen for a UnitWatch no longer."""
        watch = cast("UnitWatch", watch)
        self._listeners[watch.scope].remove(watch.unit, vertex)

    async def run(self) -> None:
        """Run a listener for each scope, from when it is first asked for."""
        running: set[Scope] = set()
        async with trio.open_nursery() as nursery:
            while True:
                for scope in self._listeners.keys() - running:
                    running.add(scope)
                    nursery.start_soon(self._listeners[scope].run)
                await self._has_new.wait()
                self._has_new = trio.Event()

    def close(self) -> None:
        """Free the descriptors, and hear no more."""
        for listener in self._listeners.values():
            listener.close()
