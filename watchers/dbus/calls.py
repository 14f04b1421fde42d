"""Writes the calls that are sent to a bus.

The libraries check every name and take sixty microseconds for a call. A check of a unit sends five, and a run asks about
hundreds of units. The layout is that of the D-Bus specification, chapters "Type System" and "Message Protocol".
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

from reactor.watchers.dbus.wire import complete_types

_HEADER: Final = struct.Struct("<BBBBIII").pack
_LITTLE_ENDIAN, _METHOD_CALL, _VERSION = ord("l"), 1, 1
_NO_REPLY_EXPECTED: Final = 1
_NUMBER: Final = struct.Struct("<I").pack
_FIELD: Final = struct.Struct("<BBcBI").pack
"""The beginning of a field of the header: its code, its signature, and the length of its text."""

_PATH, _INTERFACE, _MEMBER, _DESTINATION, _SIGNATURE = 1, 2, 3, 6, 8


def call_frame(
    serial: int, target: Sequence[str], signature: str, body: Sequence[Any], *, wants_reply: bool
) -> bytes:
    """The bytes of a call. ``target``: destination, path, interface and member.

    ``body``: texts, booleans, numbers from 0 on, and lists of texts. Raises TypeError or ValueError when it does not
    fit the signature.
    """
    destination, path, interface, member = target
    arguments = _arguments(signature, body)
    fields = bytearray()
    for field in (_field(_PATH, b"o", path), *_named_fields(interface, member, destination, signature)):
        fields += bytes(-len(fields) % 8) + field
    flags = 0 if wants_reply else _NO_REPLY_EXPECTED
    header = _HEADER(_LITTLE_ENDIAN, _METHOD_CALL, flags, _VERSION, len(arguments), serial, len(fields))
    return b"".join((header, fields, bytes(-len(fields) % 8), arguments))


@lru_cache(maxsize=256)
def _named_fields(interface: str, member: str, destination: str, signature: str) -> tuple[bytes, ...]:
    """The fields of the header that are the same for many objects."""
    named = ((_INTERFACE, interface), (_MEMBER, member), (_DESTINATION, destination))
    fields = tuple(_field(code, b"s", name) for code, name in named)
    if not signature:
        return fields
    return *fields, bytes((_SIGNATURE, 1, ord("g"), 0, len(signature))) + _text_of(signature)


def _field(code: int, kind: bytes, value: str) -> bytes:
    text = _text_of(value)
    return _FIELD(code, 1, kind, 0, len(text) - 1) + text


def _arguments(signature: str, body: Sequence[Any]) -> bytearray:
    found = bytearray()
    for kind, value in zip(complete_types(signature), body, strict=True):
        _align(found)
        if kind == "s":
            _add_text(found, value)
        elif kind == "as":
            texts = _texts(value)
            found += _NUMBER(len(texts)) + texts
        elif kind == "b":
            found += _NUMBER(bool(value))
        elif kind == "u":
            found += _number(value)
        else:
            raise ValueError(f"no call has arguments of the type {kind}")
    return found


def _texts(values: Iterable[Any]) -> bytearray:
    """The items of an array: it begins at a multiple of four, as each of them."""
    found = bytearray()
    for value in values:
        _align(found)
        _add_text(found, value)
    return found


def _add_text(found: bytearray, value: Any) -> None:
    text = _text_of(value)
    found += _NUMBER(len(text) - 1)
    found += text


def _number(value: Any) -> bytes:
    try:
        return _NUMBER(value)
    except struct.error as error:
        raise ValueError(str(error)) from error


def _text_of(value: Any) -> bytes:
    """A text and the zero that ends it. The bus hangs up on a text with a zero within."""
    if not isinstance(value, str) or "\0" in value:
        raise ValueError(f"not a text for the bus: {value!r}")
    return value.encode() + b"\0"


def _align(found: bytearray) -> None:
    """Fill up to a multiple of four."""
    found += bytes(-len(found) % 4)
