"""The network of a run: follows the values that expressions read, publishes registrations, and shows the connection."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import trio

from reactor.engine.events import Blocked, Checked, Event, Reloaded, Result, Skipped, WatcherChanged
from reactor.loading import is_elsewhere
from reactor.resource.watch import WatchState

if TYPE_CHECKING:
    from reactor.engine.engine import Engine
    from reactor.source.links import Link, Publisher
    from reactor.source.network import RunNetwork

WATCHER = "network"
"""The name under which the status shows the connection."""
_STATES = {"armed": WatchState.ARMED, "down": WatchState.DOWN, "denied": WatchState.DOWN}
_STABLE = (Result.OK, Result.CHANGED)
_DRAINING = 3.0
"""Seconds for which a run that ends waits until its registrations are published."""


class NetworkService:
    """A sink of events, and a task beside the engine. ``names`` are those of the manifests and data.

    ``registration`` is where the registrations of stable resources are published: ``nats``, ``jetstream``, or None.
    """

    def __init__(self, network: RunNetwork, names: Sequence[str], registration: str | None) -> None:
        self._network = network
        self._has_urls = any(is_elsewhere(name) and not name.startswith("http") for name in names)
        self._registration = registration
        self._publisher: Publisher | None = None
        self._engine: Engine | None = None

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if self._publisher is None or self._engine is None:
            return
        if type(event) is Checked and event.result in _STABLE:
            table = self._engine.vertex_table
            if registrations := table.resources[table.number(event.ref)].register_when_stable:
                self._publisher.stable(event.ref, registrations)
            return
        if isinstance(event, Checked | Blocked | Skipped):
            self._publisher.unstable(event.ref)
        elif isinstance(event, Reloaded):
            for ref in (*event.gone, *event.changed):
                self._publisher.unstable(ref)

    def attach(self, engine: Engine) -> None:
        """Publish the registrations of the resources of ``engine``, if the run publishes any."""
        self._engine = engine
        if self._registration is not None and (link := _link()) is not None:
            network = self._network
            self._publisher = link.publisher(network.context, self._registration, network.stream)

    async def run(self, warn: Callable[[str], None]) -> None:
        """Follow and publish until cancelled."""
        async with trio.open_nursery() as nursery:
            if self._publisher is not None:
                nursery.start_soon(self._publisher.run, warn)
            if self._engine is None or not self._engine.options.watch:
                return
            nursery.start_soon(self._network.run, warn)
            if not self._has_urls and self._publisher is None:
                await self._network.used()
            if (link := _link()) is not None:
                link.watch_state(self._network.context, self._show)

    async def drain(self) -> None:
        """Let what is due be published, as at the end of a single run."""
        if self._publisher is not None:
            with trio.move_on_after(_DRAINING):
                await self._publisher.drain()

    def _show(self, state: str, reason: str) -> None:
        if self._engine is not None:
            words = f"denied: {reason}" if state == "denied" else reason
            self._engine.emit(WatcherChanged(time.time(), WATCHER, _STATES[state], words))


def _link() -> Link | None:
    from reactor.source.links import link_of

    return link_of("kv://")
