"""The headers of a message: name and value pairs after a first line that may hold a status."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

NO_HEADERS: Mapping[str, str] = MappingProxyType({})

_VERSION = "NATS/1.0"
_SPACES = " \t\n\r\v\f"
_NAME = re.compile(r"[!-9;-~]+")
_VALUE_BREAKS = re.compile(r"[\r\n\0]")


class HeaderBlock(NamedTuple):
    """The parsed headers. ``status`` is 0 when the first line holds none."""

    fields: Mapping[str, str]
    status: int
    description: str


def parse_headers(block: bytes) -> HeaderBlock:
    """Parse the headers of a message; of several values of one name the first counts.

    Another client wrote the block and the server does not check it. So malformed lines are left out: an error would
    let that client break the connections of all who receive its message.
    """
    first, *lines = text_of(block).split("\r\n")
    if not first.startswith(_VERSION):
        return HeaderBlock(NO_HEADERS, 0, "")
    number, _, description = first[len(_VERSION) :].strip(_SPACES).partition(" ")
    status = int(number) if len(number) == 3 and number.isascii() and number.isdigit() else 0  # noqa: PLR2004 - as in HTTP
    fields: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if colon and (name := name.strip(_SPACES)):
            fields.setdefault(name, value.strip(_SPACES))
    return HeaderBlock(fields, status, description.strip(_SPACES))


def encode_headers(fields: Mapping[str, str]) -> bytes:
    """Encode headers. Raises ValueError for a name or a value that would end its line, and so forge another header."""
    for name, value in fields.items():
        if not _NAME.fullmatch(name) or _VALUE_BREAKS.search(value):
            raise ValueError(f"not a header: {name!r}: {value!r}")
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"{_VERSION}\r\n{lines}\r\n".encode(errors="surrogateescape")


def text_of(data: bytes) -> str:
    """Decode UTF-8. Invalid bytes become surrogates, as in file names."""
    return data.decode(errors="surrogateescape")
