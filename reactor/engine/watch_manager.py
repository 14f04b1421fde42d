"""Arms the watches of all resources and supervises watchers: restarts a dead one and checks the resources it served."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping

import trio

from reactor.engine.dispatcher import Dispatcher
from reactor.engine.events import Cause, Event, EventsLost, WatcherChanged
from reactor.engine.retries import Backoff
from reactor.errors import MORE_FILES, first_of, reason_of
from reactor.resource.base import Resource
from reactor.resource.watch import PathWatch, TimerWatch, Watch, Watcher, WatchState

RESTART_WAIT = 0.1
RESTART_CAP = 60.0

_DRIFT = Cause.DRIFT  # see `reactor.engine.outcome.Outcome`


class WatchManager:
    """All event sources of one run. Listeners that are not resources have negative numbers."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        emit: Callable[[Event], None],
        watchers: Mapping[type[Watch], type[Watcher]] | None,
        health_interval: float | None,
    ) -> None:
        self.dispatcher = dispatcher
        self.emit = emit
        self._health_interval = health_interval
        self._watchers = watchers or {}
        self._sources: dict[type[Watch], Source] = {}
        self._nursery: trio.Nursery | None = None
        self.listeners: dict[int, Callable[[], None]] = {}
        self.armed_callbacks: dict[int, Callable[[], None]] = {}
        """Called each time a listener's watch is armed, to find earlier changes as the first check of a vertex does."""
        self._last_listener = 0
        self._moving: dict[int, list[Watch]] = {}
        """The declared watches of the resources whose watches may move."""

    def start(self, nursery: trio.Nursery) -> None:
        """Begin to arm what was declared. Sources that are declared later start at once."""
        self._nursery = nursery
        for source in self._sources.values():
            nursery.start_soon(source.supervise)

    def follow(self, vertex: int, resource: Resource) -> bool:
        """Replace the watches of ``resource`` if they have moved since they were declared. Return whether they have."""
        if self._moving.get(vertex) in (None, list(resource.watches())):
            return False
        self.forget([vertex])
        self.declare(vertex, resource)
        return True

    def declare(self, vertex: int, resource: Resource) -> None:
        """Watch for anything that could make ``resource`` drift. It is not checked before all its watches are armed."""
        watches = list(resource.watches())
        if resource.has_moving_watches:
            self._moving[vertex] = list(watches)
        if (deferred := resource.declared.deferred) is not None:
            watches.extend(PathWatch(path, is_input=True) for path in sorted(deferred.reads))
        if resource.meta.poll is not None:
            watches.append(TimerWatch(resource.meta.poll))
        intervals = (each.interval or self._health_interval for each in resource.health_checks)
        watches += [TimerWatch(each) for each in intervals if each is not None]
        for kind in {type(watch): None for watch in watches}:
            self._add(vertex, tuple([watch for watch in watches if type(watch) is kind]))

    def listen(
        self, watch: Watch, callback: Callable[[], None], armed: Callable[[], None] | None = None
    ) -> int:
        """Call ``callback`` at every event of ``watch``, and ``armed`` each time the watch is armed.

        Returns the number of the listener, for `unlisten`.
        """
        self._last_listener -= 1
        self.listeners[self._last_listener] = callback
        if armed is not None:
            self.armed_callbacks[self._last_listener] = armed
        self._add(self._last_listener, (watch,))
        return self._last_listener

    def unlisten(self, number: int) -> None:
        """Undo a `listen`."""
        self.forget([number])
        del self.listeners[number]
        self.armed_callbacks.pop(number, None)

    def forget(self, vertices: Iterable[int]) -> None:
        """Stop watching for ``vertices``."""
        for vertex in vertices:
            self._moving.pop(vertex, None)
            for source in self._sources.values():
                source.forget(vertex)

    def _add(self, vertex: int, watches: tuple[Watch, ...]) -> None:
        kind = type(watches[0])
        source = self._sources.get(kind)
        if source is None:
            watcher = self._watchers.get(kind)
            if watcher is None:
                text = f"no watcher for {kind.__name__} is installed; only the audit will notice drift"
                event = WatcherChanged(
                    time.time(), "none", WatchState.DOWN, text, self.dispatcher.vertex_table.refs[vertex]
                )
                self.emit(event)
                return
            source = self._sources[kind] = Source(self, watcher)
            if self._nursery is not None:
                self._nursery.start_soon(source.supervise)
        source.add(vertex, watches)


