"""Copies whole streams out of a server and into one, as snapshots: with sequences, times, headers and deleted messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import trio

from reactor.fleet.link.api import JetStreamApi, checked_answer
from reactor.fleet.link.connection import NO_RESPONDERS
from reactor.fleet.link.errors import ApiError, DisconnectedError, ForeignServerError, NoAnswerError
from reactor.fleet.link.queues import Messages
from reactor.fleet.wire.parser import Message, printable

CHUNK = 128 << 10
"""Bytes that are sent in one message: every server takes that."""
_IN_FLIGHT = 16
_WINDOW = 1 << 20
"""Bytes that a server sends before it is told that some have arrived. It ends a connection that needs 10 s for them."""
_UNKNOWN_FIELD = 10025
_PATIENCE = 30.0
"""Seconds for each answer of the server. It has none to give while it reads or writes a disk that is busy."""
_SILENCE = 3.0
"""Seconds of silence after which the leader of the stream is asked for."""
_SILENCES = round(_PATIENCE / _SILENCE)
_FIRST_WAIT = 5.0
_END = 204
_RESTORES = "$JS.SNAPSHOT.RESTORE."


class Snapshot(NamedTuple):
    """The configuration and the state of a stream when it was saved, as the server gives them."""

    config: Mapping[str, Any]
    state: Mapping[str, Any]


class _Talk:
    """The messages of one snapshot. It ends with the connection: what was sent on another one does not belong to it."""

    def __init__(self, js: JetStreamApi, stream: str, inbox: str, messages: Messages) -> None:
        self.inbox = inbox
        self.connection = js.connection
        self._js = js
        self._stream = stream
        self._messages = messages
        self._epoch = js.connection.epoch

    async def ask(self, action: str, body: Mapping[str, Any], *, first_wait: float) -> dict[str, Any]:
        """Return the answer to the request that begins it."""
        api = JetStreamApi(self.connection, seconds=_PATIENCE, first_wait=first_wait)
        return await api.call(f"STREAM.{action}.{self._stream}", body)

    async def next(self, leader: str = "") -> Message:
        """Return the next message. Raises ApiError for one that is an error, DisconnectedError, NoAnswerError.

        ``leader``: the server from which it comes, if that is one of a cluster. It may be another than that of the
        connection, so its end is noticed only by the election of the next one.
        """
        server = self.connection.status.server
        for _ in range(_SILENCES):
            with trio.move_on_after(_SILENCE):
                return await self._message(server)
            if leader and await _leader_of(self._js, self._stream) not in (leader, None):
                raise ApiError(f"the NATS server {leader} was lost amid the stream {self._stream}")
        raise NoAnswerError(
            f"the NATS server {server} says nothing for {_PATIENCE:g} s amid the stream {self._stream}",
        )

    async def _message(self, server: str) -> Message:
        while (message := await self._messages.get()) is None:
            if self._messages.lost or not self.connection.up or self.connection.epoch != self._epoch:
                words = f"the connection to the NATS server {server} was lost amid the stream {self._stream}"
                raise DisconnectedError(words)
        if message.status == NO_RESPONDERS:
            raise ApiError(f"the NATS server {server} does not take the stream {self._stream} any more")
        if message.status not in (0, _END):
            reason = printable(message.description) or message.status
            raise ApiError(f"the NATS server {server} ends amid the stream {self._stream}: {reason}")
        return message


@contextmanager
def _talking(js: JetStreamApi, stream: str) -> Iterator[_Talk]:
    inbox = js.connection.inbox("s")
    with js.connection.messages(inbox) as messages, js.connection.watched(lambda _: messages.wake()):
        yield _Talk(js, stream, inbox, messages)


async def save_stream(js: JetStreamApi, stream: str, write: Callable[[bytes], object]) -> Snapshot:
    """Give the snapshot of a stream to ``write``, piece by piece. Raises MissingError, LinkError."""
    leader = await _leader_of(js, stream) or ""
    with _talking(js, stream) as talk:
        answer = await _begun(talk)
        config, state = answer.get("config"), answer.get("state")
        if not isinstance(config, dict) or not isinstance(state, dict):
            raise ForeignServerError(f"the server does not say what the stream {stream} is")
        while (message := await talk.next(leader)).data:
            write(message.data)
            if message.reply:
                await talk.connection.publish(message.reply)
        return Snapshot(config, state)


async def _leader_of(js: JetStreamApi, stream: str) -> str | None:
    """The server that leads a stream; an empty string where none is elected or needed, None where no server says it."""
    try:
        info = await js.stream_info(stream)
    except (NoAnswerError, ApiError):
        return None
    return str((info.get("cluster") or {}).get("leader") or "")


async def _begun(talk: _Talk) -> dict[str, Any]:
    """Let the server begin to send. It is asked once: a repeated request would begin a second snapshot to the same inbox.

    Some versions know no window, and may refuse a request with one.
    """
    body = {"deliver_subject": talk.inbox, "no_consumers": True, "chunk_size": CHUNK}
    try:
        return await talk.ask("SNAPSHOT", {**body, "window_size": _WINDOW}, first_wait=_PATIENCE)
    except ApiError as error:
        if error.number != _UNKNOWN_FIELD:
            raise
    return await talk.ask("SNAPSHOT", body, first_wait=_PATIENCE)


async def restore_stream(js: JetStreamApi, stream: str, saved: Snapshot, pieces: Iterable[bytes]) -> None:
    """Make a stream of a snapshot. ``pieces``: at most `CHUNK` bytes each. Raises ApiError if it is there, LinkError."""
    with _talking(js, stream) as talk:
        answer = await talk.ask("RESTORE", saved._asdict(), first_wait=_FIRST_WAIT)
        subject = str(answer.get("deliver_subject"))
        if not subject.startswith(_RESTORES):
            raise ForeignServerError(f"the server does not say where it takes the stream {stream}")
        waiting = 0
        for piece in pieces:
            await talk.connection.publish(subject, piece, reply=talk.inbox)
            waiting += 1
            if waiting >= _IN_FLIGHT:
                _require_taken(await talk.next(), stream)
                waiting -= 1
        await talk.connection.publish(subject, reply=talk.inbox)
        for _ in range(waiting):
            _require_taken(await talk.next(), stream)
        state = checked_answer(await talk.next(), stream).get("state")
        if not isinstance(state, dict) or state.get("last_seq") != saved.state.get("last_seq"):
            raise ApiError(
                f"the NATS server {js.connection.status.server} has only a part of the stream {stream}"
            )


def _require_taken(answer: Message, stream: str) -> None:
    """Raise ApiError if the server refuses a piece. Else its answer is empty."""
    if answer.data:
        checked_answer(answer, stream)
