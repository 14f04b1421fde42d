"""The temporary file of a download. A later process can resume an interrupted download.

Its name depends only on the path of the file, so a later process finds it without a search. A lock on it shows that a
process is downloading. Only we can read and write the file; a file of another user is replaced. Where other users can
create names, an old temporary file is not resumed: it may be a file of ours with a second name.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
import time
from contextlib import suppress
from types import TracebackType
from typing import Self

from reactor import ResourceError, in_thread
from reactor.hostfs import belongs_to_another, drop_lists, flush, flush_directory, others_may_write
from reactor.resources.download.download_origin import Origin

_OPEN = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PIECE = 1 << 20


def partial_path(path: str) -> str:
    """The path of the temporary file for ``path``, in the same directory, so that it can be renamed."""
    directory = os.path.dirname(path)
    return f"{directory}/.reactor-download-{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}"


class Partial:
    """The unfinished download of ``path``, open and locked for a block. ``directory`` is a handle of its directory.

    The temporary file is removed at the end of the block, unless the download can be resumed.
    """

    def __init__(self, directory: int, path: str) -> None:
        self._directory = directory
        self._path = path
        self._name = os.path.basename(partial_path(path))
        self._hash = hashlib.sha256()
        self._fd = -1
        self.size = 0
        self.origin: Origin | None = None

    def __enter__(self) -> Self:
        while self._fd == -1:
            fd = self._opened()
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._is_current(fd):
                    self._fd, fd = fd, -1
            except BlockingIOError as error:
                hint = "two runs with different state directories manage it: let only one of them manage it"
                raise ResourceError(f"another process is downloading {self._path}", hint) from error
            finally:
                if fd != -1:
                    os.close(fd)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)
        if self._name and not self.can_resume:
            with suppress(FileNotFoundError):
                os.unlink(self._name, dir_fd=self._directory)

    @property
    def can_resume(self) -> bool:
        """Whether the remaining part can be requested."""
        return self.size > 0 and self.origin is not None and self.origin.can_resume

    @property
    def checksum(self) -> str:
        """The SHA-256 of the bytes downloaded so far."""
        return self._hash.hexdigest()

    async def resume(self, url: str) -> None:
        """Continue an earlier download from ``url`` (a fingerprint) if possible; otherwise start again."""
        self.origin = Origin.noted(self._fd)
        self.size = os.fstat(self._fd).st_size
        if (
            self.can_resume
            and self._is_of(url)
            and not others_may_write(os.fstat(self._directory), self._directory)
        ):
            await in_thread(self._read_back)
        else:
            self.restart(None)

    def restart(self, origin: Origin | None) -> None:
        """Discard the content, and start again with content from ``origin``."""
        os.ftruncate(self._fd, 0)
        os.lseek(self._fd, 0, os.SEEK_SET)
        self._hash = hashlib.sha256()
        self.size = 0
        self.origin = origin
        if origin is not None:
            origin.note(self._fd)

    def invalidate(self) -> None:
        """Forget the ETag of this version: it is unknown whether the download is complete."""
        if self.origin is not None:
            self.origin = Origin(self.origin.url)

    async def append(self, pieces: list[bytes]) -> None:
        """Append the pieces to the file, and empty the list.

        Each call uses a thread, so the pieces should be large.
        """
        await in_thread(self._append, pieces)

    async def place(self, owner: tuple[int, int], mode: int) -> None:
        """Move the complete download to its path, atomically and durably."""
        Origin.remove_note(self._fd)
        if belongs_to_another(self._directory, owner[0]):
            drop_lists(self._fd)
        os.fchown(self._fd, *owner)
        os.fchmod(self._fd, mode)
        await flush(self._fd)
        base = os.path.basename(self._path)
        os.rename(self._name, base, src_dir_fd=self._directory, dst_dir_fd=self._directory)
        self._name = ""
        await flush_directory(self._directory)
        if self.origin is not None:
            self.origin.complete(self.checksum).record(self._path)

    def take(self) -> int:
        """A descriptor of the complete download. Its name is removed at the end of the block."""
        Origin.remove_note(self._fd)
        self.origin = None
        return os.dup(self._fd)

    def _opened(self) -> int:
        try:
            fd = os.open(self._name, _OPEN, dir_fd=self._directory)
        except FileNotFoundError:
            return os.open(self._name, _NEW, 0o600, dir_fd=self._directory)
        except OSError:
            pass  # a symlink, or a file that we may not open
        else:
            found = os.fstat(fd)
            if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_nlink == 1:
                return fd
            os.close(fd)
        os.unlink(self._name, dir_fd=self._directory)
        return os.open(self._name, _NEW, 0o600, dir_fd=self._directory)

    def _is_current(self, fd: int) -> bool:
        """Whether the name still leads to the open file: another process may just have finished the download."""
        try:
            now = os.stat(self._name, dir_fd=self._directory, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return os.path.samestat(now, os.fstat(fd))

    def _is_of(self, url: str) -> bool:
        """Whether the download came from ``url`` since the last boot: older content may not have reached the disk."""
        started = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
        return self.origin is not None and self.origin.url == url and os.fstat(self._fd).st_mtime > started

    def _read_back(self) -> None:
        os.lseek(self._fd, 0, os.SEEK_SET)
        while data := os.read(self._fd, _PIECE):
            self._hash.update(data)

    def _append(self, pieces: list[bytes]) -> None:
        try:
            while pieces:
                piece = pieces.pop(0)
                view = memoryview(piece)
                while view:
                    view = view[os.write(self._fd, view) :]
                self._hash.update(piece)
                self.size += len(piece)
        except OSError:
            self.origin = None  # the end of the file is not where the download continues: it can't be resumed
            raise
