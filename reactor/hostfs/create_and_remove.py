"""Creates directories, and removes files and directories.

Everything is done relative to a descriptor of the parent directory, and no symlink is followed as the last component.
The content of a regular file goes to the backup store before the file is removed.

Nothing is flushed to the disk: a power failure may undo a new directory or a removal, but never leaves a mix, and the
next check makes the change again.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from functools import partial

from reactor.hostfs.attributes import Attributes, drop_lists, set_attributes_in
from reactor.hostfs.backups import PreviousContent
from reactor.hostfs.disks import at_length, changing
from reactor.hostfs.errors import ErrorContext
from reactor.hostfs.fsync import change_on_disk
from reactor.hostfs.safe_open import Parent, belongs_to_another
from reactor.hostfs.temp_files import FEW, is_stale_temporary

_DEFAULT_MODE = 0o755
_HANDLE = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def make_directories(directory: str) -> None:
    """Create the absolute ``directory`` and its missing parents, with mode 0755. Raises as `Parent` does."""
    missing = []
    while not os.path.isdir(directory):
        missing.append(directory)
        directory = os.path.dirname(directory)
    for path in reversed(missing):
        with Parent(path) as (parent, base), suppress(FileExistsError):
            make_directory(parent, base, _DEFAULT_MODE, os.geteuid())
            _undo_umask(parent, base)


def make_directory(parent: int, base: str, mode: int, uid: int) -> None:
    """Make the directory ``base`` in the one open at ``parent``. It is to belong to ``uid``. Raises OSError."""
    os.mkdir(base, mode, dir_fd=parent)
    if belongs_to_another(parent, uid):
        fd = os.open(base, _HANDLE, dir_fd=parent)
        try:
            drop_lists(f"/proc/self/fd/{fd}")
        finally:
            os.close(fd)


def _undo_umask(parent: int, base: str) -> None:
    """Give a new directory the bits of its mode that the umask took, unless a default ACL has decided them."""
    with suppress(PermissionError):  # the umask took even our own right to open it
        fd = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        try:
            mode = stat.S_IMODE(os.fstat(fd).st_mode)
            if mode & 0o777 != _DEFAULT_MODE and "system.posix_acl_default" not in os.listxattr(fd):
                os.fchmod(fd, mode & ~0o777 | _DEFAULT_MODE)
        finally:
            os.close(fd)


async def create_directory(path: str, attributes: Attributes, special: int = 0) -> None:
    """Make ``path`` a directory with these attributes, and replace anything else that is there. Raises ResourceError.

    Missing parents get mode 0755. ``special`` as in `set_attributes`.
    """
    with ErrorContext(f"create the directory {path}"):
        await change_on_disk(path, partial(_create_directory, path, attributes, special))


async def _create_directory(path: str, attributes: Attributes, special: int) -> None:
    await changing(make_directories, os.path.dirname(path))
    with Parent(path) as (directory, base):
        if not _is_directory(directory, base):
            await _unlink(path, directory, base)
            await changing(make_directory, directory, base, 0o700, attributes.uid)
        await changing(partial(set_attributes_in, path, directory, base, attributes, special, anywhere=True))


async def remove_path(path: str, *, recursive: bool) -> None:
    """Remove the file, symlink or directory at ``path``; with ``recursive``, also a directory that is not empty.

    The target of a symlink stays, also of one deep inside the directory. Raises ResourceError.
    """
    with ErrorContext(f"remove {path}"):
        await change_on_disk(path, partial(_remove, path, recursive=recursive))


async def _remove(path: str, *, recursive: bool) -> None:
    with Parent(path) as (directory, base):
        if not _is_directory(directory, base):
            await _unlink(path, directory, base)
        elif recursive:
            from reactor.hostfs.tree import remove_tree  # noqa: PLC0415 - few directories are removed

            await at_length(remove_tree, path, directory, base)
        else:
            await changing(partial(os.rmdir, base, dir_fd=directory))


async def remove_same(path: str, device: int, inode: int) -> bool:
    """Remove the file, symlink or empty directory at ``path`` if it is still this inode. Returns whether it was.

    There is no backup. Raises ResourceError.
    """
    removed: list[bool] = []
    with ErrorContext(f"remove {path}"):
        await change_on_disk(path, partial(_remove_same, path, (device, inode), removed))
    return bool(removed)


async def _remove_same(path: str, inode: tuple[int, int], removed: list[bool]) -> None:
    with Parent(path) as (directory, base), suppress(FileNotFoundError):
        found = os.stat(base, dir_fd=directory, follow_symlinks=False)
        if (found.st_dev, found.st_ino) == inode:
            remove = os.rmdir if stat.S_ISDIR(found.st_mode) else os.unlink
            await changing(partial(remove, base, dir_fd=directory))
            removed.append(True)


async def remove_stale_temporaries(path: str, names: tuple[str, ...], uid: int) -> None:
    """Remove the stale temporary files ``names`` beside ``path``, owned by us or by ``uid``. Raises ResourceError."""
    with ErrorContext(f"remove temporary files in {os.path.dirname(path)}"):
        await change_on_disk(path, partial(_remove_stale_temporaries, path, names, uid))


async def _remove_stale_temporaries(path: str, names: tuple[str, ...], uid: int) -> None:
    with Parent(path) as (directory, _):
        remove = changing if len(names) <= FEW else at_length
        await remove(_unlink_stale, directory, names, uid)


def _unlink_stale(directory: int, names: tuple[str, ...], uid: int) -> None:
    for name in names:
        if is_stale_temporary(name, uid, directory):
            os.unlink(name, dir_fd=directory)


async def _unlink(path: str, directory: int, base: str) -> None:
    with PreviousContent(path, f"file#{path}", directory, base) as former:
        with suppress(FileNotFoundError):
            await changing(partial(os.unlink, base, dir_fd=directory))
        await former.keep()


def _is_directory(directory: int, base: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(base, dir_fd=directory, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False
