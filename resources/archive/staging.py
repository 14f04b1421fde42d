"""The directory in which an archive is unpacked, before what it holds is moved in: on the same file system as its goal.

While it is there, an unpacking is owed: it is made before the archive takes its place, and removed when everything has
moved in and is on the disk. So a later process knows, and begins again.
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
from reactor.hostfs import Parent, flush_directory, make_directories

_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PARENT_MODE = 0o755
_TREE = "tree"


@contextmanager
def opened_directory(path: str, within: int | None = None) -> Iterator[int]:
    """A descriptor of the directory at ``path``, from the directory open at ``within`` on, for a block.

    A symlink there is an error. Raises OSError.
    """
    descriptor = os.open(path, _FLAGS, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def may_be_directory(path: str) -> bool:
    """Whether ``path`` is a directory, or nothing that keeps one from being made there."""
    return os.path.isdir(path) or not os.path.lexists(path)


def staging_path(extract_parent: str, archive: str) -> str:
    """Where the archive at the path ``archive`` is unpacked first."""
    return f"{extract_parent}/.reactor-unpack-{hashlib.sha256(os.fsencode(archive)).hexdigest()[:16]}"


async def owe(extract_parent: str, archive: str, owner: tuple[int, int]) -> None:
    """Note, on the disk, that ``archive`` is to be unpacked into ``extract_parent``, which is made if it is missing."""
    make(extract_parent, archive, owner)
    with Parent(staging_path(extract_parent, archive)) as (directory, _):
        await flush_directory(directory)


def make(extract_parent: str, archive: str, owner: tuple[int, int]) -> str:
    """The path of the staging directory, which is there now. Raises ResourceError when something is in its way."""
    path = staging_path(extract_parent, archive)
    if not os.path.isdir(extract_parent):
        make_directories(os.path.dirname(extract_parent))
        with Parent(extract_parent) as (above, base):
            os.mkdir(base, _PARENT_MODE, dir_fd=above)
            _give(base, above, owner)
    with Parent(path) as (parent, base):
        with suppress(FileExistsError):
            os.mkdir(base, 0o700, dir_fd=parent)
        _refuse_foreign(path, os.stat(base, dir_fd=parent, follow_symlinks=False))
    return path


@contextmanager
def staged(path: str, parent: int) -> Iterator[tuple[str, int]]:
    """The path of an empty directory in the staging directory ``path``, gone after the block, and a descriptor of the latter.

    ``parent`` is a handle of what it is in. The path that is given leads there through a descriptor: whoever owns what
    ``path`` is in may put a symlink in its place meanwhile. Raises ResourceError when another process is at it.
    """
    with opened_directory(os.path.basename(path), parent) as descriptor:
        _refuse_foreign(path, os.fstat(descriptor))
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            hint = "two runs with different state directories manage it: leave it to one of them"
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

    Whoever owns what it is in may give its name to another directory of root, which they can't empty themselves: nothing
    but what a staging directory holds is removed. Raises ResourceError for anything else, and OSError.
    """
    with Parent(path) as (parent, base):
        with opened_directory(base, parent) as descriptor:
            _refuse_foreign(path, os.fstat(descriptor))
            if set(os.listdir(descriptor)) - {_TREE}:
                raise ResourceError(f"{path} is in the way: it is not ours", "remove it")
            _clear(f"/proc/self/fd/{descriptor}/{_TREE}")
        os.rmdir(base, dir_fd=parent)


def _give(directory: str, above: int, owner: tuple[int, int]) -> None:
    """Through a descriptor: by now a symlink may have taken the place of what was made."""
    with opened_directory(directory, above) as descriptor:
        os.fchown(descriptor, *owner)


def _refuse_foreign(path: str, found: os.stat_result) -> None:
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise ResourceError(f"{path} is in the way: it is not ours", "remove it")


def _clear(tree: str) -> None:
    with suppress(FileNotFoundError):
        shutil.rmtree(tree)
