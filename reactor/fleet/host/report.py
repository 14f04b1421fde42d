"""Sends the newest summary: the first change at once, later ones at intervals, and now and then without a change."""

from __future__ import annotations

from collections.abc import Callable

import trio

from reactor.fleet.bucket_names import STATE
from reactor.fleet.debounced_event import DebouncedEvent
from reactor.fleet.host.ports import Host
from reactor.fleet.link.errors import LinkError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.summary import Summary

_LONGEST_RETRY = 300.0


class Reporter:
    """``compose`` returns the summary of now. Nothing is queued: only the newest is ever sent."""

    def __init__(self, js: JetStream, host: Host, compose: Callable[[], Summary]) -> None:
        self.trigger = DebouncedEvent()
        self.reconnected = DebouncedEvent()
        self.sent = 0
        self._js = js
        self._host = host
        self._compose = compose

    async def run(self) -> None:
        """Send until cancelled. If a summary is not acknowledged, the then newest one is sent."""
        pace = self._host.pace
        retry = 1.0
        while True:
            try:
                await self._js.key_value(STATE).put(self._host.identity.id, self._compose().to_bytes())
            except LinkError:
                await self.reconnected.wait(retry)
                retry = min(retry * 2, _LONGEST_RETRY)
                continue
            self.sent += 1
            retry = 1.0
            await trio.sleep(pace.summary)
            await self.trigger.wait(max(0.0, pace.beat - pace.summary))
