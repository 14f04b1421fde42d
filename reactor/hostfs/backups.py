"""Hands the content of a file to the backup store before a kind replaces or removes the file."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from functools import cache
from typing import Self

import trio

from reactor.hostfs.disks import changing
from reactor.hostfs.safe_open import Parent, open_content, refuse_foreign_link
from reactor.mountinfo import read_mounts
from reactor.resource.backup_store import READ_AT_ONCE, backup_store
from reactor.resource.output import emit_output
from reactor.resource.plan import ResourceError

_HANDLE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_SHORT = 16 * 1024
"""Bytes. A diff of a shorter file takes less time than a thread."""
_MOST_FOR_UNDO = 1 << 30
"""Bytes. The owner of the file may have made it of any length, and the copy takes space from root."""
_BY_NAME = ("fuse", "virtiofs", "9p")
"""The prefixes of the types of file systems whose server finds files by name only."""


async def keep_for_undo(path: str, ref: str) -> str:
    """Copy the content of ``path`` into the backup store, for the reversal of ``ref``. Returns the path of the copy.

    Raises ResourceError when this run has no backup store, and OSError when the copy fails.
    """
    if (place := backup_store.get()) is None:
        raise ResourceError(
            f"reverse could not restore {path}: this run keeps no state", "give the run a state directory"
        )
    fd = open_content(path)
    try:
        if os.fstat(fd).st_size > _MOST_FOR_UNDO:
            words = f"reverse could not restore {path}: it is larger than {_MOST_FOR_UNDO >> 30} GiB"
            raise ResourceError(words, "move it away, or remove reverse")
        return await place.keep_for_undo(ref, fd)
    finally:
        os.close(fd)


def is_short(found: os.stat_result) -> bool:
    """Whether the regular file with this stat can be a `ShortFile`."""
    return found.st_nlink == 1 and found.st_size <= _SHORT


class ShortFile:
    """A regular file with one name and a short content, which a check found to differ.

    A diff gets its content from the change: to read it before would delay the repair. Its directory, ``parent``, may
    stay open until the repair. ``device`` is the one that the file is on.
    """

    __slots__ = ("content", "device", "is_shown", "parent")

    def __init__(self, parent: Parent, device: int) -> None:
        self.parent = parent
        self.device = device
        self.is_shown = False
        """Whether ``content`` is needed, for a diff."""
        self.content: bytes | None = None
        """What the file contained when it was replaced; empty if that can't be read. None: it was not replaced."""


class PreviousContent:
    """Keeps the regular file ``base`` of the directory open at ``directory`` open while it is replaced or removed.

    The resource ``ref`` makes the change. ``path`` is the path for messages, ``device`` the device that it is on, if
    known. The file is kept open as a handle (O_PATH), which costs one open(2), and is read only after the new content
    is in place. On a file system that can't open a file without a name, such as FUSE, it is opened for reading at
    once. ``short`` gets the content too, if it needs it; if that is in memory, the change is a rename, and the names of the
    file are counted after it.

    It never raises: a failed backup must not prevent the repair. The failure is reported in the output.
    """

    __slots__ = (
        "_backup_store",
        "_base",
        "_device",
        "_directory",
        "_fd",
        "_is_gone",
        "_is_readable",
        "_is_single",
        "_path",
        "_ref",
        "_refusal",
        "_short",
    )

    def __init__(
        self,
        path: str,
        ref: str,
        directory: int,
        base: str,
        device: int | None = None,
        *,
        short: ShortFile | None = None,
        is_in_memory: bool = False,
    ) -> None:
        self._path = path
        self._ref = ref
        self._directory = directory
        self._base = base
        self._device = device
        self._backup_store = backup_store.get()
        self._short = short if short is not None and short.is_shown else None
        self._is_single = is_in_memory and short is not None
        self._fd = -1
        self._is_gone = False
        self._is_readable = False
        self._refusal = ""

    def hold(self) -> Self:
        """Open the file, in any thread, until `close`. What prevents a backup is reported by `keep`."""
        if self._backup_store is None and self._short is None:
            return self
        try:
            self._fd = os.open(self._base, _HANDLE, dir_fd=self._directory)
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            if self._backup_store is not None:
                self._refusal = error.strerror or str(error)
        else:
            if self._is_single:
                return self
            found = os.fstat(self._fd)
            self._refuse_foreign(found)
            if _knows_by_name(found.st_dev if self._device is None else self._device):
                with suppress(OSError):  # keep() meets the same error, and reports it
                    self._open()
        return self

    __enter__ = hold

    def load(self) -> None:
        """Read what `keep` reads at once into memory, in the thread of the disk: the path was replaced or removed."""
        self._is_gone = True
        if self._fd != -1:
            with suppress(OSError):  # keep() meets the same error, and reports it
                self._open()
                if self._is_readable:
                    os.pread(self._fd, READ_AT_ONCE, 0)

    def close(self, *_raised: object) -> None:
        """Close what `hold` has opened, unless `keep` did."""
        fd, self._fd = self._fd, -1
        if fd != -1:
            os.close(fd)

    __exit__ = close
    __del__ = close  # a change that was abandoned may `hold` the file later

    async def keep_if_gone(self) -> None:
        """Copy the content as `keep` does if `load` was called, also after a cancellation. Close the file in any case."""
        if self._is_gone:
            with trio.CancelScope(shield=True):
                await self.keep()
        self.close()

    async def keep(self) -> None:
        """Copy the content of the file into the backup store.

        Call this once, after the path was replaced or removed.
        """
        if self._refusal:
            self._complain(self._refusal)
        if self._short is not None:
            self._short.content = b""
        if self._fd != -1 and (self._backup_store is not None or self._short is not None):
            try:
                self._open()
                if self._is_readable:
                    await self._keep_open_file()
            except OSError as error:
                if self._backup_store is not None:
                    self._complain(error.strerror or str(error))
            fd, self._fd = self._fd, -1
            await changing(os.close, fd)  # the file system frees a file without a name now

    async def _keep_open_file(self) -> None:
        if self._short is not None:
            self._short.content = await changing(os.pread, self._fd, _SHORT, 0)
        if self._backup_store is not None:
            await self._backup_store.keep(self._path, self._ref, self._fd)

    def _refuse_foreign(self, found: os.stat_result) -> None:
        """Make no backup of a file that may be another user's under a second name: it would expose the content."""
        if found.st_nlink > 1:  # the check needs the name, which is gone later
            try:
                refuse_foreign_link(self._fd, self._path, found)
            except ResourceError as error:
                if self._backup_store is not None:
                    self._refusal = error.message
                self._backup_store = self._short = None

    def _open(self) -> None:
        """Replace the handle of a regular file by a descriptor that can be read. Raises OSError."""
        if self._is_readable:
            return
        found = os.fstat(self._fd)
        if self._is_single and found.st_nlink:  # `short` had one name, and that is gone
            raise OSError(errno.EMLINK, "it had another name")
        if stat.S_ISREG(found.st_mode):
            handle, self._fd = self._fd, os.open(f"/proc/self/fd/{self._fd}", _READ)
            os.close(handle)
            self._is_readable = True

    def _complain(self, words: str) -> None:
        emit_output(f"no backup of {self._path}: {words}")


@cache
def _knows_by_name(device: int) -> bool:
    """Whether the file system on ``device`` can't open a file without a name."""
    number = f"{os.major(device)}:{os.minor(device)}"
    with suppress(OSError):  # /proc is missing
        return any(mount.device == number and mount.fstype.startswith(_BY_NAME) for mount in read_mounts())
    return False
