"""The file in a compressed file that is not an archive. The compressed file does not contain its name and mode.

The zstd library accepts a truncated file without an error. So this module checks that the frames are complete: see
frames and blocks in RFC 8878, section 3.1. It reads only their headers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from reactor.unpacking.compression import decompressed
from reactor.unpacking.members import Member, MemberType, UnpackingError

_MAGIC = 0xFD2FB528
_SKIPPABLE = 0x184D2A50
_RLE = 1
_DICTIONARY_SIZES = (0, 1, 2, 4)
_CONTENT_SIZES = (0, 2, 4, 8)


def require_whole_frames(file: IO[bytes]) -> None:
    """Raise UnpackingError unless complete frames fill ``file``. Leaves its position at the start."""
    end = file.seek(0, os.SEEK_END)
    position = file.seek(0)
    while position < end:
        position = file.seek(_end_of_frame(file))
        if position > end:
            raise _cut_short()
    file.seek(0)


def _end_of_frame(file: IO[bytes]) -> int:
    magic = _number(file, 4)
    if magic & ~0xF == _SKIPPABLE:
        return _number(file, 4) + file.tell()
    if magic != _MAGIC:
        raise UnpackingError("the file is damaged: it is not, or not only, compressed by zstd")
    descriptor = _number(file, 1)
    is_single_segment = bool(descriptor & 0x20)
    content_size = _CONTENT_SIZES[descriptor >> 6] or int(is_single_segment)
    file.seek((not is_single_segment) + _DICTIONARY_SIZES[descriptor & 3] + content_size, os.SEEK_CUR)
    is_last = False
    while not is_last:
        header = _number(file, 3)
        is_last = bool(header & 1)
        file.seek(1 if header >> 1 & 3 == _RLE else header >> 3, os.SEEK_CUR)
    has_checksum = bool(descriptor & 0x4)
    return file.tell() + 4 * has_checksum


def _number(file: IO[bytes], size: int) -> int:
    data = file.read(size)
    if len(data) < size:
        raise _cut_short()
    return int.from_bytes(data, "little")


def _cut_short() -> UnpackingError:
    return UnpackingError("the file is damaged or cut short: its end is missing")


@dataclass(frozen=True, slots=True)
class SingleFile:
    """The name and the permission bits of the file."""

    name: str
    mode: int = 0o644


def members_of_single(file: IO[bytes], archive_format: str, single: SingleFile) -> Iterator[Member]:
    """Yield the file in ``file`` as a member.

    Raises UnpackingError for a truncated zstd file, which the library accepts.
    """
    if os.fstat(file.fileno()).st_size == 0:
        raise UnpackingError("the compressed file is empty: not even its header is there")
    if archive_format == "zst":
        require_whole_frames(file)
    yield Member(
        single.name,
        MemberType.FILE,
        single.mode,
        content=lambda: decompressed(file, archive_format),
    )
