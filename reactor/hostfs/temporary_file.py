"""The temporary file with the new content of a file: it is renamed over the old one, or removed."""

from __future__ import annotations

import ctypes
import errno
import os
from contextlib import suppress

from reactor.hostfs.temp_files import lock_temporary, temporary_name
from reactor.resource.own_renames import own_renames

_TEMPORARY = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FINISHED = os.O_RDONLY | os.O_CLOEXEC
_READABLE_BY_ALL = 0o444

_NO_REPLACE = 1
"""RENAME_NOREPLACE, see renameat2(2)."""
_renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)  # glibc has it since 2.28

_left: dict[str, str] = {}
"""By target: the temporary file that an attempt could not remove, as in an append-only directory."""


class TemporaryFile:
    """A temporary file that is renamed to ``base``, or removed by `close`.

    If it can't be removed, the next attempt for ``path`` begins by removing it, so there is never more than one.

    Until it gets its owner, its permissions allow nothing that ``mode`` does not allow every user.
    """

    def __init__(self, path: str, directory: int, base: str, mode: int, *, same_suffix: bool = False) -> None:
        self.path = path
        self._directory = directory
        self._base = base
        self._mode = 0o644 if mode & _READABLE_BY_ALL == _READABLE_BY_ALL else 0o600
        self._same_suffix = same_suffix
        self.name = ""
        self.fd = -1

    def make(self, *, is_locked: bool = True) -> None:
        """Make the file, empty, open for writing, and locked unless it exists for a moment only."""
        if self.path in _left:
            self._remove(_left[self.path])
            del _left[self.path]
        while True:
            self.name = temporary_name(self._base, same_suffix=self._same_suffix)
            try:
                self.fd = os.open(self.name, _TEMPORARY, self._mode, dir_fd=self._directory)
            except FileExistsError:
                continue
            if not is_locked or lock_temporary(self.fd):
                return
            self.close(is_failing=False)  # another process is checking whether it is stale

    def close(self, is_failing: bool) -> None:
        """Close the file, and remove it unless it has replaced the target."""
        self._close_descriptor()
        if self.name:
            try:
                self._remove(self.name)
            except OSError:
                _left[self.path] = self.name
                if not is_failing:
                    raise

    def _remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._directory)

    def finish_writing(self) -> None:
        """Replace the descriptor by a read-only one: a program that is open for writing can't be started."""
        fd = os.open(
            f"/proc/self/fd/{self.fd}", _FINISHED
        )  # not by its name, which may lead to another file by now
        lock_temporary(fd)
        os.close(self.fd)
        self.fd = fd

    def replace_target(self) -> bool:
        """Rename it over the target and close it; False if that is impossible because the target is a mount point."""
        try:
            os.rename(self.name, self._base, src_dir_fd=self._directory, dst_dir_fd=self._directory)
        except OSError as error:
            if error.errno not in (errno.EBUSY, errno.EXDEV):
                raise
            return False
        self.name = ""
        self.close(is_failing=False)
        return True

    def take_free_name(self) -> bool:
        """Rename it to the target if nothing is there, and close it before.

        False if something is there, or if the file system can't rename like that.
        """
        self._close_descriptor()
        if not rename_if_free(self.name, self._base, self._directory):
            return False
        self._is_renamed()
        return True

    def replace_in_memory(self) -> bool:
        """As `replace_target`, but closes it first: so its last event is that of the rename (see `OwnRenames`).

        Also False if another process took it for stale in between, as it was not locked.
        """
        self._close_descriptor()
        try:
            os.rename(self.name, self._base, src_dir_fd=self._directory, dst_dir_fd=self._directory)
        except OSError as error:
            if error.errno not in (errno.EBUSY, errno.EXDEV, errno.ENOENT):
                raise
            return False
        self._is_renamed()
        return True

    def _is_renamed(self) -> None:
        own_renames.renamed(self.path, self.name)
        self.name = ""

    def _close_descriptor(self) -> None:
        fd, self.fd = self.fd, -1
        if fd != -1:
            os.close(fd)


def rename_if_free(old: str, new: str, directory: int) -> bool:
    """Rename ``old`` to ``new``, both in the directory open at ``directory``, unless ``new`` exists.

    Returns False if it exists, or if it can't be renamed like that, for whatever reason: some file systems can't.
    """
    if _renameat2 is None:
        return False
    names = os.fsencode(old), os.fsencode(new)
    return bool(_renameat2(directory, names[0], directory, names[1], _NO_REPLACE) == 0)
