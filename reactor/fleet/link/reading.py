"""Reads a stream in order, each message once: an ordered consumer that is renewed whenever it may be gone."""

from __future__ import annotations

import math
import secrets
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Literal

import trio

from reactor.fleet.link.api import JetStreamApi
from reactor.fleet.link.errors import (
    ApiError,
    DeniedError,
    DisconnectedError,
    LinkError,
    MissingError,
    NoAnswerError,
)
from reactor.fleet.link.queues import Messages
from reactor.fleet.link.status import Status
from reactor.fleet.link.stored import Stored
from reactor.fleet.wire import commands
from reactor.fleet.wire.parser import Message

Start = Literal["all", "last_per_subject", "new"]

_ADVISORY = "$JS.EVENT.ADVISORY.STREAM"
_RENEWING = {"CREATED", "DELETED", "LEADER_ELECTED"}
"""The advisories of a stream after which its consumers may be gone."""
_CONTROL = 100
_INACTIVE = 60
_MISSED_HEARTBEATS = 2.2
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 5.0
_GRACE = 2.0
"""Seconds for which a known stream may be missing: a starting cluster does not know all its streams yet."""
_WAITS = {408, 500, 503}
ONCE = 3.0
"""The patience in seconds of who reads what is there now, and ends."""


class Reader:
    """Iterate: each step gives a message, and once None, when all that was there at the start has been read.

    Raises MissingError when the stream is not there, DeniedError, or ApiError; the next step tries again.
    """

    def __init__(
        self,
        js: JetStreamApi,
        stream: str,
        subjects: Sequence[str] = (),
        *,
        start: Start = "last_per_subject",
        headers_only: bool = False,
        heartbeat: float = 10.0,
        since: float | None = None,
        patience: float = math.inf,
        lasting: bool = False,
    ) -> None:
        """``subjects``: filters, none for all. ``heartbeat``: seconds between signs of life of a silent stream.

        ``since``: with the start ``all``, leave out what was stored before, in seconds since 1970. ``patience``: seconds
        for which servers that do not answer are asked again; then a step raises their error. ``lasting``: without limit
        once all that was there at the start has been read.
        """
        self._js = js
        self._stream = stream
        self._subjects = tuple(subjects) or ((">",) if start == "last_per_subject" else ())
        self._start: Start = start
        self._since = since
        self._headers_only = headers_only
        self._heartbeat = heartbeat
        self._patience = patience
        self._lasting = lasting
        self._messages = Messages()
        self._last = 0
        self._expected = 1
        self._created: object = None
        self._consumer = ""
        self._fresh = False
        self._was_last = False
        self._through = False
        self._epoch = -1
        self._attempt: trio.CancelScope | None = None
        self._consumer_held = ExitStack()
        self._held = ExitStack()
        self._held.enter_context(js.connection.watched(self._moved))
        advisory = f"{_ADVISORY}.*.{stream}"
        self._held.enter_context(js.connection.subscribed(advisory, self._advised, optional=True))

    def __aiter__(self) -> Reader:
        return self

    async def __anext__(self) -> Stored | None:
        while True:
            if not self._fresh:
                self._was_last = not await self._renew()
            if self._was_last and not self._through:
                self._through = True
                return None
            message = await self._message()
            if message is not None and (stored := self._read(message)) is not None:
                return stored

    def close(self) -> None:
        """End it."""
        self._drop()
        self._held.close()

    # --- the consumer

    async def _renew(self) -> int:
        """Make a consumer that goes on after the last message read; returns how many messages it has."""
        pauses = _doubling(_FIRST_PAUSE, _LONGEST_PAUSE)
        missing = _Missing()
        until = trio.current_time() + (math.inf if self._lasting and self._through else self._patience)
        while True:
            await self._connected(until)
            with trio.CancelScope() as self._attempt:
                try:
                    return await self._make()
                except MissingError:
                    if self._created is None or missing.too_long():
                        self._last = 0
                        self._created = None
                        raise
                except LinkError as error:
                    if not _passes(error) or trio.current_time() >= until:
                        raise
                await trio.sleep(next(pauses))

    async def _connected(self, until: float) -> None:
        """Wait for a connection. Raises DisconnectedError if there is none ``until`` then."""
        connection = self._js.connection
        with trio.move_on_at(until):
            await connection.wait_up()
            return
        raise DisconnectedError(f"there is no connection to the NATS server {connection.status.server}")

    async def _make(self) -> int:
        self._drop()
        connection = self._js.connection
        await self._check_identity()
        self._epoch = connection.epoch
        self._messages = messages = Messages()
        self._expected = 1
        deliver = connection.inbox("r")
        self._consumer_held.enter_context(connection.subscribed(deliver, messages.put))
        name = secrets.token_hex(8)
        self._consumer = name
        filtered = f".{self._subjects[0]}" if len(self._subjects) == 1 else ""
        body = {"stream_name": self._stream, "config": self._config(name, deliver)}
        self._fresh = True
        try:
            answer = await self._js.call(f"CONSUMER.CREATE.{self._stream}.{name}{filtered}", body)
        except BaseException:
            self._fresh = False
            raise
        pending = answer.get("num_pending")
        return pending if isinstance(pending, int) else 0

    async def _check_identity(self) -> None:
        """Begin again if the stream was deleted and made again: its sequence numbers start again, too."""
        try:
            created = (await self._js.stream_info(self._stream)).get("created")
        except DeniedError:
            return
        if self._created not in (None, created):
            self._last = 0
            self._start = "all" if self._start == "new" else self._start
        self._created = created

    def _config(self, name: str, deliver: str) -> dict[str, Any]:
        start: dict[str, Any] = {"deliver_policy": self._start}
        if self._start == "all" and self._since is not None:
            begin = datetime.fromtimestamp(self._since, UTC).isoformat()
            start = {"deliver_policy": "by_start_time", "opt_start_time": begin}
        if self._last:
            start = {"deliver_policy": "by_start_sequence", "opt_start_seq": self._last + 1}
        filters: dict[str, Any] = {"filter_subjects": self._subjects} if len(self._subjects) > 1 else {}
        if len(self._subjects) == 1:
            filters = {"filter_subject": self._subjects[0]}
        return {
            "name": name,
            "deliver_subject": deliver,
            "ack_policy": "none",
            "max_deliver": 1,
            "flow_control": True,
            "idle_heartbeat": int(self._heartbeat * 1e9),
            "inactive_threshold": int(_INACTIVE * 1e9),
            "mem_storage": True,
            "num_replicas": 1,
            "replay_policy": "instant",
            "headers_only": self._headers_only,
            **start,
            **filters,
        }

    def _drop(self) -> None:
        """Forget the consumer, and delete it on the server, which limits their number."""
        self._fresh = False
        self._consumer_held.close()
        name, self._consumer = self._consumer, ""
        connection = self._js.connection
        if name and connection.up:
            subject = f"{self._js.prefix}.CONSUMER.DELETE.{self._stream}.{name}"
            connection.outbox.add(commands.publish(subject, b"", reply=connection.inbox()))

    # --- doubts

    def _moved(self, _status: Status) -> None:
        """There is a new connection, or the cluster has changed: the consumer may be gone."""
        self._doubt()

    def _advised(self, message: Message) -> None:
        if message.subject.split(".")[4] in _RENEWING:
            self._doubt()

    def _doubt(self) -> None:
        self._fresh = False
        self._messages.wake()
        if self._attempt is not None:
            self._attempt.cancel()

    # --- messages

    async def _message(self) -> Message | None:
        """Return the next message, None when the consumer may be gone."""
        if self._messages.lost and not self._messages:
            self._fresh = False
            return None
        with trio.move_on_after(self._heartbeat * _MISSED_HEARTBEATS) as silence:
            return await self._messages.get()
        if silence.cancelled_caught:
            self._fresh = False
        return None

    def _read(self, message: Message) -> Stored | None:
        """Parse a message of the consumer; None if it is not the next one."""
        if message.status:
            self._control(message)
            return None
        numbers = _numbers(message.reply)
        if numbers is None:
            return None
        sequence, consumed, nanoseconds, pending = numbers
        if consumed != self._expected or self._epoch != self._js.connection.epoch:
            self._fresh = False
            return None
        self._expected += 1
        self._last = sequence
        self._was_last = not pending
        return Stored(message.subject, message.data, message.headers, sequence, nanoseconds / 1e9, pending)

    def _control(self, message: Message) -> None:
        """Answer flow control, and see from a heartbeat whether a message is missing."""
        for reply in (message.reply, message.headers.get("Nats-Consumer-Stalled")):
            if reply:
                self._reply(reply)
        delivered = message.headers.get("Nats-Last-Consumer", "")
        behind = delivered.isdecimal() and int(delivered) >= self._expected
        if message.status != _CONTROL or behind:
            self._fresh = False

    def _reply(self, subject: str) -> None:
        connection = self._js.connection
        if connection.up:
            try:
                connection.outbox.add(commands.publish(subject, b""))
            except ValueError:
                self._fresh = False


