"""Where the bytes of a file come from: the manifest itself, or another file on the host.

Up to `INLINE_LIMIT` bytes are read and written on the spot: a thread would cost ten times the work. Above it a
thread goes through them in pieces, so that neither the loop nor the memory feels the size.
"""

from __future__ import annotations

import io
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Protocol

from reactor.hostfs.disks import at_length, changing
from reactor.hostfs.errors import Explaining, explained
from reactor.hostfs.safe_open import open_source
from reactor.hostfs.stat_stamp import Stamp, settled, stamp_of
from reactor.resource.plan import ResourceError
from reactor.resource.threads import in_thread

INLINE_LIMIT = 256 * 1024
_CHUNK = 256 * 1024


class Content(Protocol):
    """The bytes a file is to hold."""

    def unchanged(self) -> bool:
        """Whether they are still those that `equals` last compared, told by one stat at most."""

    async def equals(self, fd: int, size: int) -> bool:
        """Whether the file open at ``fd``, of ``size`` bytes, holds them."""

    async def copy_to(self, fd: int) -> None:
        """Write them to ``fd`` from where it stands."""

    async def prepare(self) -> None:
        """Have them at hand, for `head`. Raises ResourceError."""

    def head(self, limit: int) -> bytes:
        """Their first ``limit`` bytes."""


class Inline:
    """Content written in the manifest."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def unchanged(self) -> bool:
        """Always: a manifest that changed makes another resource."""
        return True

    def equals_now(self, fd: int, size: int) -> bool | None:
        """Whether the file open at ``fd``, of ``size`` bytes, holds the text; None for much text, where only `equals` can tell."""
        wanted = self._text.encode()
        if len(wanted) != size:
            return False
        return read(fd, size) == wanted if size <= INLINE_LIMIT else None

    async def equals(self, fd: int, size: int) -> bool:  # noqa: ARG002 - the text has its own
        """Whether the file open at ``fd`` holds the text."""
        return await in_thread(_same, fd, io.BytesIO(self._text.encode()).read)

    async def copy_to(self, fd: int) -> None:
        """Write the text to ``fd``."""
        data = self._text.encode()
        if len(data) <= INLINE_LIMIT:
            await changing(_write, fd, data)
        else:
            await at_length(_write, fd, data)

    async def prepare(self) -> None:
        """Nothing: it is here."""

    def head(self, limit: int) -> bytes:
        """The first ``limit`` bytes of the text."""
        return self._text.encode()[:limit]


EMPTY = Inline("")
"""That of a new file whose content is not managed."""


class Source:
    """Content of another file on the host; a symlink to it is followed."""

    __slots__ = ("_path", "_stamp")

    def __init__(self, path: str) -> None:
        self._path = path
        self._stamp: Stamp | None = None

    def unchanged(self) -> bool:
        """Whether a stat of the source equals the stamp of the last comparison."""
        try:
            return self._stamp is not None and stamp_of(os.stat(self._path)) == self._stamp
        except OSError:
            return False

    async def equals(self, fd: int, size: int) -> bool:
        """Whether the file open at ``fd``, of ``size`` bytes, holds what the source holds.

        The size of the source is not asked: that of a file in /proc or /sys says nothing of what it holds.
        """
        now = time.time_ns()
        with self._opened() as (source, found):
            self._stamp = stamp_of(found) if settled(found, now) else None
            if found.st_nlink == 1 and os.path.samestat(found, os.fstat(fd)):
                words = f"the source {self._path} is the file itself"
                raise ResourceError(words, "name another file to copy, or see what symlink leads there")
            wanted = partial(read, source, piece=self._piece)
            if size <= INLINE_LIMIT:
                return _same(fd, wanted)
            return await in_thread(_same, fd, wanted)

    async def copy_to(self, fd: int) -> None:
        """Write what the source holds now to ``fd``."""
        with self._opened() as (source, _):
            await copy(source, fd, self._piece)

    async def prepare(self) -> None:
        """Nothing: it is here."""

    def head(self, limit: int) -> bytes:
        """The first ``limit`` bytes of the source."""
        with self._opened() as (source, _):
            return read(source, limit, self._piece)

    def _piece(self, fd: int, size: int) -> bytes:
        """As os.read. What goes wrong is not the fault of the file that is compared or written."""
        with Explaining(f"read the source {self._path}"):
            return os.read(fd, size)

    @contextmanager
    def _opened(self) -> Iterator[tuple[int, os.stat_result]]:
        try:
            fd = open_source(self._path)
        except FileNotFoundError as error:
            hint = "correct the path, or require the resource that makes the file"
            words = f"the source {self._path} does not exist"
            raise ResourceError(words, hint, missing=self._path) from error
        except OSError as error:
            raise explained(error, f"read the source {self._path}") from error
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode):
                raise ResourceError(f"the source {self._path} is not a regular file", "name a file to copy")
            yield fd, found
        finally:
            os.close(fd)


_Piece = Callable[[int, int], bytes]


def read(fd: int, size: int, piece: _Piece | None = None) -> bytes:
    """Read ``size`` bytes, or what there is up to the end."""
    piece = piece or os.read
    data = piece(fd, size)
    while len(data) < size and (more := piece(fd, size - len(data))):
        data += more
    return data


def _write(fd: int, data: bytes) -> None:
    written = os.write(fd, data)
    while written < len(data):
        written += os.write(fd, memoryview(data)[written:])


async def copy(source: int, fd: int, piece: _Piece | None = None) -> None:
    """Write all that the file open at ``source`` holds to ``fd``."""
    os.lseek(source, 0, os.SEEK_SET)
    if os.fstat(source).st_size <= INLINE_LIMIT:
        await changing(_copy, source, fd, piece or os.read)
    else:
        await at_length(_copy, source, fd, piece or os.read)


def _copy(source: int, fd: int, piece: _Piece) -> None:
    while data := piece(source, _CHUNK):
        _write(fd, data)


def _same(fd: int, read_wanted: Callable[[int], bytes]) -> bool:
    """Whether the file at ``fd`` and what ``read_wanted`` gives are equal to their ends."""
    while (found := read(fd, _CHUNK)) == read_wanted(_CHUNK):
        if not found:
            return True
    return False
