"""Arms the watches of all resources and keeps the watchers alive: a dead one is restarted, what it served checked."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import trio

from reactor.engine.backoff import Backoff
from reactor.engine.events import Cause, EventsLost, WatcherChanged
from reactor.resource.base import Resource
from reactor.resource.watch import TimerWatch, Watch, Watcher, WatchState

if TYPE_CHECKING:
    from reactor.engine.engine import Engine

RESTART_WAIT = 0.1
RESTART_CAP = 60.0


class Watching:
    """All event sources of one run."""

    def __init__(self, engine: Engine, watchers: Mapping[type[Watch], type[Watcher]]) -> None:
        self._engine = engine
        self._watchers = watchers
        self._sources: dict[type[Watch], Source] = {}
        for vertex, resource in enumerate(engine.resources):
            for watch in _watches(resource):
                self._declare(watch, vertex)

    def start(self, nursery: trio.Nursery) -> None:
        """Hold every watched vertex until its watches are armed, and begin to arm them."""
        for source in self._sources.values():
            source.hold()
            nursery.start_soon(source.supervise)

    def _declare(self, watch: Watch, vertex: int) -> None:
        source = self._sources.get(type(watch))
        if source is not None:
            source.watches.setdefault(vertex, []).append(watch)
        elif (watcher := self._watchers.get(type(watch))) is not None:
            self._sources[type(watch)] = Source(self._engine, watcher, {vertex: [watch]})
        else:
            text = f"no watcher for {type(watch).__name__} is installed; only the audit will notice drift"
            event = WatcherChanged(time.time(), "none", WatchState.DOWN, text, self._engine.refs[vertex])
            self._engine.emit(event)


def _watches(resource: Resource) -> list[Watch]:
    declared = list(resource.watches())
    if resource.meta.poll is not None:
        declared.append(TimerWatch(resource.meta.poll))
    return declared


class Source:
    """One watcher and what it serves, over all its restarts. It is the watcher's `WatchSink`."""

    def __init__(self, engine: Engine, watcher: type[Watcher], watches: dict[int, list[Watch]]) -> None:
        self._engine = engine
        self._watcher = watcher
        self._held: set[int] = set()
        self.watches = watches
        self.name = watcher.__module__.rpartition(".")[2]

    # ---- the watcher's side ----

    def mark(self, vertex: int, delay: float = 0.0) -> None:
        """Something about ``vertex`` may have changed."""
        self._engine.mark(vertex, Cause.DRIFT, delay)

    def mark_all(self, reason: str) -> None:
        """Events were lost."""
        self._engine.emit(EventsLost(time.time(), self.name, reason))
        for vertex in self.watches:
            self._engine.mark(vertex, Cause.DRIFT)

    def report(self, state: WatchState, reason: str, vertex: int | None = None) -> None:
        """The watcher hears better or worse now."""
        ref = None if vertex is None else self._engine.refs[vertex]
        self._engine.emit(WatcherChanged(time.time(), self.name, state, reason, ref))

    # ---- the engine's side ----

    def hold(self) -> None:
        """No vertex of this source is checked before its watches are armed; a check that runs is void."""
        for vertex in self.watches:
            if vertex not in self._held:
                self._held.add(vertex)
                self._engine.hold(vertex)

    def _release(self, vertex: int) -> None:
        if vertex in self._held:
            self._held.discard(vertex)
            self._engine.release(vertex)

    async def supervise(self) -> None:
        """Keep the watcher alive. Restarts at once, then with growing waits, during which checks go on unwatched."""
        backoff = Backoff(RESTART_WAIT, RESTART_CAP)
        while True:
            armed = await self._serve()
            if armed:
                self.hold()
                continue
            for vertex in self.watches:
                self._release(vertex)
            await trio.sleep(backoff.next_wait(trio.current_time()))

    async def _serve(self) -> bool:
        """Run one instance of the watcher until it dies. Returns whether it had armed everything."""
        armed = False
        try:
            watcher = self._watcher(self)
            try:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(watcher.run)
                    await self._arm(watcher)
                    armed = True
            finally:
                watcher.close()
        except Exception as error:  # noqa: BLE001 - whatever killed it, the remedy is a new one
            self.report(WatchState.DOWN, f"the watcher died and is restarted: {_reason(error)}")
            for vertex in self.watches:
                self._engine.mark(vertex, Cause.DRIFT)
        return armed

    async def _arm(self, watcher: Watcher) -> None:
        for vertex, watches in self.watches.items():
            for watch in watches:
                await watcher.arm(watch, vertex)
            self._release(vertex)
        self.report(WatchState.ARMED, f"{len(self.watches)} resources")


def _reason(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"