@asynccontextmanager
async def reading(
    js: JetStreamApi, stream: str, subjects: Sequence[str] = (), **how: Any
) -> AsyncIterator[Reader]:
    """Yield a reader of a stream: see `Reader`, also for ``how``."""
    reader = Reader(js, stream, subjects, **how)
    try:
        yield reader
    finally:
        reader.close()


class _Missing:
    """Measures how long a stream has been missing."""

    def __init__(self) -> None:
        self._since: float | None = None

    def too_long(self) -> bool:
        """Note that the stream is missing now. Return whether it is considered deleted."""
        now = trio.current_time()
        self._since = now if self._since is None else self._since
        return now - self._since > _GRACE


def _doubling(first: float, longest: float) -> Iterator[float]:
    while True:
        yield first
        first = min(2 * first, longest)


def _passes(error: LinkError) -> bool:
    """Whether the same request may succeed later."""
    return isinstance(error, NoAnswerError | DisconnectedError) or (
        isinstance(error, ApiError) and error.status in _WAITS
    )


def _numbers(reply: str | None) -> tuple[int, int, int, int] | None:
    """Return sequence in the stream, in the consumer, nanoseconds since 1970, and pending; None if it is not ours.

    ``$JS.ACK.STREAM.CONSUMER.DELIVERED.``, then these; in the later form domain and account come after ``ACK``.
    """
    words = (reply or "").split(".")
    first = {9: 5, 11: 7, 12: 7}.get(len(words))
    numbers = words[first : first + 4] if first and words[:2] == ["$JS", "ACK"] else []
    if not numbers or not all(each.isascii() and each.isdigit() and len(each) < 20 for each in numbers):  # noqa: PLR2004
        return None
    sequence, consumed, nanoseconds, pending = map(int, numbers)
    return sequence, consumed, nanoseconds, pending
