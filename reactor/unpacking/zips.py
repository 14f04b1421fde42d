"""The members of a zip archive, one by one, in the order of the archive's directory."""

from __future__ import annotations

import io
import stat
import time
import zipfile
from collections.abc import Iterator
from functools import partial
from typing import IO, cast

from reactor.unpacking.members import Member, MemberType, UnpackingError, UnpackingLimits, unsupported

_LONGEST_TARGET = 4096
_MOST_OF_AN_ENTRY = 256
"""The average bytes that a directory entry may have: 46, plus a name and a few attributes."""
_SPARE = 128 * 1024
_LEAST_HEADER = 30
"""The bytes of the header before a member's content, without its name and attributes."""
_ENCRYPTED = 0x1
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
"""The compression methods whose memory use does not depend on the archive."""


class _Guarded(io.RawIOBase):
    """The file that `zipfile` reads. `zipfile` reads the whole directory of the archive at once, so reads are limited.

    `zipfile` seeks to any offset in the archive. An invalid offset is an error of the archive, not of the disk.
    """

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._file = file
        self._most = most
        self._size = file.seek(0, io.SEEK_END)

    def read(self, size: int = -1) -> bytes:
        """Return ``size`` bytes, or the rest. Raises UnpackingError for more than the limit."""
        data = self._file.read(self._most + 1 if size < 0 else min(size, self._most + 1))
        if len(data) > self._most:
            words = "the directory of the archive is too large"
            raise UnpackingError(words, "raise the limit of members", limit="members")
        return data

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Seek as in any file. Raises BadZipFile for a position outside the file."""
        if whence == io.SEEK_SET and not 0 <= offset <= self._size:
            raise zipfile.BadZipFile("an offset in it leads to outside of the file")
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Return the position as in any file."""
        return self._file.tell()

    def seekable(self) -> bool:
        """Return True: the stream is seekable."""
        return True


def members_of_zip(file: IO[bytes], limits: UnpackingLimits) -> Iterator[Member]:
    """Yield the members of the archive in ``file``."""
    guarded = _Guarded(file, limits.members * _MOST_OF_AN_ENTRY + _SPARE)
    with zipfile.ZipFile(cast("IO[bytes]", guarded)) as archive:
        members = archive.infolist()
        _refuse_overlaps(members, archive.start_dir)
        for info in members:
            yield _member(archive, info)


def _refuse_overlaps(members: list[zipfile.ZipInfo], directory: int) -> None:
    """Raise BadZipFile if members overlap each other, or the directory, which begins at ``directory``."""
    members = sorted(members, key=lambda info: info.header_offset)
    ends = [info.header_offset + _LEAST_HEADER + info.compress_size for info in members]
    begins = [*(info.header_offset for info in members[1:]), directory]
    for info, end, following in zip(members, ends, begins, strict=False):
        if end > following:
            raise zipfile.BadZipFile(f"{info.orig_filename!r} in it runs into what comes next")


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    name = info.orig_filename  # `filename` would end at a NUL
    if info.flag_bits & _ENCRYPTED:
        raise UnpackingError(f"{name!r} in the archive is encrypted", "make the archive without a password")
    if info.compress_type not in _COMPRESSIONS:
        raise UnpackingError(f"{name!r} in the archive is compressed in an unusual way", "use deflate")
    mode = info.external_attr >> 16
    kind = stat.S_IFMT(mode)
    member = partial(Member, name, mtime=_mtime(info))
    if kind == stat.S_IFLNK:
        with archive.open(info) as content:
            target = content.read(_LONGEST_TARGET).decode(errors="surrogateescape")
        return member(MemberType.SYMLINK, mode=mode, target=target)
    if kind == stat.S_IFDIR or info.is_dir():
        return member(MemberType.DIRECTORY, mode=mode or 0o755)
    if kind in (stat.S_IFREG, 0):
        return member(MemberType.FILE, mode=mode or 0o644, content=partial(archive.open, info))
    raise unsupported(name)


def _mtime(info: zipfile.ZipInfo) -> float | None:
    """Return the modification time of a member; None if it is invalid. Zip stores local time."""
    try:
        return time.mktime((*info.date_time, 0, 0, -1))
    except (ValueError, OverflowError):
        return None
