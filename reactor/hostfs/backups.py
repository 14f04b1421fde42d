"""What a kind replaces or removes can be had back: the way to wherever former content is kept."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from functools import cache
from types import TracebackType
from typing import Self

from reactor.hostfs.disks import changing
from reactor.hostfs.safe_open import open_content, refuse_foreign_link
from reactor.mountinfo import read_mounts
from reactor.resource.backup_store import backup_store
from reactor.resource.output import emit_output
from reactor.resource.plan import ResourceError

_HANDLE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_MOST_FOR_UNDO = 1 << 30
"""Bytes. Whoever owns the file may have made it of any length, and it is kept on the disk of root."""
_BY_NAME = ("fuse", "virtiofs", "9p")
"""How the types of file systems begin on which a server looks for files by their names."""


async def keep_for_undo(path: str, ref: str) -> str:
    """The path of a file that keeps what ``path`` holds now, for the reversal of ``ref``.

    Raises ResourceError when there is no place to keep it, and OSError when that place does not take it.
    """
    if (place := backup_store.get()) is None:
        raise ResourceError(
            f"{path} could not be brought back: nothing is kept in this run", "give it a state directory"
        )
    fd = open_content(path)
    try:
        if os.fstat(fd).st_size > _MOST_FOR_UNDO:
            words = f"{path} could not be brought back: it is larger than {_MOST_FOR_UNDO >> 30} GiB"
            raise ResourceError(words, "move it away, or remove reverse")
        return await place.keep_for_undo(ref, fd)
    finally:
        os.close(fd)


class PreviousContent:
    """The regular file ``base`` in the directory open at ``directory``, held while ``ref`` replaces or removes it.

    ``path`` is its name for people. Holding it costs one open(2) that touches nothing, not even a device; all else waits
    until the new content is in place. Only where what has lost its name can't be opened, as with FUSE, it is opened to
    be read at once. ``device`` is where it is, if that is known. Nothing here ever raises: a backup that fails must not
    keep a repair from being made. It says so instead.
    """

    __slots__ = ("_backup_store", "_base", "_device", "_directory", "_fd", "_is_readable", "_path", "_ref")

    def __init__(self, path: str, ref: str, directory: int, base: str, device: int | None = None) -> None:
        self._path = path
        self._ref = ref
        self._directory = directory
        self._base = base
        self._device = device
        self._backup_store = backup_store.get()
        self._fd = -1
        self._is_readable = False

    def __enter__(self) -> Self:
        if self._backup_store is not None:
            try:
                self._fd = os.open(self._base, _HANDLE, dir_fd=self._directory)
            except (FileNotFoundError, NotADirectoryError):
                pass
            except OSError as error:
                self._complain(error)
            else:
                found = os.fstat(self._fd)
                self._refuse_foreign(found)
                if _knows_by_name(found.st_dev if self._device is None else self._device):
                    with suppress(OSError):  # to keep it meets the same error, and tells it
                        self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._fd != -1:
            os.close(self._fd)

    async def keep(self) -> None:
        """Keep what the file holds now. To be called once, when the path leads to something else."""
        if self._backup_store is not None and self._fd != -1:
            try:
                self._open()
                if self._is_readable:
                    await self._backup_store.keep(self._path, self._ref, self._fd)
            except OSError as error:
                self._complain(error)
            fd, self._fd = self._fd, -1
            await changing(os.close, fd)  # which takes what has no name any more from the file system

    def _refuse_foreign(self, found: os.stat_result) -> None:
        """Keep nothing of a file that may be another's under a second name: its content would get this path."""
        if found.st_nlink > 1:  # to be found out while it has the name
            try:
                refuse_foreign_link(self._fd, self._path)
            except ResourceError as error:
                emit_output(f"no backup of {self._path}: {error.message}")
                self._backup_store = None

    def _open(self) -> None:
        """Go on with a descriptor that can be read, if it is a regular file. Raises OSError."""
        if not self._is_readable and stat.S_ISREG(os.fstat(self._fd).st_mode):
            handle, self._fd = self._fd, os.open(f"/proc/self/fd/{self._fd}", _READ)
            os.close(handle)
            self._is_readable = True

    def _complain(self, error: OSError) -> None:
        emit_output(f"no backup of {self._path}: {error.strerror or error}")


@cache
def _knows_by_name(device: int) -> bool:
    """Whether the file system with that number can't open what has lost its name."""
    number = f"{os.major(device)}:{os.minor(device)}"
    with suppress(OSError):  # there is no /proc
        return any(mount.device == number and mount.fstype.startswith(_BY_NAME) for mount in read_mounts())
    return False
