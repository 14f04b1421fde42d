"""Reads the messages of a bus: the header at once, the arguments when they are first used.

The libraries check every name and wrap every variant, which takes several times as long. A restart of a unit sends
fifty messages, and most of them only report that something may have changed. The layout is that of the D-Bus
specification, chapters "Type System" and "Message Protocol". A bus passes on well-formed messages only; any other ends
the connection.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any, Final

from reactor.watchers.dbus.transport import CallError, NoBusError

_HEADER: Final = 16
_LONGEST: Final = 128 * 1024 * 1024
_ORDERS: Final = {ord("l"): "<", ord("B"): ">"}
_WORDS: Final = {order: struct.Struct(f"{order}I").unpack_from for order in _ORDERS.values()}

_SIGNAL: Final = 4
_PATH, _INTERFACE, _MEMBER, _ERROR_NAME, _REPLY_SERIAL, _SENDER, _SIGNATURE = 1, 2, 3, 4, 5, 7, 8
_NUMBER, _KIND = ord("u"), ord("g")

_NUMBERS: Final = dict(zip("ybnqiuxtdh", "BIhHiIqQdI", strict=True))
"""The types of fixed size, with their codes in `struct`. Each is aligned to its own size."""

_ALIGNED_TO: Final = {
    **{kind: struct.calcsize(f"={code}") for kind, code in _NUMBERS.items()},
    "s": 4,
    "o": 4,
    "a": 4,
    "g": 1,
    "v": 1,
    "(": 8,
    "{": 8,
}


class Message:
    """A message from the bus: the reply to a call, or a signal. Raises NoBusError for a frame that is neither."""

    __slots__ = ("_body", "error_name", "interface", "is_signal", "member", "path", "reply_serial", "sender")

    def __init__(self, frame: bytes) -> None:
        order = _order(frame)
        try:
            fields, end = _fields(frame, _WORDS[order])
        except (struct.error, IndexError, ValueError) as error:
            raise _no_message(error) from error
        self.is_signal = frame[1] == _SIGNAL
        self.path: str = fields.get(_PATH, "")
        self.interface: str = fields.get(_INTERFACE, "")
        self.member: str = fields.get(_MEMBER, "")
        self.sender: str = fields.get(_SENDER, "")
        self.error_name: str | None = fields.get(_ERROR_NAME)
        self.reply_serial: int | None = fields.get(_REPLY_SERIAL)
        self._body: list[Any] | _Arguments = _Arguments(frame, end, order, fields.get(_SIGNATURE, ""))

    @property
    def body(self) -> list[Any]:
        """The arguments, with variants unwrapped. Raises NoBusError as the constructor does."""
        if isinstance(self._body, _Arguments):
            self._body = self._body.read()
        return self._body

    def error(self) -> CallError | None:
        """The error that this reply contains, if there is one."""
        if self.error_name is None:
            return None
        return CallError(self.error_name, str((*self.body, self.error_name)[0]))


def frame_length(buffer: bytearray) -> int:
    """The length of the first message in ``buffer``; while its fixed header is incomplete, the length of that header.

    Raises NoBusError if this is not a message: then the rest of the stream can't be read either.
    """
    if len(buffer) < _HEADER:
        return _HEADER
    body, _, fields = struct.unpack_from(f"{_order(buffer)}III", buffer, 4)
    length = int(_HEADER + fields + (-fields & 7) + body)
    if length > _LONGEST:
        raise _no_message(f"{length} bytes are too many")
    return length


@lru_cache(maxsize=1024)
def complete_types(signature: str) -> tuple[str, ...]:
    """The complete types in a signature, in order: ``a{sv}`` and ``s`` for ``a{sv}s``."""
    types, start, depth = [], 0, 0
    for at, letter in enumerate(signature):
        depth += (letter in "({") - (letter in ")}")
        if depth == 0 and letter != "a":
            types.append(signature[start : at + 1])
            start = at + 1
    return tuple(types)


def _order(frame: bytes | bytearray) -> str:
    if (order := _ORDERS.get(frame[0])) is None:
        raise _no_message("no such byte order")
    return order


def _fields(frame: bytes, word: Any) -> tuple[dict[int, Any], int]:
    """The fields of the header by their codes, and the offset of the body. All are strings, numbers or signatures."""
    fields = {}
    at, end = _HEADER, _HEADER + word(frame, 12)[0]
    while at < end:
        code, kind = frame[at], frame[at + 2]  # between them is the length of the signature; a zero ends it
        at += 4
        if kind == _NUMBER:
            (fields[code],) = word(frame, at)
            at += 4
        else:
            length = frame[at] if kind == _KIND else word(frame, at)[0]
            at += 1 if kind == _KIND else 4
            fields[code] = frame[at : at + length].decode()
            at += length + 1
        at += -at & 7
    return fields, at


def _no_message(why: object) -> NoBusError:
    return NoBusError(f"the bus sent something that is not a D-Bus message: {why}")


class _Arguments:
    """The arguments of a message, read one after the other."""

    __slots__ = ("_at", "_data", "_order", "_signature")

    def __init__(self, data: bytes, at: int, order: str, signature: str) -> None:
        self._data = data
        self._at = at
        self._order = order
        self._signature = signature

    def read(self) -> list[Any]:
        try:
            return [self._value(kind) for kind in complete_types(self._signature)]
        except (struct.error, LookupError, ValueError) as error:
            raise _no_message(error) from error

    def _value(self, kind: str) -> Any:
        """The next value, which is of the complete type ``kind``."""
        first = kind[0]
        if first in "so":
            return self._text(self._number("u"))
        if first in _NUMBERS:
            return self._number(first)
        if first == "a":
            return self._array(kind[1:])
        if first in "({":
            self._align(first)
            return [self._value(each) for each in complete_types(kind[1:-1])]
        text = self._text(self._number("y"))
        return self._value(text) if first == "v" else text

    def _number(self, kind: str) -> Any:
        self._align(kind)
        (value,) = struct.unpack_from(self._order + _NUMBERS[kind], self._data, self._at)
        self._at += _ALIGNED_TO[kind]
        return bool(value) if kind == "b" else value

    def _text(self, length: int) -> str:
        start = self._at
        self._at += length + 1  # a zero ends it
        return self._data[start : start + length].decode()

    def _array(self, item: str) -> list[Any] | dict[Any, Any]:
        length = self._number("u")
        self._align(item[0])
        end = self._at + length
        items = []
        while self._at < end:
            items.append(self._value(item))
        return dict(items) if item[0] == "{" else items

    def _align(self, kind: str) -> None:
        self._at += -self._at % _ALIGNED_TO[kind]
