"""The desired content of a file: a string of the manifest, or a copy of another file on the host.

Content of up to `INLINE_LIMIT` bytes is read and written in the event loop: a thread would cost ten times as much.
Larger content is read and written by a thread, in pieces, so that it blocks no other task and fills no memory. Content
that is not in the page cache is first read by the thread of its disk, see `at_hand`, because the disk may hang.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from math import inf
from typing import Protocol

from reactor.hostfs.disks import at_length, changing
from reactor.hostfs.errors import ErrorContext, resource_error
from reactor.hostfs.fsync import disk_of, is_in_memory
from reactor.hostfs.safe_open import open_source
from reactor.hostfs.stat_stamp import Stamp, stamp_is_reliable, stamp_of
from reactor.resource.plan import ResourceError
from reactor.resource.threads import in_thread

Bytes = bytes | bytearray

INLINE_LIMIT = 256 * 1024
_CHUNK = 256 * 1024


class Content(Protocol):
    """The desired content of a file. With a true attribute ``is_secret`` it is a `GuardedContent`."""

    def unchanged(self) -> bool:
        """Whether the content is certainly the one that `equals` last compared. Costs at most one stat."""

    async def equals(self, fd: int, size: int) -> bool:
        """Whether the file open at ``fd``, of ``size`` bytes, has this content."""

    async def copy_to(self, fd: int) -> None:
        """Write the content to ``fd``, at its position."""

    async def prepare(self) -> None:
        """Fetch what `head` needs. Raises ResourceError."""

    def head(self, limit: int) -> bytes:
        """The first ``limit`` bytes."""


class GuardedContent(Content, Protocol):
    """Content that was made where secrets are at hand."""

    is_secret: bool

    async def shows_no_secret(self) -> bool:
        """Whether it is the same whatever the secrets are. Otherwise no diff shows it. Raises ResourceError."""


class Inline:
    """A string as content, or bytes that need not be text."""

    __slots__ = ("_text",)

    def __init__(self, text: str | bytes) -> None:
        # The resource has the same string. Its bytes would take as much memory again.
        self._text = text

    @property
    def data(self) -> bytes:
        """What the file contains. Made for each call."""
        text = self._text
        return text if isinstance(text, bytes) else text.encode()

    def unchanged(self) -> bool:
        """Always True: a changed manifest makes a new resource."""
        return True

    def compare_now(self, fd: int, found: os.stat_result) -> bool | None:
        """Whether the file open at ``fd``, whose stat is ``found``, has the content.

        None if the comparison could block or takes long.
        """
        desired = self.data
        if len(desired) != found.st_size:
            return False
        data = read_now(fd, found)
        return None if data is None else data == desired

    async def equals(self, fd: int, size: int) -> bool:  # noqa: ARG002 - the string has its own
        """Whether the file open at ``fd`` has the content."""
        return await _same_aside(fd, io.BytesIO(self.data).read)

    async def copy_to(self, fd: int) -> None:
        """Write the string to ``fd``."""
        data = self.data
        await (changing if len(data) <= INLINE_LIMIT else at_length)(_write, fd, data)

    @property
    def is_short(self) -> bool:
        """Whether it certainly takes less time than a thread to write it to a file system in memory."""
        return len(self.data) <= INLINE_LIMIT // 4

    def write_now(self, fd: int) -> None:
        """Write the string to ``fd``."""
        _write(fd, self.data)

    async def prepare(self) -> None:
        """Do nothing: the string is in memory."""

    def head(self, limit: int) -> bytes:
        """The first ``limit`` bytes of the string."""
        return self.data[:limit]


EMPTY = Inline("")
"""The content of a new file whose content is not managed."""


class Source:
    """A copy of another file on the host as content. A symlink to it is followed."""

    __slots__ = ("_path", "_stamp")

    def __init__(self, path: str) -> None:
        self._path = path
        self._stamp: Stamp | None = None

    def unchanged(self) -> bool:
        """Whether the stamp of the source is that of the last comparison."""
        try:
            return self._stamp is not None and stamp_of(os.stat(self._path)) == self._stamp
        except OSError:
            return False

    async def equals(self, fd: int, size: int) -> bool:
        """Whether the file open at ``fd``, of ``size`` bytes, has the content of the source.

        The size of the source is not compared: for a file in /proc or /sys it says nothing about the content.
        """
        now = time.time_ns()
        with self._opened() as (source, found):
            self._stamp = stamp_of(found) if stamp_is_reliable(found, now) else None
            if found.st_nlink == 1 and os.path.samestat(found, os.fstat(fd)):
                words = f"the source {self._path} is the file itself"
                raise ResourceError(words, "name another file to copy, or see what symlink leads there")
            await at_hand(self._path, source, found.st_size)
            wanted = partial(read, source, piece=self._piece)
            if size <= INLINE_LIMIT and (is_same := _same(fd, wanted, INLINE_LIMIT)) is not None:
                return is_same
            return await _same_aside(fd, wanted)

    async def copy_to(self, fd: int) -> None:
        """Write the present content of the source to ``fd``."""
        with self._opened() as (source, found):
            await at_hand(self._path, source, found.st_size)
            self._refuse_without_room(found.st_size, fd)
            await copy(source, fd, self._piece)

    async def prepare(self) -> None:
        """Do nothing: the source is on this host."""

    def head(self, limit: int) -> bytes:
        """The first ``limit`` bytes of the source."""
        with self._opened() as (source, _):
            return read(source, limit, self._piece)

    def _refuse_without_room(self, size: int, fd: int) -> None:
        """Raise ResourceError if ``size`` bytes would fill the disk of ``fd``: a sparse source of terabytes costs nothing."""
        if size <= INLINE_LIMIT:
            return
        disk = os.fstatvfs(fd)
        if disk.f_blocks and size > disk.f_bavail * disk.f_frsize:
            words = f"the source {self._path} is larger than what is free there: {size} bytes"
            raise ResourceError(words, "free some space, or see why the source is so large")

    def _piece(self, fd: int, size: int) -> bytes:
        """Read as os.read does. An error names the source, not the file that is compared or written."""
        with ErrorContext(f"read the source {self._path}"):
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
            raise resource_error(error, f"read the source {self._path}") from error
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode):
                raise ResourceError(f"the source {self._path} is not a regular file", "name a file to copy")
            yield fd, found
        finally:
            os.close(fd)


_Piece = Callable[[int, int], bytes]


def read(fd: int, size: int, piece: _Piece | None = None) -> bytes:
    """Read ``size`` bytes, or less at the end of the file. ``piece`` reads, by default os.read."""
    piece = piece or os.read
    data = piece(fd, size)
    while len(data) < size and (more := piece(fd, size - len(data))):
        data += more
    return data


async def at_hand(path: str, fd: int, size: int) -> None:
    """Return once the ``size`` bytes of the small file at ``path``, which is open at ``fd``, are in memory.

    A larger file is read in a thread anyway. Raises ResourceError when the disk hangs.
    """
    if size > INLINE_LIMIT or _read_from_memory(fd, size) is not None or (disk := disk_of(fd)) is None:
        return

    async def read_into_memory() -> None:
        own = os.dup(fd)  # the caller closes its descriptor when the disk hangs
        try:
            await changing(os.pread, own, size, 0)
        finally:
            os.close(own)

    await disk.make(path, read_into_memory)


def read_now(fd: int, found: os.stat_result) -> Bytes | None:
    """The content of the file open at ``fd``, whose stat is ``found``; None if reading it could block or takes long."""
    if found.st_size > INLINE_LIMIT:
        return None
    if is_in_memory(fd, found.st_dev):
        return os.pread(fd, found.st_size, 0)  # tmpfs refuses RWF_NOWAIT, and that takes as long as two reads
    return _read_from_memory(fd, found.st_size)


def _read_from_memory(fd: int, size: int) -> Bytes | None:
    """The first ``size`` bytes; None if the disk may have to read them.

    A file system that can't tell is read anyway.
    """
    buffer = bytearray(size)
    try:
        count = os.preadv(fd, [buffer], 0, os.RWF_NOWAIT)
    except BlockingIOError:
        return None
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.ENOSYS):
            raise
        return os.pread(fd, size, 0)
    return buffer if count == size else None


def _write(fd: int, data: bytes) -> None:
    written = os.write(fd, data)
    while written < len(data):
        written += os.write(fd, memoryview(data)[written:])


async def copy(source: int, fd: int, piece: _Piece | None = None) -> None:
    """Copy the whole file open at ``source`` to ``fd``, at its position.

    Raises ResourceError if it becomes long meanwhile: its owner could hold up everything else with that.
    """
    os.lseek(source, 0, os.SEEK_SET)
    size = os.fstat(source).st_size
    if size > INLINE_LIMIT:
        await at_length(_copy, source, fd, piece or os.read, size)
    elif await changing(_copy, source, fd, piece or os.read, INLINE_LIMIT):
        if os.fstat(source).st_size:
            raise ResourceError("the file has grown while it was copied", "see who writes to it")
        # A file of the kernel, whose length is not known.
        await at_length(_copy, source, fd, piece or os.read, inf)


def _copy(source: int, fd: int, piece: _Piece, most: float) -> bool:
    """Copy up to ``most`` bytes, or a little more. Returns whether there may be more."""
    copied = 0
    while copied <= most:
        if not (data := piece(source, _CHUNK)):
            return False
        _write(fd, data)
        copied += len(data)
    return True


async def _same_aside(fd: int, read_wanted: Callable[[int], bytes]) -> bool:
    """Run `_same` in a thread. Reads from one disk share a few threads, in case it hangs."""
    disk = disk_of(fd)
    return bool(await in_thread(_same, fd, read_wanted, limiter=None if disk is None else disk.long))


def _same(fd: int, read_wanted: Callable[[int], bytes], most: float = inf) -> bool | None:
    """Whether the file at ``fd`` and the bytes that ``read_wanted`` returns are equal, and equally long.

    None if they are equal so far, after ``most`` bytes or a little more.
    """
    compared = 0
    while (found := read(fd, _CHUNK)) == read_wanted(_CHUNK):
        if not found:
            return True
        if (compared := compared + len(found)) > most:
            return None
    return False
