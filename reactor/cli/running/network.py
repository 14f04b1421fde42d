"""The network of a run: follows the values that expressions read, publishes registrations, and shows the connection."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import trio

from reactor.atomic_write import replace_file
from reactor.engine.events import Blocked, Checked, Event, Reloaded, Result, Skipped, WatcherChanged
from reactor.loading import is_elsewhere
from reactor.resource.watch import WatchState

if TYPE_CHECKING:
    from reactor.cli.options.network import RunNetwork
    from reactor.engine.engine import Engine
    from reactor.source.links import Link, Publisher

STALE = ("network", "stale.json")
"""The file below the state directory with the stale values, by resource."""
WATCHER = "network"
"""The name under which the status shows the connection."""
_STATES = {"armed": WatchState.ARMED, "down": WatchState.DOWN, "denied": WatchState.DOWN}
_STABLE = (Result.OK, Result.CHANGED)
_MOST_REASONS = 100
"""Reasons that are shown in one outage."""
_DRAINING = 3.0
"""Seconds for which a run that ends waits until its registrations are published."""


class LinkNews:
    """Lets the status and the journal of a run show a connection: each reason for which it is down once in an outage.

    Each attempt to connect ends with a reason, and an outage of a day has thousands.
    """

    def __init__(self) -> None:
        self._state: WatchState | None = None
        self._told: set[str] = set()

    def show(self, engine: Engine, state: WatchState, reason: str) -> None:
        """Show the state, unless it was shown with this reason since the last change between up and down."""
        if state is not self._state:
            self._state = state
            self._told.clear()
        if reason not in self._told and len(self._told) < _MOST_REASONS:
            self._told.add(reason)
            engine.emit(WatcherChanged(time.time(), WATCHER, state, reason))


class StableResources:
    """A sink of events that tells a publisher which resources of a run are stable.

    Events that come before the engine is attached wait for it.
    """

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._engine: Engine | None = None
        self._early: list[Event] = []

    def attach(self, engine: Engine) -> None:
        """Look up the registrations of resources in ``engine``."""
        self._engine = engine
        early, self._early = self._early, []
        for event in early:
            self(event)

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if self._engine is None:
            self._early.append(event)
        elif type(event) is Checked and event.result in _STABLE:
            table = self._engine.vertex_table
            if registrations := table.resources[table.number(event.ref)].register_when_stable:
                self._publisher.stable(event.ref, registrations)
        elif isinstance(event, Checked | Blocked | Skipped):
            self._publisher.unstable(event.ref)
        elif isinstance(event, Reloaded):
            for ref in (*event.gone, *event.changed):
                self._publisher.unstable(ref)


class NetworkService:
    """A sink of events, and a task beside the engine. ``names`` are those of the manifests and data.

    ``registration`` is where the registrations of stable resources are published: ``nats``, ``jetstream``, or None.
    """

    def __init__(self, network: RunNetwork, names: Sequence[str], registration: str | None) -> None:
        self._network = network
        self._has_urls = any(is_elsewhere(name) and not name.startswith("http") for name in names)
        self._registration = registration
        self._publisher: Publisher | None = None
        self._stable: StableResources | None = None
        self._engine: Engine | None = None
        self._has_recorded = False
        self._news = LinkNews()

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if self._stable is not None:
            self._stable(event)

    def attach(self, engine: Engine) -> None:
        """Publish the registrations of the resources of ``engine``, if the run publishes any."""
        self._engine = engine
        if self._registration is not None and (link := _link()) is not None:
            network = self._network
            self._publisher = link.publisher(network.context, self._registration, network.stream)
            self._stable = StableResources(self._publisher)
            self._stable.attach(engine)

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
        """Publish the due registrations, at the end of a single run."""
        if self._publisher is not None:
            with trio.move_on_after(_DRAINING):
                await self._publisher.drain()

    def _show(self, state: str, reason: str) -> None:
        if self._engine is not None:
            self._record_stale(self._engine, {} if state == "armed" else self._network.stale())
            words = f"denied: {reason}" if state == "denied" else reason
            self._news.show(self._engine, _STATES[state], words)

    def _record_stale(self, engine: Engine, stale: dict[str, str]) -> None:
        """Record for `reactor why` which resources use values that are not current."""
        if self._network.state is None or (not stale and not self._has_recorded):
            return
        self._has_recorded = bool(stale)
        table = engine.vertex_table
        found: dict[str, list[str]] = {}
        for vertex in table.present if stale else ():
            resource = table.resources[vertex]
            read = resource.declared.deferred.reads if resource.declared.deferred is not None else ()
            if words := [stale[path] for path in {*read, *resource.source_files()} if path in stale]:
                found[resource.ref] = sorted(words)
        with suppress(OSError):
            replace_file(os.path.join(self._network.state, *STALE), json.dumps(found).encode(), 0o600)


def stale_values(state: str, ref: str) -> list[str]:
    """Return the record of a run about the stale values of a resource."""
    try:
        with open(os.path.join(state, *STALE), encoding="utf-8") as file:
            found = json.load(file)
        return [str(each) for each in found.get(ref, [])]
    except (OSError, ValueError, AttributeError, TypeError):
        return []


def _link() -> Link | None:
    from reactor.source.links import link_of

    return link_of("kv://")
