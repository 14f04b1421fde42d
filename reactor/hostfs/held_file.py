"""Holds what a change replaces under a second name beside it, until the change has proved good.

The name is a hard link, so the file comes back with all its attributes. Where nothing was, an empty file with another name
says so. Both names are those of temporary files, made from the name of the path: after a crash the next run finds them, and one
that does not hold files for this path removes them as stale. Until then they are locked, as temporary files are.
"""

from __future__ import annotations

import errno
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial

import trio

from reactor.hostfs.backups import PreviousContent
from reactor.hostfs.disks import changing
from reactor.hostfs.errors import ErrorContext
from reactor.hostfs.fsync import change_on_disk, flush_directory
from reactor.hostfs.safe_open import Parent
from reactor.hostfs.temp_files import lock_temporary, temporary_name
from reactor.resource.hashes import blake2b
from reactor.resource.plan import ResourceError

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def is_held(path: str) -> bool:
    """Whether a change of ``path`` was interrupted before it had proved good. Raises OSError and ResourceError."""
    with Parent(path) as (directory, base):
        return any(_exists(name, directory) for name in _names(base))


@asynccontextmanager
async def held(path: str) -> AsyncIterator[None]:
    """Hold what is at ``path`` during a block that replaces it; put it back if the block raises.

    Raises ResourceError if it can't be held, before the block begins.
    """
    with ErrorContext(f"hold the former file of {path}"):
        await change_on_disk(path, partial(_hold, path))
    lock = _locked(path)
    try:
        yield
    except BaseException:
        with trio.CancelScope(shield=True):
            await _put_back(path, is_kept=False)
        raise
    else:
        with trio.CancelScope(shield=True), ErrorContext(f"remove the former file of {path}"):
            await change_on_disk(path, partial(_let_go, path))
    finally:
        if lock != -1:
            os.close(lock)


async def put_back(path: str) -> None:
    """Put back what an interrupted change held. What is at ``path`` now is backed up. Raises ResourceError."""
    await _put_back(path, is_kept=True)


async def _put_back(path: str, *, is_kept: bool) -> None:
    with ErrorContext(f"put back the former file of {path}"):
        await change_on_disk(path, partial(_restore, path, is_kept=is_kept))


async def _hold(path: str) -> None:
    with Parent(path) as (directory, base):
        former, none = _names(base)
        try:
            await changing(
                partial(
                    os.link, base, former, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False
                )
            )
        except FileNotFoundError:
            os.close(await changing(partial(os.open, none, _NEW, 0o600, dir_fd=directory)))
        except OSError as error:
            if error.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP):
                raise
            words = f"{path} can't get a second name, so it could not be put back: {error.strerror}"
            hint = "remove verify: a mounted file, and one on a file system without hard links, can't have it"
            raise ResourceError(words, hint) from error
        await flush_directory(directory)


def _locked(path: str) -> int:
    """A descriptor with which what is held does not count as stale; -1 if there can be none."""
    with suppress(OSError, ResourceError), Parent(path) as (directory, base):
        for name in _names(base):
            with suppress(FileNotFoundError):
                fd = os.open(name, _READ, dir_fd=directory)
                lock_temporary(fd)
                return fd
    return -1


async def _restore(path: str, *, is_kept: bool) -> None:
    with Parent(path) as (directory, base):
        former, none = _names(base)
        with PreviousContent(path, f"file#{path}", directory, base) as present:
            if _exists(former, directory):
                await changing(partial(os.rename, former, base, src_dir_fd=directory, dst_dir_fd=directory))
            elif _exists(none, directory):
                await changing(partial(_unlink, base, directory))
            if is_kept:
                await present.keep()
        await flush_directory(directory)
        # Also the former one: a rename does nothing if both names lead to the same file, because it was not replaced.
        await changing(partial(_unlink, former, directory))
        await changing(partial(_unlink, none, directory))


async def _let_go(path: str) -> None:
    with Parent(path) as (directory, base):
        for name in _names(base):
            await changing(partial(_unlink, name, directory))


def _names(base: str) -> tuple[str, str]:
    """The name of the former file, and that of the file which says that there was none."""
    digits = (
        blake2b(os.fsencode(f"{what}/{base}"), digest_size=6).hexdigest() for what in ("former", "none")
    )
    former, none = (temporary_name(base, digits=each) for each in digits)
    return former, none


def _exists(name: str, directory: int) -> bool:
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _unlink(name: str, directory: int) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=directory)
