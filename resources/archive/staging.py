"""The staging directory: an archive is unpacked into it before the content is moved to its place.

It is on the file system of that place. Its existence means that an unpacking is due: it is created before the archive
is put in place, and removed when the whole content is on the disk. So a later process repeats an interrupted
unpacking.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from reactor import ResourceError
from reactor.hostfs import Parent, flush_directory, make_directories, make_directory

_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PARENT_MODE = 0o755
_TREE = "tree"


@contextmanager
def opened_directory(path: str, within: int | None = None) -> Iterator[int]:
    """Open the directory at ``path``, relative to the directory open at ``within``, for a block.

    Raises OSError, also for a symlink.
    """
    descriptor = os.open(path, _FLAGS, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def refuse_other_than_directory(extract_parent: str) -> None:
    """Raise ResourceError if anything but a directory is at the path to unpack into."""
    if os.path.lexists(extract_parent) and not os.path.isdir(extract_parent):
        hint = "name a directory in extract_parent, or remove what is there"
        raise ResourceError(f"{extract_parent} is not a directory", hint, missing=extract_parent)


def staging_path(extract_parent: str, archive: str) -> str:
    """The staging directory for the archive at the path ``archive``."""
    return f"{extract_parent}/.reactor-unpack-{hashlib.sha256(os.fsencode(archive)).hexdigest()[:16]}"


async def mark_due(extract_parent: str, archive: str, owner: tuple[int, int]) -> None:
    """Create the staging directory durably, to note that ``archive`` must be unpacked into ``extract_parent``."""
    make(extract_parent, archive, owner)
    with Parent(staging_path(extract_parent, archive)) as (directory, _):
        await flush_directory(directory)


def make(extract_parent: str, archive: str, owner: tuple[int, int]) -> str:
    """Create the staging directory, and ``extract_parent`` if it is missing. Returns its path.

    Raises ResourceError when anything but a staging directory has its name.
    """
    path = staging_path(extract_parent, archive)
    if not os.path.isdir(extract_parent):
        make_directories(os.path.dirname(extract_parent))
        with Parent(extract_parent) as (above, base):
            make_directory(above, base, _PARENT_MODE, owner[0])
            _give(base, above, owner)
    with Parent(path) as (parent, base):
        with suppress(FileExistsError):
            make_directory(parent, base, 0o700, owner[0])
        _refuse_foreign(path, os.stat(base, dir_fd=parent, follow_symlinks=False))
    return path


@contextmanager
def staged(path: str, parent: int) -> Iterator[tuple[str, int]]:
    """Lock the staging directory ``path``.

    Yields the path of an empty directory in it, and the descriptor of ``path``. ``parent`` is a handle of the parent
    directory. The yielded path leads through the descriptor: the owner of the parent can put a symlink in place of
    ``path`` at any time. Raises ResourceError when another process has the lock.
    """
    with opened_directory(os.path.basename(path), parent) as descriptor:
        _refuse_foreign(path, os.fstat(descriptor))
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            hint = "two runs with different state directories manage it: let only one of them manage it"
            raise ResourceError(f"another process unpacks in {path}", hint) from error
        tree = f"/proc/self/fd/{descriptor}/{_TREE}"
        _clear(tree)
        os.mkdir(tree, 0o700)
        try:
            yield tree, descriptor
        finally:
            _clear(tree)


def discard(path: str) -> None:
    """Remove the staging directory ``path`` that an interrupted run left. Blocking.

    The owner of the parent could give its name to another directory of root. So only the content of a staging
    directory is removed, and ResourceError is raised for anything else. Raises OSError.
    """
    with Parent(path) as (parent, base):
        with opened_directory(base, parent) as descriptor:
            _refuse_foreign(path, os.fstat(descriptor))
            if set(os.listdir(descriptor)) - {_TREE}:
                raise ResourceError(f"{path} is in the way: reactor did not create it", "remove it")
            _clear(f"/proc/self/fd/{descriptor}/{_TREE}")
        os.rmdir(base, dir_fd=parent)


def _give(directory: str, above: int, owner: tuple[int, int]) -> None:
    """Change the owner through a descriptor: a symlink may have replaced the directory by now."""
    with opened_directory(directory, above) as descriptor:
        os.fchown(descriptor, *owner)


def _refuse_foreign(path: str, found: os.stat_result) -> None:
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise ResourceError(f"{path} is in the way: reactor did not create it", "remove it")


def _clear(tree: str) -> None:
    with suppress(FileNotFoundError):
        shutil.rmtree(tree)
