"""The members of a tar archive, one by one, in one pass.

`tarfile` reads the headers, with limits: the size of a header is bounded, it never seeks backwards, and it keeps no
list of members. So memory use is constant, and a header with a negative size is an error, not an endless loop.
"""

from __future__ import annotations

import math
import tarfile
from collections.abc import Iterator
from functools import partial
from typing import IO, cast

from reactor.unpacking.compression import decompressed
from reactor.unpacking.members import Budget, Member, MemberType, UnpackingError, unsupported

_MOST_OF_A_HEADER = 1 << 20
"""The most bytes of a header with its extended headers. A name and a few attributes need a thousandth of this."""
_PIECE = 128 * 1024


class _Meter:
    """The stream that `tarfile` reads: forward only, with a limit of bytes per header, and charged to the budget."""

    def __init__(self, stream: IO[bytes], budget: Budget) -> None:
        self._stream = stream
        self._budget = budget
        self._position = 0
        self._last = b""
        self.allowance = math.inf

    def read(self, size: int) -> bytes:
        """Return the next ``size`` bytes, fewer at the end. Raises UnpackingError."""
        if not 0 <= size <= self.allowance:
            raise UnpackingError("the archive is damaged: a header of it is far too large")
        self._last = self._stream.read(size)
        self.allowance -= len(self._last)
        self._position += len(self._last)
        self._budget.allow(self._position)
        return self._last

    def seek(self, position: int) -> int:
        """Skip to ``position``, or to the end. Raises UnpackingError if ``position`` is before the current one."""
        if position < self._position:
            raise UnpackingError("the archive is damaged: a header of it points back")
        allowance, self.allowance = self.allowance, math.inf
        while position > self._position and self.read(min(position - self._position, _PIECE)):
            pass
        self.allowance = allowance
        return self._position

    def tell(self) -> int:
        """Return the position of the next read."""
        return self._position

    def finish(self) -> None:
        """Read to the end, to verify the checksums there. Raises UnpackingError if the archive is truncated."""
        if self._last.strip(b"\0") or not self._last:
            raise UnpackingError("the archive is damaged or cut short: its end is missing")
        self.seek(1 << 63)


def members_of_tar(file: IO[bytes], archive_format: str, budget: Budget) -> Iterator[Member]:
    """Yield the members of the archive in ``file``. Read the content of each member before requesting the next."""
    stream = decompressed(file, archive_format)
    meter = _Meter(stream, budget)
    meter.allowance = _MOST_OF_A_HEADER
    with tarfile.open(fileobj=cast("IO[bytes]", meter), mode="r:") as tar:
        while (info := tar.next()) is not None:
            tar.members.clear()  # type: ignore[attr-defined]  # not in the type stubs
            if sum(map(len, tar.pax_headers.values())) > _MOST_OF_A_HEADER:
                raise UnpackingError("the archive is damaged: its global headers are far too large")
            meter.allowance = math.inf
            yield _member(tar, info)
            meter.allowance = _MOST_OF_A_HEADER
    meter.finish()
    if stream is not file:
        stream.close()


def _member(tar: tarfile.TarFile, info: tarfile.TarInfo) -> Member:
    member = partial(Member, info.name, mode=info.mode, mtime=info.mtime)
    if info.isreg():
        return member(MemberType.FILE, content=lambda: cast("IO[bytes]", tar.extractfile(info)))
    if info.isdir():
        return member(MemberType.DIRECTORY)
    if info.issym():
        return member(MemberType.SYMLINK, target=info.linkname)
    if info.islnk():
        return member(MemberType.HARD_LINK, target=info.linkname)
    raise unsupported(info.name)
