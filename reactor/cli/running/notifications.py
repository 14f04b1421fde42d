"""The notifications of a run. The sender is imported only for a manifest that declares channels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import trio

from reactor.engine.events import Event

if TYPE_CHECKING:
    from reactor.manifest.notify_channels import Channel
    from reactor.notify.run_notifications import Notifications


class RunNotifications:
    """Implements a sink of events, and a task beside the engine. ``make`` makes the `Notifications` of channels."""

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
