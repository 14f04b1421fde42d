"""Sends the summary of the host, and the events of its journal in batches, to the fleet."""

from __future__ import annotations

from collections.abc import Callable

import trio

from reactor.fleet.bucket_names import EVENT, STATE
from reactor.fleet.debounced_event import DebouncedEvent
from reactor.fleet.event_batch import BATCH, MOST_BYTES, MOST_EVENTS, BatchId, encode_batch, message_id
from reactor.fleet.host.ports import Backlog, EventBatch, EventLog, Host
from reactor.fleet.link.errors import LinkError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.summary import Summary

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
"""Seconds until a summary or batch that is not acknowledged is sent again; doubled at each repetition."""


class Reporter:
    """``compose`` returns the summary of now. Nothing is queued: only the newest is ever sent."""

    def __init__(self, js: JetStream, host: Host, compose: Callable[[], Summary]) -> None:
        self.trigger = DebouncedEvent()
        self.reconnected = DebouncedEvent()
        self.sent = 0
        self._summaries = js.key_value(STATE)
        self._host = host
        self._compose = compose

    async def run(self) -> None:
        """Send until cancelled. If a summary is not acknowledged, the then newest one is sent."""
        pace = self._host.pace
        retry = FIRST_PAUSE
        while True:
            try:
                await self._summaries.put(self._host.identity.id, self._compose().to_bytes())
            except LinkError:
                await self.reconnected.wait(retry)
                retry = min(retry * 2, LONGEST_PAUSE)
                continue
            self.sent += 1
            retry = FIRST_PAUSE
            await self.trigger.wait(pace.beat, least=pace.summary)


class EventSender:
    """``trigger`` is set when the journal may have new events, ``reconnected`` when the connection is up again."""

    def __init__(self, js: JetStream, host: Host, log: EventLog) -> None:
        self.trigger = DebouncedEvent()
        self.reconnected = DebouncedEvent()
        self.backlog: Backlog = log.no_backlog
        self.sent = 0
        self._js = js
        self._host = host
        self._log = log

    async def run(self) -> None:
        """Send until cancelled, at most one batch in ``pace.events`` seconds."""
        pace = self._host.pace
        while True:
            batch = await self._log.next_batch(MOST_EVENTS, MOST_BYTES)
            self.backlog = await self._log.backlog()
            if batch is None:
                await self.trigger.wait(pace.look)
                await trio.sleep(pace.events)  # more events may follow, and share a batch
                continue
            await self._deliver(batch)
            await self._log.acknowledge(batch)
            self.sent += batch.size
            await trio.sleep(pace.events)

    async def _deliver(self, batch: EventBatch) -> None:
        """Send a batch until it is acknowledged. The server drops a repetition by its message id."""
        pause = FIRST_PAUSE
        subject = EVENT + self._host.identity.id
        data = encode_batch(batch.records)
        ids = batch.secret, batch.first, batch.last
        headers = {BATCH: str(BatchId.of(*ids))}
        while True:
            try:
                await self._js.publish(subject, data, headers=headers, message_id=message_id(*ids))
            except LinkError:
                self.backlog = await self._log.backlog()
                await self.reconnected.wait(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
                continue
            return
