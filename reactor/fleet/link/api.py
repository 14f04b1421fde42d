"""The requests of JetStream: publish with acknowledgement, streams, and the last messages of their subjects."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import trio

from reactor.fleet.link.connection import Connection
from reactor.fleet.link.errors import (
    ApiError,
    DeniedError,
    ForeignServerError,
    LinkError,
    MissingError,
    NoAnswerError,
    NoRespondersError,
    TooLargeError,
    WrongRevisionError,
)
from reactor.fleet.link.stored import Stored, decoded, is_absent, stored_in
from reactor.fleet.wire.parser import Message, ProtocolError, parse_object, printable

STREAM_MISSING, MESSAGE_MISSING = 10059, 10037
_SORTS = {10071: WrongRevisionError, 10164: WrongRevisionError, 10054: TooLargeError}
_MISSING = {STREAM_MISSING: "stream", MESSAGE_MISSING: "message"}
_BUSY = 503
T = TypeVar("T")

_FIRST_WAIT, _LONGEST_WAIT = 1.0, 8.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 0.125
_API_PATIENCE = 1.0
"""Seconds after which no answer means that there is no JetStream. Before, a server may have just started."""


class Ack(NamedTuple):
    """The place where a message was stored. ``duplicate``: it was stored already."""

    stream: str
    sequence: int
    duplicate: bool = False


class JetStreamApi:
    """The API of JetStream on a connection. ``seconds``: the time limit of a request with all its repetitions.

    ``first_wait``: seconds until the first repetition.
    """

    def __init__(
        self, connection: Connection, *, seconds: float = 5.0, first_wait: float = _FIRST_WAIT
    ) -> None:
        self.connection = connection
        self.seconds = seconds
        self._first_wait = first_wait
        self._denied: dict[str, tuple[int, DeniedError]] = {}
        self.prefix = connection.options.api_prefix

    # --- publish

    async def publish(
        self,
        subject: str,
        data: bytes,
        *,
        headers: Mapping[str, str] | None = None,
        message_id: str | None = None,
        last: int | None = None,
        stream: str | None = None,
    ) -> Ack:
        """Store a message, and return where. ``last``: the revision that its subject must have now, 0 for none.

        ``stream``: the one that should take it; MissingError at once when it does not exist.
        With ``message_id`` it is sent again while no answer comes: the server stores it once. Without, it is sent once,
        and after a NoAnswerError it is not known whether it is stored. Raises WrongRevisionError, ApiError,
        NoRespondersError (no stream takes the subject, or it has no leader now), DeniedError or DisconnectedError.
        """
        fields = dict(headers or {})
        if last is not None:
            fields["Nats-Expected-Last-Subject-Sequence"] = str(last)
        if message_id is not None:
            fields["Nats-Msg-Id"] = message_id

        attempts = 0

        async def send(seconds: float) -> Ack:
            nonlocal attempts
            attempts += 1
            try:
                answer = await self.connection.request(subject, data, headers=fields, seconds=seconds)
                return acknowledged(answer, subject)
            except NoRespondersError:
                await self.require_stream(stream)
                raise
            except WrongRevisionError:
                sequence = await self._sequence_of(message_id, stream, subject) if attempts > 1 else None
                if sequence is None:
                    raise
                return Ack(stream or "", sequence, duplicate=True)

        return await (self._repeated(send) if message_id is not None else send(self.seconds))

    async def _sequence_of(self, message_id: str | None, stream: str | None, subject: str) -> int | None:
        """Return where a message is stored if it is the last of its subject.

        The server looks at the expected revision before it looks for duplicates, and so refuses the repetition of a
        message that it has stored.
        """
        if stream is None or message_id is None:
            return None
        stored = await self.last_message(stream, subject)
        return stored.sequence if stored and stored.headers.get("Nats-Msg-Id") == message_id else None

    async def require_stream(self, stream: str | None) -> None:
        """Raise MissingError if the stream does not exist, and the user may ask for it."""
        if stream is not None:
            try:
                await self.call(f"STREAM.INFO.{stream}", optional=True)
            except (ApiError, DeniedError, NoAnswerError):
                return

    # --- streams

    async def call(
        self, action: str, body: Mapping[str, Any] | None = None, *, optional: bool = False
    ) -> dict[str, Any]:
        """Call the API of JetStream. Repeats requests that a starting server drops.

        ``optional``: as of `Waiting`; once denied, it is not sent again over this connection, because the server logs each.
        Raises MissingError, ApiError, NoAnswerError, DeniedError or DisconnectedError.
        """
        data = json.dumps(body).encode() if body is not None else b""
        subject = f"{self.prefix}.{action}"
        stream = "".join(action.replace("MSG.GET", "GET").split(".")[2:3]) or action
        epoch = self.connection.epoch
        denied = self._denied.get(subject)
        if optional and denied is not None and denied[0] == epoch:
            raise DeniedError(denied[1].message, denied[1].hint)

        async def send(seconds: float) -> dict[str, Any]:
            answer = await self.connection.request(
                subject, data, seconds=seconds, wildcards=True, optional=optional
            )
            return checked_answer(answer, stream)

        try:
            return await self._repeated(send, silent=_API_PATIENCE)
        except DeniedError as error:
            self._denied[subject] = (epoch, error)
            raise
        except NoRespondersError as error:
            raise NoRespondersError(
                f"JetStream does not answer at the NATS server {self.connection.status.server}",
                "turn it on there with `jetstream {}`, and for the account of this user",
            ) from error

    async def stream_info(self, stream: str) -> dict[str, Any]:
        """Return ``config``, ``state`` and ``cluster`` of a stream. Raises MissingError."""
        return await self.call(f"STREAM.INFO.{stream}")

    async def stream_names(self) -> list[str]:
        """Return the names of all streams of the account."""
        found: list[str] = []
        while True:
            answer = await self.call("STREAM.NAMES", {"offset": len(found)})
            page = answer.get("streams") or []
            found += map(str, page)
            if not page or len(found) >= answer.get("total", 0):
                return found

    async def create_stream(self, name: str, config: Mapping[str, Any]) -> dict[str, Any]:
        """Make a stream, or find one of the same configuration; returns its information."""
        return await self.call(f"STREAM.CREATE.{name}", {"name": name, **config})

    async def update_stream(self, name: str, config: Mapping[str, Any]) -> dict[str, Any]:
        """Replace the configuration of a stream; returns its information."""
        return await self.call(f"STREAM.UPDATE.{name}", {"name": name, **config})

    async def delete_stream(self, name: str) -> None:
        """Delete a stream with all its messages. Raises MissingError."""
        await self.call(f"STREAM.DELETE.{name}")

    async def purge(self, stream: str, subject: str) -> int:
        """Delete the messages of a subject; returns how many."""
        return _number(await self.call(f"STREAM.PURGE.{stream}", {"filter": subject}), "purged")

    # --- single messages, read directly: no consumer is made, and any replica may answer

    async def last_message(self, stream: str, subject: str) -> Stored | None:
        """Return the last message of a subject, None if it has none.

        Raises MissingError for the stream, NoAnswerError, DeniedError or DisconnectedError.
        """
        try:
            answer = await self.asked(f"{self.prefix}.DIRECT.GET.{stream}.{subject}")
        except NoRespondersError as error:
            return await self._last_by_the_leader(stream, subject, error)
        return None if is_absent(answer) else stored_in(answer)

    async def _last_by_the_leader(self, stream: str, subject: str, error: NoRespondersError) -> Stored | None:
        """Read through the leader, for streams that don't allow direct reading.

        Also finds out whether the stream exists.
        """
        try:
            body = {"last_by_subj": subject}
            answer = await self.call(f"STREAM.MSG.GET.{stream}", body, optional=True)
        except DeniedError:
            raise error from None
        except MissingError as missing:
            if "message" in missing.message:
                return None
            raise
        return decoded(answer.get("message"))

    # --- repetition

    async def asked(self, subject: str) -> Message:
        """Return the answer to a request that changes nothing. Raises NoRespondersError after the first attempt."""

        async def send(seconds: float) -> Message:
            return await self.connection.request(subject, seconds=seconds)

        return await self._repeated(send, silent=0.0)

    async def asked_many(self, subject: str, data: bytes) -> list[Message]:
        """Return the answers to a request that changes nothing; the last has a status."""

        async def send(seconds: float) -> list[Message]:
            return await self.connection.request_many(subject, data, seconds=seconds)

        return await self._repeated(send, silent=0.0)

    async def _repeated(self, send: Callable[[float], Awaitable[T]], *, silent: float | None = None) -> T:
        """Repeat a request that is not answered, or that has no leader now. ``silent``: see `_API_PATIENCE`."""
        begun = trio.current_time()
        until = begun + self.seconds
        wait, pause = self._first_wait, _FIRST_PAUSE
        while True:
            left = until - trio.current_time()
            try:
                return await send(max(min(wait, left), 0.01))
            except LinkError as error:
                if not _passes(error) or left <= wait + pause:
                    raise
                if isinstance(error, NoRespondersError) and trio.current_time() - begun > (
                    self.seconds if silent is None else silent
                ):
                    raise
                if isinstance(error, NoAnswerError) and not isinstance(error, NoRespondersError):
                    wait = max(wait, min(2 * wait, _LONGEST_WAIT))
                    continue
            await trio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)


def _passes(error: LinkError) -> bool:
    """Whether the same request may succeed a moment later."""
    return isinstance(error, NoAnswerError) or (isinstance(error, ApiError) and error.status == _BUSY)


def checked_answer(message: Message, what: str) -> dict[str, Any]:
    """Return the answer of the API to a request for ``what``. Raises the error in it, or ForeignServerError."""
    try:
        answer = parse_object(message.data)
    except ProtocolError as fault:
        raise ForeignServerError(f"an answer of JetStream can't be read: {fault}") from None
    error = answer.get("error")
    if error is None:
        return answer
    if not isinstance(error, dict):
        raise ForeignServerError("an answer of JetStream can't be read: its error is not an object")
    text, number, status = (
        printable(str(error.get("description", "?"))),
        error.get("err_code"),
        error.get("code"),
    )
    number, status = (each if isinstance(each, int) else 0 for each in (number, status))
    if number in _MISSING:
        raise MissingError(f"there is no {_MISSING[number]} {what}")
    raise _SORTS.get(number, ApiError)(f"JetStream refuses {what}: {text}", status=status, number=number)


def acknowledged(answer: Message, subject: str) -> Ack:
    """Return where a message was stored, from the answer to it. Raises as `publish` does."""
    if answer.status:
        raise MissingError(f"no stream takes {subject}")
    return _ack(checked_answer(answer, subject))


def _ack(answer: Mapping[str, Any]) -> Ack:
    return Ack(str(answer.get("stream", "")), _number(answer, "seq"), bool(answer.get("duplicate")))


def _number(answer: Mapping[str, Any], name: str) -> int:
    value = answer.get(name)
    if not isinstance(value, int):
        raise ForeignServerError(f"an answer of JetStream has no number {name!r}")
    return value
