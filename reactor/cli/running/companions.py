"""Tasks beside the engine of a run, such as the link to a fleet. They may fail; the run goes on without them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

import trio

from reactor.errors import reason_of

if TYPE_CHECKING:
    from reactor.engine.engine import Engine
    from reactor.engine.events import Event
    from reactor.journal.journal import Journal
    from reactor.metrics.tally import Gauge

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
"""Seconds between a failure and the next start. They double with each failure."""
GOOD = 600.0
"""Seconds of work after which the pause is the first one again."""


class Companion(Protocol):
    """A task beside the engine. It is a sink of the events of the run, too, and must take each of them quickly."""

    name: str

    def __call__(self, event: Event) -> None:
        """Take one event."""

    def gauges(self) -> Iterable[Gauge]:
        """Its metrics."""

    async def run(self, engine: Engine, journal: Journal | None) -> None:
        """Work until cancelled. It is called again after a failure."""


async def supervise(
    companion: Companion, engine: Engine, journal: Journal | None, warn: Callable[[str], None]
) -> None:
    """Run ``companion`` until cancelled. After a failure there is a warning, a pause, and another start."""
    pause = FIRST_PAUSE
    while True:
        began = trio.current_time()
        try:
            await companion.run(engine, journal)
            reason = "it has ended"
        except Exception as error:  # noqa: BLE001 - whatever fails there must not end the run
            reason = reason_of(error)
        if trio.current_time() - began >= GOOD:
            pause = FIRST_PAUSE
        warn(f"{companion.name} failed, and starts again in {pause:g} s: {reason}")
        await trio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)
