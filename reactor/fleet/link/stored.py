"""Single messages of a stream, read directly: no consumer is made, and any replica may answer."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import NamedTuple

from reactor.fleet.link.errors import (
    ApiError,
    DeniedError,
    ForeignServerError,
    MissingError,
    NoRespondersError,
)
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.wire.headers import NO_HEADERS, parse_headers
from reactor.fleet.wire.parser import Message, printable

_END, _NOT_FOUND, _TOO_MANY = 204, 404, 413
_PAGE = 1000


class Stored(NamedTuple):
    """A message of a stream.

    ``time``: seconds since 1970, 0 if unknown; ``pending``: the number of further messages, if known.
    """

    subject: str
    data: bytes
    headers: Mapping[str, str]
    sequence: int
    time: float = 0.0
    pending: int = 0


async def last_message(js: JetStream, stream: str, subject: str) -> Stored | None:
    """Return the last message of a subject, None if it has none.

    Raises MissingError for the stream, NoAnswerError, DeniedError or DisconnectedError.
    """
    try:
        answer = await js.asked(f"{js.prefix}.DIRECT.GET.{stream}.{subject}")
    except NoRespondersError as error:
        return await _last_by_the_leader(js, stream, subject, error)
    return None if _absent(answer) else _stored(answer)


async def last_messages(js: JetStream, stream: str, subjects: Sequence[str]) -> list[Stored]:
    """Return the last message of each subject that matches one of ``subjects``, by sequence number.

    The server gives at most 1,024 at once; of more, all messages are read in pages.
    """
    body = {"multi_last": list(subjects), "batch": _PAGE + 24}
    answers = await js.asked_many(f"{js.prefix}.DIRECT.GET.{stream}", json.dumps(body).encode())
    if answers[-1].status != _TOO_MANY:
        return [_stored(each) for each in _batch(answers)]
    newest: dict[str, Stored] = {}
    for subject in subjects:
        async with aclosing(messages_from(js, stream, subject)) as messages:
            async for each in messages:
                if each.sequence > newest.get(each.subject, _NONE).sequence:
                    newest[each.subject] = each
    return sorted(newest.values(), key=lambda each: each.sequence)


async def messages_from(
    js: JetStream,
    stream: str,
    subject: str,
    sequence: int = 1,
    *,
    page: int = _PAGE,
    most_bytes: int = 4 << 20,
) -> AsyncGenerator[Stored, None]:
    """Yield the messages of a subject from a sequence number on, up to the last, in pages of ``page`` messages."""
    while True:
        body = {"seq": sequence, "next_by_subj": subject, "batch": page, "max_bytes": most_bytes}
        answers = await js.asked_many(f"{js.prefix}.DIRECT.GET.{stream}", json.dumps(body).encode())
        found = [_stored(each) for each in _batch(answers)]
        for each in found:
            yield each
        if not found or answers[-1].headers.get("Nats-Num-Pending") == "0":
            return
        if found[-1].sequence < sequence:
            raise ForeignServerError("an answer of JetStream goes backwards")
        sequence = found[-1].sequence + 1


_NONE = Stored("", b"", NO_HEADERS, 0)


async def _last_by_the_leader(
    js: JetStream, stream: str, subject: str, error: NoRespondersError
) -> Stored | None:
    """Read through the leader, for streams that don't allow direct reading.

    Also finds out whether the stream exists.
    """
    try:
        answer = await js.call(f"STREAM.MSG.GET.{stream}", {"last_by_subj": subject})
    except DeniedError:
        raise error from None
    except MissingError as missing:
        if "message" in missing.message:
            return None
        raise
    return _decoded(answer.get("message"))


def _decoded(message: object) -> Stored:
    if not isinstance(message, dict) or not isinstance(message.get("seq"), int):
        raise ForeignServerError("an answer of JetStream has no message")
    try:
        data, block = (base64.b64decode(message.get(name) or "") for name in ("data", "hdrs"))
    except (ValueError, TypeError):
        raise ForeignServerError("an answer of JetStream is no base64") from None
    headers = parse_headers(block).fields if block else NO_HEADERS
    return Stored(str(message.get("subject")), data, headers, message["seq"], _seconds(message.get("time")))


def _batch(answers: list[Message]) -> list[Message]:
    """Return the messages of a batch, without its end marker. Raises ApiError if that is an error."""
    *found, end = answers
    if end.status not in (_END, _NOT_FOUND):
        raise ApiError(
            f"JetStream refuses to read: {printable(end.description) or end.status}", status=end.status
        )
    return found


def _absent(answer: Message) -> bool:
    if answer.status not in (0, _NOT_FOUND):
        raise ApiError(
            f"JetStream refuses to read: {printable(answer.description) or answer.status}",
            status=answer.status,
        )
    return answer.status == _NOT_FOUND


def _stored(answer: Message) -> Stored:
    headers = answer.headers
    sequence, pending = headers.get("Nats-Sequence", ""), headers.get("Nats-Num-Pending", "0")
    if not (sequence.isascii() and sequence.isdigit() and pending.isascii() and pending.isdigit()):
        raise ForeignServerError("an answer of JetStream has no sequence number")
    subject = headers.get("Nats-Subject", "")
    return Stored(
        subject, answer.data, headers, int(sequence), _seconds(headers.get("Nats-Time-Stamp")), int(pending)
    )


def _seconds(time: object) -> float:
    """Return seconds since 1970 of a time in RFC 3339."""
    try:
        return datetime.fromisoformat(str(time)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
