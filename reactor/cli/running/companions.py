"""Tasks beside the engine of a run, such as the link to a fleet, and notifications. The run goes on without them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

import trio

from reactor.engine.events import Event
from reactor.errors import reason_of

if TYPE_CHECKING:
    from reactor.engine.engine import Engine
    from reactor.journal.journal import Journal
    from reactor.manifest.notify_channels import Channel
    from reactor.metrics.tally import Gauge
    from reactor.notify.run_notifications import Notifications

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


class RunNotifications:
    """The sink and the task of notifications. Nothing is imported for them until the manifest declares a channel.

    ``make`` then makes the `Notifications`, which do the work.
    """

    def __init__(
        self, channels: Mapping[str, Channel], make: Callable[[Mapping[str, Channel]], Notifications]
    ) -> None:
        self._channels = channels
        self._make = make
        self._sending: Notifications | None = None
        self._declared = trio.Event()

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if self._sending is not None:
            self._sending(event)

    def renew(self, channels: Mapping[str, Channel]) -> None:
        """Use ``channels`` from now on."""
        if self._sending is not None:
            self._sending.renew(channels)
        elif channels:
            self._channels = channels
            self._declared.set()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Send messages when they are due, until cancelled."""
        if self._channels:
            await self._made().run(task_status=task_status)
        task_status.started()
        await self._declared.wait()
        await self._made().run()

    def _made(self) -> Notifications:
        self._sending = self._make(self._channels)
        return self._sending

    async def drain(self) -> None:
        """At the end of a run, send the results of a single run, and store messages that could not be sent."""
        if self._sending is not None:
            await self._sending.drain()
