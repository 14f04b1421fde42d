"""Parses the bytes of a NATS server into operations. All sizes are bounded, whatever the server claims."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from reactor.fleet.wire.headers import NO_HEADERS, parse_headers, text_of

LONGEST_LINE = 64 << 10
"""Bytes. The longest is INFO, with the addresses of all servers of a cluster: 64 KiB are some 2,000."""

LARGEST_MESSAGE = 64 << 20
"""Bytes. The server allows no larger ``max_payload``."""

_SHOWN = 60
_LONGEST_TEXT = 500
_MESSAGE_WORDS = (b"MSG", b"HMSG")
_HEAD = re.compile(rb"(?i:(H)?MSG) \s*(\S+)\s+(\d{1,9})(?:\s+(\S+))?(?(1)\s+(\d{1,9}))\s+(\d{1,9})\s*")
"""The groups after the first: subject, number of the subscription, reply subject, size of the headers, size."""
_DECODER = json.JSONDecoder()


class ProtocolError(Exception):
    """The other side does not speak the protocol of NATS."""


class Message(NamedTuple):
    """A message for the subscription ``sid``. ``status`` is 0, except in messages of the server itself."""

    subject: str
    sid: int
    reply: str | None
    data: bytes
    headers: Mapping[str, str] = NO_HEADERS
    status: int = 0
    description: str = ""


class Info(NamedTuple):
    """The server announces its properties."""

    values: dict[str, Any]


class Ping(NamedTuple):
    """The server asks for a PONG."""


class Pong(NamedTuple):
    """The answer to a PING of the client."""


class ServerError(NamedTuple):
    """The server reports an error. Most often, it then closes the connection."""

    text: str


Operation = Message | Info | Ping | Pong | ServerError


class _Head(NamedTuple):
    """The line before the payload of a message. Sizes are in bytes; ``size`` includes the headers."""

    subject: str
    sid: int
    reply: str | None
    headers_size: int
    size: int


class Parser:
    """Buffers the bytes of an incomplete operation. ``largest``: the size limit of a message in bytes."""

    def __init__(self, largest: int = LARGEST_MESSAGE) -> None:
        self.largest = largest
        self._buffer = bytearray()
        self._at = 0
        self._searched = 0
        self._head: _Head | None = None

    @property
    def pending(self) -> int:
        """The number of buffered bytes of an incomplete operation."""
        return len(self._buffer) - self._at

    def feed(self, data: bytes | bytearray) -> Iterator[Operation]:
        """Yield each operation that ``data`` completes. Raises ProtocolError; the parser is of no use after it."""
        self._buffer += data
        try:
            while (operation := self._next()) is not None:
                if operation is not _NOTHING:
                    yield operation
        finally:
            del self._buffer[: self._at]
            self._searched = max(self._searched - self._at, 0)
            self._at = 0

    def _next(self) -> Operation | None:
        """Return the next operation, None when its end has not come yet."""
        if self._head is None:
            line = self._line()
            if line is None:
                return None
            found = _HEAD.fullmatch(line)
            if found is None:
                return _operation(line)
            self._head = self._checked_head(*found.groups())
        return self._message(self._head)

    def _line(self) -> bytes | None:
        end = self._buffer.find(b"\r\n", max(self._at, self._searched - 1))
        if (len(self._buffer) if end < 0 else end) - self._at > LONGEST_LINE:
            raise ProtocolError(f"a line is longer than {LONGEST_LINE:,} bytes")
        if end < 0:
            self._searched = len(self._buffer)
            return None
        line = bytes(self._buffer[self._at : end])
        self._at = self._searched = end + 2
        return line

    def _checked_head(
        self,
        _: bytes | None,
        subject: bytes,
        sid: bytes,
        reply: bytes | None,
        headers: bytes | None,
        all_: bytes,
    ) -> _Head:
        size, headers_size = int(all_), int(headers or 0)
        if size > self.largest or headers_size > size:
            raise ProtocolError(f"a message of {size:,} bytes, {headers_size:,} of them headers")
        return _Head(
            text_of(subject), int(sid), None if reply is None else text_of(reply), headers_size, size
        )

    def _message(self, head: _Head) -> Message | None:
        start, middle, end = self._at, self._at + head.headers_size, self._at + head.size
        if len(self._buffer) < end + 2:
            return None
        if not self._buffer.startswith(b"\r\n", end):
            raise ProtocolError("a message is longer than its announced size")
        with memoryview(self._buffer) as view:
            headers, data = bytes(view[start:middle]), bytes(view[middle:end])
        self._at = self._searched = end + 2
        self._head = None
        found = parse_headers(headers) if headers else ()
        return Message(head.subject, head.sid, head.reply, data, *found)


_NOTHING = Info({})
"""Stands for `+OK`, which needs no reaction."""


def _operation(line: bytes) -> Operation:
    """Return the operation of a line without payload."""
    first, _, rest = line.partition(b" ")
    word = first.strip().upper()
    if word in _MESSAGE_WORDS:
        raise ProtocolError(f"a malformed line: {word.decode()} {_shown(rest)}")
    match word:
        case b"PING":
            return Ping()
        case b"PONG":
            return Pong()
        case b"+OK":
            return _NOTHING
        case b"-ERR":
            return ServerError(printable(rest.decode(errors="replace").strip().strip("'")))
        case b"INFO":
            return Info(parse_object(rest))
    raise ProtocolError(f"an unknown operation: {_shown(line)}")


def parse_object(data: bytes) -> dict[str, Any]:
    """Parse a JSON object of the server. Raises ProtocolError for anything else."""
    try:
        found = _DECODER.decode(data.decode())
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ProtocolError(f"not a JSON object: {_shown(data)}")
    return found


def printable(text: str) -> str:
    """Return a string of a server, escaped and shortened for a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:_LONGEST_TEXT])


def _shown(data: bytes) -> str:
    """The first bytes of untrusted data, escaped for a terminal."""
    return ascii(data[:_SHOWN].decode(errors="replace").strip())
