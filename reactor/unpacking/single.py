"""What is in a compressed file that is no archive: one file, whose name and mode it does not say."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from reactor.unpacking.compression import decompressed
from reactor.unpacking.members import Member, MemberType, UnpackingError
from reactor.unpacking.zstd_frames import require_whole_frames


@dataclass(frozen=True, slots=True)
class SingleFile:
    """The name, and the permission bits, of the one file that comes out."""

    name: str
    mode: int = 0o644


def members_of_single(file: IO[bytes], archive_format: str, single: SingleFile) -> Iterator[Member]:
    """The one file in ``file``, as a member. Raises UnpackingError for what is cut short, where its library does not."""
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
