"""Run an engine over a few resources inside a test: start it, wait for events, stop it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

import trio

from reactor.engine.engine import Engine
from reactor.engine.events import Cause, Checked, Converged, Ended, Event, Result
from reactor.engine.options import RunOptions
from reactor.engine.run_store import RunStore
from reactor.engine.slots import SlotGate
from reactor.graph.build import build
from reactor.graph.graph import Graph
from reactor.resource.base import Resource
from reactor.resource.watch import Watch, Watcher

TIMEOUT = 120.0
"""How many seconds, on the test's clock, may pass without any event before a test fails."""
LONGEST = 10 * TIMEOUT
"""How many seconds to wait for something while other events come: a busy machine is slow, but not silent."""

_Event = TypeVar("_Event", bound=Event)


def graph_of(resources: Sequence[Resource]) -> Graph:
    """The graph of ``resources``. Raises AssertionError when they do not form one."""
    graph, problems = build(resources)
    assert not problems, problems
    return graph


class Story:
    """A running engine and all events so far."""

    def __init__(
        self,
        graph: Graph,
        options: RunOptions,
        watchers: Mapping[type[Watch], type[Watcher]] | None = None,
        run_store: RunStore | None = None,
        slot_gate: SlotGate | None = None,
    ) -> None:
        self.events: list[Event] = []
        self.engine = Engine(
            graph, options, self._on_event, watchers=watchers, run_store=run_store, slot_gate=slot_gate
        )
        self._event_arrived = trio.Event()

    def _on_event(self, event: Event) -> None:
        self.events.append(event)
        self._event_arrived.set()
        self._event_arrived = trio.Event()

    def all(self, kind: type[_Event]) -> list[_Event]:
        """Every event of type ``kind`` so far."""
        return [event for event in self.events if isinstance(event, kind)]

    def checks(self, ref: str) -> list[Checked]:
        """Every check of ``ref`` so far."""
        return [event for event in self.all(Checked) if event.ref == ref]

    def result(self, ref: str) -> Result | None:
        """The current result of ``ref``; None if it was never checked."""
        engine = self.engine
        return engine.results.result(engine.vertex_table.number(ref), engine.scheduler.blocking.blocked)

    def drift(self, ref: str) -> None:
        """Mark ``ref`` as possibly changed."""
        self.engine.dispatcher.mark(self.engine.vertex_table.number(ref), Cause.DRIFT)

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until ``condition`` holds; it is evaluated after every event.

        Raises TooSlowError after `TIMEOUT` without an event, or after `LONGEST`.
        """
        end = trio.current_time() + LONGEST
        with trio.fail_after(TIMEOUT) as scope:
            while not condition():
                scope.deadline = min(trio.current_time() + TIMEOUT, end)
                await self._event_arrived.wait()

    async def rest(self) -> None:
        """Wait until no vertex is active."""
        await self.until(lambda: not self.engine.scheduler.order.active_count)

    async def converged(self, times: int = 1) -> None:
        """Wait until the engine has converged ``times`` times since the start."""
        await self.until(lambda: len(self.all(Converged)) >= times)


@asynccontextmanager
async def running(
    *resources: Resource,
    graph: Graph | None = None,
    options: RunOptions | None = None,
    watchers: Mapping[type[Watch], type[Watcher]] | None = None,
    run_store: RunStore | None = None,
    slot_gate: SlotGate | None = None,
) -> AsyncIterator[Story]:
    """An engine that watches ``resources``, or a whole ``graph``, for as long as the block lasts.

    It audits only if ``options`` ask for it.
    """
    story = Story(
        graph or graph_of(resources),
        options or RunOptions(watch=True, audit_interval=None),
        watchers,
        run_store,
        slot_gate,
    )
    async with trio.open_nursery() as nursery:
        await nursery.start(story.engine.run)
        yield story
        story.engine.cancel()


async def converge_once(
    *resources: Resource,
    graph: Graph | None = None,
    options: RunOptions | None = None,
    run_store: RunStore | None = None,
    slot_gate: SlotGate | None = None,
) -> tuple[Ended, Story]:
    """A one-shot run over ``resources``, or a whole ``graph``, to its end."""
    story = Story(
        graph or graph_of(resources),
        (options or RunOptions())._replace(watch=False),
        run_store=run_store,
        slot_gate=slot_gate,
    )
    with trio.fail_after(TIMEOUT):
        return await story.engine.run(), story