class Source:
    """One watcher and the vertices it serves, over all its restarts. It is the watcher's `WatchSink`."""

    def __init__(self, watch_manager: WatchManager, watcher: type[Watcher]) -> None:
        self._watch_manager = watch_manager
        self._dispatcher = watch_manager.dispatcher
        self._emit = watch_manager.emit
        self._class = watcher
        self._watcher: Watcher | None = None
        self._watches: dict[int, Watch | tuple[Watch, ...]] = {}
        """By vertex. Most have one watch: a tuple of it would take as much memory again."""
        self._unarmed: dict[int, None] = {}
        self._held: set[int] = set()
        self._new_data = trio.Event()
        self.name = watcher.__module__.rpartition(".")[2]

    # ---- the watcher's side ----

    def mark(self, vertex: int, delay: float = 0.0) -> None:
        """Something may have changed ``vertex``."""
        if vertex >= 0:
            self._dispatcher.mark(vertex, _DRIFT, delay)
        elif (callback := self._watch_manager.listeners.get(vertex)) is not None:
            callback()

    def mark_all(self, reason: str) -> None:
        """Events were lost: check every vertex that the watcher serves."""
        self._emit(EventsLost(time.time(), self.name, reason))
        self._mark_served()

    def report(self, state: WatchState, reason: str, vertex: int | None = None) -> None:
        """Report that the state of the watcher has changed."""
        ref = self._dispatcher.vertex_table.refs[vertex] if vertex is not None and vertex >= 0 else None
        self._emit(WatcherChanged(time.time(), self.name, state, reason, ref))

    async def follow(self, wait: Callable[[], Awaitable[None]], handle: Callable[[], None]) -> None:
        """Await ``wait`` and call ``handle``, in a loop."""
        await self._dispatcher.pool.follow(wait, handle)

    # ---- the engine's side ----

    def add(self, vertex: int, watches: tuple[Watch, ...]) -> None:
        """Serve ``vertex`` too. It is held until its watches are armed."""
        self._watches[vertex] = watches if len(watches) > 1 else watches[0]
        self._unarmed[vertex] = None
        self._hold(vertex)
        self._new_data.set()

    def forget(self, vertex: int) -> None:
        """Stop serving ``vertex``."""
        watches = self._watches.pop(vertex, ())
        if vertex in self._unarmed:
            del self._unarmed[vertex]
        elif self._watcher is not None:
            for watch in _each(watches):
                self._watcher.disarm(watch, vertex)
        self._release(vertex)

    async def supervise(self) -> None:
        """Keep the watcher alive.

        One that had lived for a while is restarted at once; others after growing waits, during which checks continue
        without events. What has changed meanwhile is found once the new one listens.
        """
        backoff = Backoff(RESTART_WAIT, RESTART_CAP)
        while True:
            was_armed = await self._serve()
            wait = backoff.next_wait(trio.current_time())
            if backoff.level > 1 or not was_armed:
                for vertex in self._watches:
                    self._release(vertex)
                await trio.sleep(wait)
                self._mark_served()
            for vertex in self._watches:
                self._hold(vertex)

    async def _serve(self) -> bool:
        """Run one instance of the watcher until it dies. Return whether it had armed all watches."""
        self._unarmed = dict.fromkeys(self._watches)
        armed = trio.Event()
        try:
            self._watcher = self._class(self)
            try:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._watcher.run)
                    await self._arm(self._watcher, armed)
            finally:
                watcher, self._watcher = self._watcher, None
                watcher.close()
        except Exception as error:  # noqa: BLE001 - whatever the cause, the remedy is a new watcher
            self.report(WatchState.DOWN, f"the watcher died and is restarted: {_cause(error)}")
            self._mark_served()
        return armed.is_set()

    def _mark_served(self) -> None:
        served = list(self._watches)
        self._dispatcher.mark_each([vertex for vertex in served if vertex >= 0], _DRIFT)
        for listener in served:
            if listener < 0:
                self.mark(listener)

    async def _arm(self, watcher: Watcher, armed: trio.Event) -> None:
        """Arm all watches that are not armed, in a loop: a reload may add more."""
        while True:
            while self._unarmed:
                # A copy: in a dictionary, finding the first key passes all keys that were deleted before it.
                for vertex in list(self._unarmed):
                    if vertex in self._unarmed:
                        await self._arm_one(watcher, vertex)
            self._unarmed = {}  # emptied, it would still take the memory of all that it held
            if not self._held:
                self._held = set()
            if not armed.is_set():
                armed.set()
                self.report(WatchState.ARMED, f"{len(self._watches)} watched")
            self._new_data = trio.Event()
            await self._new_data.wait()

    async def _arm_one(self, watcher: Watcher, vertex: int) -> None:
        watches = self._watches[vertex]
        for watch in _each(watches):
            await watcher.arm(watch, vertex)
        # The vertex was forgotten meanwhile; others may wait for the same watches.
        if self._watches.get(vertex) is not watches:
            for watch in _each(watches):
                watcher.disarm(watch, vertex)
            return
        del self._unarmed[vertex]
        self._release(vertex)
        if (armed := self._watch_manager.armed_callbacks.get(vertex)) is not None:
            armed()

    def _hold(self, vertex: int) -> None:
        if vertex >= 0 and vertex not in self._held:
            self._held.add(vertex)
            self._dispatcher.hold(vertex)

    def _release(self, vertex: int) -> None:
        if vertex in self._held:
            self._held.discard(vertex)
            self._dispatcher.release(vertex)


def _cause(error: Exception) -> str:
    """Why a watcher died, and what to do about it, if that is known and not in the error itself."""
    first = first_of(error)
    is_limit = isinstance(first, OSError) and first.strerror == os.strerror(errno.EMFILE)
    return f"{reason_of(error)}; {MORE_FILES}" if is_limit else reason_of(error)


def _each(watches: Watch | tuple[Watch, ...]) -> tuple[Watch, ...]:
    return watches if isinstance(watches, tuple) else (watches,)
