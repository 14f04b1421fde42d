"""Sends the summary of the host, and the events of its journal in batches, to the fleet."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import trio

from reactor.fleet.bucket_names import EVENT, STATE
from reactor.fleet.debounced_event import DebouncedEvent
from reactor.fleet.event_batch import (
    BATCH,
    MOST_BYTES,
    MOST_EVENTS,
    SENT,
    BatchId,
    encode_batch,
    message_id,
)
from reactor.fleet.host.ports import Backlog, EventBatch, EventLog, Host
from reactor.fleet.host.refusals import Refusals, Warn
from reactor.fleet.link.errors import (
    LinkError,
    NoAnswerError,
    TooLargeError,
    UnreachableError,
    WrongRevisionError,
)
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.summary import Summary

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
"""Seconds until a summary or batch that is not acknowledged is sent again; doubled at each repetition."""
_NOT_TAKEN = "the servers of the fleet do not take"
_ISOLATED = 30.0
"""Seconds of refusals after which the server may be cut off: an election is over by then."""
_PROOF, _BEATS = 2, 3
"""Foreign summaries that prove another machine, and the heartbeats for which that is believed."""


class _Twin:
    """Notices that another machine has the identity of this host: summaries that are not ours come between ours."""

    def __init__(self, host: str, beat: float, warn: Warn) -> None:
        self._host = host
        self._memory = _BEATS * beat
        self._warn = warn
        self._last = -math.inf
        self._count = 0

    @property
    def is_there(self) -> bool:
        """Whether another machine reports. A single foreign summary is no proof: the servers may have been restored."""
        return self._count >= _PROOF and trio.current_time() - self._last < self._memory

    def has_reported(self) -> None:
        """Note a foreign summary."""
        was_there, now = self.is_there, trio.current_time()
        self._count = self._count + 1 if now - self._last < self._memory else 1
        self._last = now
        if self.is_there and not was_there:
            self._warn(
                f"another machine reports as {self._host}, too, so what the fleet knows of this host is of either: "
                "a clone needs a name and keys of its own from reactor fleet join"
            )


class Reporter:
    """``compose`` returns the summary of now. Nothing is queued: only the newest is ever sent."""

    def __init__(self, js: JetStream, host: Host, compose: Callable[[], Summary], warn: Warn) -> None:
        self.trigger = DebouncedEvent()
        self.reconnected = DebouncedEvent()
        self.sent = 0
        self._js = js
        self._summaries = js.key_value(STATE)
        self._host = host
        self._compose = compose
        self._revision: int | None = None
        self._twin = _Twin(host.identity.id, host.pace.beat, warn)
        self._refusals = Refusals(js, f"{_NOT_TAKEN} the summaries of this host", warn)
        self._moved = -math.inf

    @property
    def has_twin(self) -> bool:
        """Whether another machine reports as this host."""
        return self._twin.is_there

    async def run(self) -> None:
        """Send until cancelled. If a summary is not acknowledged, the then newest one is sent."""
        pace = self._host.pace
        retry = FIRST_PAUSE
        while True:
            try:
                await self._send()
            except LinkError as error:
                self._revision = None
                self._refusals.add(error)
                self._leave_isolated_server(error)
                await self.reconnected.wait(retry)
                retry = min(retry * 2, LONGEST_PAUSE)
                continue
            self._refusals.end()
            self.sent += 1
            retry = FIRST_PAUSE
            await self.trigger.wait(pace.beat, least=pace.summary)

    def _leave_isolated_server(self, error: LinkError) -> None:
        """Go to another server if this one stores nothing: it may be cut off from the others, and then what it tells is old.

        Not more often than `LONGEST_PAUSE`: the others may be no better.
        """
        connection, now = self._js.connection, trio.current_time()
        is_silent = isinstance(error, NoAnswerError) and self._refusals.lasted >= _ISOLATED
        if is_silent and now - self._moved >= LONGEST_PAUSE:
            self._moved = now
            words = f"the NATS server {connection.status.server} stores nothing, and another one is tried"
            connection.leave(
                UnreachableError(words, "see the log of this server, and its routes to the others")
            )

    async def _send(self) -> None:
        """Store the summary of now, also over one that is not ours. Raises LinkError."""
        name = self._host.identity.id
        if self._revision is not None:
            subject = self._summaries.prefix + name
            try:
                ack = await self._js.publish(subject, self._compose().to_bytes(), last=self._revision)
            except WrongRevisionError:
                self._twin.has_reported()
            else:
                self._revision = ack.sequence
                return
        self._revision = await self._summaries.put(name, self._compose().to_bytes())


class EventSender:
    """``trigger`` is set when the journal may have new events, ``reconnected`` when the connection is up again."""

    def __init__(self, js: JetStream, host: Host, log: EventLog, warn: Warn) -> None:
        self.trigger = DebouncedEvent()
        self.reconnected = DebouncedEvent()
        self.backlog: Backlog = log.no_backlog
        self.sent = 0
        self._js = js
        self._host = host
        self._log = log
        self._refusals = Refusals(js, f"{_NOT_TAKEN} the events of this host", warn)

    async def run(self) -> None:
        """Send until cancelled, at most one batch in ``pace.events`` seconds."""
        pace = self._host.pace
        most = MOST_EVENTS
        while True:
            batch = await self._log.next_batch(most, MOST_BYTES)
            self.backlog = await self._log.backlog()
            if batch is None:
                await self.trigger.wait(pace.look)
                await trio.sleep(pace.events)  # more events may follow, and share a batch
                continue
            try:
                await self._deliver(batch, batch.records)
            except TooLargeError:
                if batch.size > 1:
                    most = batch.size // 2
                    continue
                await self._deliver(batch, _without_events(batch, self._host.clock()))
            most = MOST_EVENTS
            await self._log.acknowledge(batch)
            self.sent += batch.size
            await trio.sleep(pace.events)

    async def _deliver(self, batch: EventBatch, records: Sequence[Mapping[str, Any]]) -> None:
        """Send a batch until it is acknowledged. The server drops a repetition by its message id.

        Raises TooLargeError if the server takes no message as large as that with the events of the batch.
        """
        pause = FIRST_PAUSE
        subject = EVENT + self._host.identity.id
        data = encode_batch(records)
        ids = batch.secret, batch.first, batch.last
        batch_id = str(BatchId.of(*ids))
        while True:
            headers = {BATCH: batch_id, SENT: f"{self._host.clock():.3f}"}
            try:
                await self._js.publish(subject, data, headers=headers, message_id=message_id(*ids))
            except LinkError as error:
                if isinstance(error, TooLargeError) and records is batch.records:
                    raise
                self._refusals.add(error)
                self.backlog = await self._log.backlog()
                await self.reconnected.wait(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
                continue
            self._refusals.end()
            return


def _without_events(batch: EventBatch, now: float) -> list[Mapping[str, Any]]:
    """The records of a batch whose events are too large: what is lost is told."""
    told = [each for each in batch.records if "id" not in each]
    return [*told, {"event": "recordslost", "time": now, "count": batch.size}]
