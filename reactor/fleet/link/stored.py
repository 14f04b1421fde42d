"""A message of a stream, and how answers of JetStream hold it."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from reactor.fleet.link.errors import ApiError, ForeignServerError
from reactor.fleet.wire.headers import NO_HEADERS, parse_headers
from reactor.fleet.wire.parser import Message, printable

_END, _NOT_FOUND = 204, 404


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


def decoded(message: object) -> Stored:
    """Return the message that the leader sent as JSON. Raises ForeignServerError."""
    if not isinstance(message, dict) or not isinstance(message.get("seq"), int):
        raise ForeignServerError("an answer of JetStream has no message")
    try:
        data, block = (base64.b64decode(message.get(name) or "") for name in ("data", "hdrs"))
    except (ValueError, TypeError):
        raise ForeignServerError("an answer of JetStream is not base64") from None
    headers = parse_headers(block).fields if block else NO_HEADERS
    return Stored(str(message.get("subject")), data, headers, message["seq"], _seconds(message.get("time")))


def batch_in(answers: list[Message]) -> list[Message]:
    """Return the messages of a batch, without its end marker. Raises ApiError if that is an error."""
    *found, end = answers
    if end.status not in (_END, _NOT_FOUND):
        raise _refused(end)
    return found


def is_absent(answer: Message) -> bool:
    """Whether the answer says that there is no such message. Raises ApiError for any other error."""
    if answer.status not in (0, _NOT_FOUND):
        raise _refused(answer)
    return answer.status == _NOT_FOUND


def _refused(answer: Message) -> ApiError:
    reason = printable(answer.description) or answer.status
    return ApiError(f"JetStream refuses to read: {reason}", status=answer.status)


def stored_in(answer: Message) -> Stored:
    """Return the message in the answer to a direct request. Raises ForeignServerError."""
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
