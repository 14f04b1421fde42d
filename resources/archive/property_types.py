"""Property types of archives: URLs, header fields, sizes."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from reactor import ARCHIVE_SUFFIXES, AbsolutePath, archive_format, register_header_secrets, single_name
from reactor.resources.download.source import http_filename
from reactor.resources.file.property_types import parse_mode

_ENDS = f"{', '.join(ARCHIVE_SUFFIXES[:-1])} or {ARCHIVE_SUFFIXES[-1]}"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([kKMGT]i?B?|B?)")
_ALWAYS, _AT_MOST = 0o600, 0o755
"""The permission bits that an unpacked file must have, and may have."""
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def _check_url(text: str) -> str:
    if archive_format(http_filename(text)) is None:
        raise ValueError(f"the filename in the url must end in {_ENDS}")
    return text


def _check_name(path: str) -> str:
    if archive_format(path) is None:
        raise ValueError(f"the name must end in {_ENDS}")
    if single_name(path) in ("", ".", ".."):
        raise ValueError("the name must have, before its ending, the name of the file in it")
    return path


def _check_mode(text: str) -> str:
    mode = parse_mode(text)
    if mode & _ALWAYS != _ALWAYS or mode & ~_AT_MOST:
        raise ValueError(
            f"mode {text!r} must let its owner read and write, and no other user write: 0644, 0755"
        )
    return text


def _check_headers(headers: dict[str, str]) -> dict[str, str]:
    register_header_secrets(headers)
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name):
            raise ValueError(f"{name!r} is not a valid name of a header field")
        if not (value.isascii() and value.isprintable()):
            raise ValueError(f"the value of {name} must be one line of ASCII text")
    return headers


def _parse_size(value: Any) -> int:
    """Bytes in ``500MB``, ``2GiB`` or ``1048576``; k, M, G and T alone are powers of 1024. Raises ValueError."""
    match = _SIZE.fullmatch(str(value))
    size = 0
    if match is not None:
        unit = match[2].removesuffix("B")
        base = 1000 if match[2].endswith("B") and "i" not in unit else 1024
        size = int(float(match[1]) * base ** _POWERS[unit.removesuffix("i").upper()])
    if size <= 0:
        raise ValueError(f"{value!r} is not a size: write it as 500MB, 2GiB or a number of bytes")
    return size


ArchiveUrl = Annotated[str, AfterValidator(_check_url)]
"""An http or https URL of an archive that can be unpacked. Its credentials become secrets."""

ArchivePath = Annotated[AbsolutePath, AfterValidator(_check_name)]
"""The path of an archive."""

Headers = Annotated[dict[str, str], AfterValidator(_check_headers)]
"""Header fields. Values that look like credentials become secrets."""

Size = Annotated[int, BeforeValidator(_parse_size), WithJsonSchema({"type": ["string", "integer"]})]
"""Bytes."""

UnpackedMode = Annotated[str, AfterValidator(_check_mode)]
"""Permissions of the file unpacked from a compressed file, in octal."""

Count = Annotated[int, Field(gt=0)]
"""One or more."""
