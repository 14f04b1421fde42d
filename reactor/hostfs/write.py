"""Creates, replaces and removes files and directories.

Everything is done relative to a descriptor of the parent directory, and no symlink is followed as the last component.
A finished temporary file is renamed over the old file: readers see the old file or the new one, also after a crash.

The content of a regular file goes to the backup store before the file is replaced or removed.

Only content is flushed to the disk. A power failure may undo a change of attributes, a new directory or a removal, but
never leaves a mix, and the next check makes the change again.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Protocol

from reactor.hostfs.attributes import Attributes
from reactor.hostfs.backups import PreviousContent
from reactor.hostfs.content import Content, copy
from reactor.hostfs.disks import at_length, changing, changing_to_the_end
from reactor.hostfs.errors import ErrorContext, resource_error
from reactor.hostfs.fsync import disk_at, flush, flush_directory, is_in_memory
from reactor.hostfs.private import private_copy
from reactor.hostfs.safe_open import Parent, make_directories, refuse_foreign_link
from reactor.hostfs.temp_files import is_stale_temporary, lock_temporary, temporary_name
from reactor.hostfs.tree import remove_tree
from reactor.hostfs.writers import others_may_replace
from reactor.resource.plan import ResourceError

_TEMPORARY = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FINISHED = os.O_RDONLY | os.O_CLOEXEC
_HANDLE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_SPECIAL_BITS = 0o7000
_READABLE_BY_ALL = 0o444
_WRITABLE_BY_OTHERS = 0o022

_left: dict[str, str] = {}
"""By target: the temporary file that an attempt could not remove, as in an append-only directory."""


class Validator(Protocol):
    """Validates new content before it replaces the old content."""

    async def approve(self, candidate: str, path: str) -> None:
        """Raise ResourceError unless the file ``candidate`` may become ``path``."""


async def write_file(
    path: str, content: Content, attributes: Attributes, validator: Validator | None = None
) -> None:
    """Replace ``path`` by a regular file with this content and these attributes, atomically and durably.

    Raises ResourceError when that fails, or when ``validator`` does not approve. ``path`` is then unchanged.
    """
    try:
        with Parent(path) as (directory, base):
            if is_in_memory(directory) and await _replaced(
                path, directory, base, content, attributes, validator=validator
            ):
                return
        await on_disk(path, partial(_store_on_disk, path, content, attributes, validator))
    except OSError as error:
        raise resource_error(error, f"write {path}") from error


async def _store_on_disk(
    path: str, content: Content, attributes: Attributes, validator: Validator | None
) -> None:
    """Store the content through a handle of its own, since the caller may abandon the change before it ends."""
    with Parent(path) as (directory, base):
        await _replaced(path, directory, base, content, attributes, validator=validator, is_on_disk=True)


async def _replaced(
    path: str,
    directory: int,
    base: str,
    content: Content,
    attributes: Attributes,
    *,
    validator: Validator | None,
    is_on_disk: bool = False,
) -> bool:
    """Store the content in the directory open at ``directory``. A file in memory is not flushed.

    A mount point can't be replaced. With ``is_on_disk`` it is overwritten; otherwise this returns False, because
    another disk may be mounted there.
    """
    temporary = _Temporary(path, directory, base, attributes.mode, same_suffix=validator is not None)
    is_failing = True
    try:
        await changing(temporary.make) if is_on_disk else temporary.make()
        await content.copy_to(temporary.fd)
        if validator is not None:
            temporary.finish_writing()
            await _approved(validator, path, directory, temporary, attributes)
        if is_on_disk:
            device = await changing(_give, temporary.fd, attributes, path)
            await flush(temporary.fd, device)
        else:
            device = _give(temporary.fd, attributes, path)
        with PreviousContent(path, f"file#{path}", directory, base, device) as former:
            replace = temporary.replace_target
            replaced = await changing(replace) if is_on_disk else replace()
            if not (replaced or is_on_disk):
                return False
            await former.keep()
        if not replaced:
            await _overwrite(path, directory, base, temporary.fd, attributes)
        is_failing = False
    finally:
        if temporary.fd != -1:
            await changing_to_the_end(temporary.close, is_failing)
    if is_on_disk:
        await flush_directory(directory, device)
    return True


async def set_attributes(path: str, attributes: Attributes, special: int = 0) -> None:
    """Set owner, group and mode of the file or directory at ``path``. Raises ResourceError.

    A directory keeps its setuid, setgid and sticky bits, except those in ``special``.
    """
    try:
        await on_disk(path, partial(_set_attributes_of, path, attributes, special))
    except OSError as error:
        raise resource_error(error, f"set the attributes of {path}") from error


async def _set_attributes_of(path: str, attributes: Attributes, special: int) -> None:
    with Parent(path) as (directory, base):
        await changing(_set_attributes, path, directory, base, attributes, special)


async def create_directory(path: str, attributes: Attributes, special: int = 0) -> None:
    """Make ``path`` a directory with these attributes, and replace anything else that is there. Raises ResourceError.

    Missing parents get mode 0755. ``special`` as in `set_attributes`.
    """
    with ErrorContext(f"create the directory {path}"):
        await on_disk(path, partial(_create_directory, path, attributes, special))


async def _create_directory(path: str, attributes: Attributes, special: int) -> None:
    await changing(make_directories, os.path.dirname(path))
    with Parent(path) as (directory, base):
        if not _is_directory(directory, base):
            await _unlink(path, directory, base)
            await changing(partial(os.mkdir, base, 0o700, dir_fd=directory))
        await changing(_set_attributes, path, directory, base, attributes, special)


async def remove_path(path: str, *, recursive: bool) -> None:
    """Remove the file, symlink or directory at ``path``; with ``recursive``, also a directory that is not empty.

    The target of a symlink stays, also of one deep inside the directory. Raises ResourceError.
    """
    with ErrorContext(f"remove {path}"):
        await on_disk(path, partial(_remove, path, recursive=recursive))


async def _remove(path: str, *, recursive: bool) -> None:
    with Parent(path) as (directory, base):
        if not _is_directory(directory, base):
            await _unlink(path, directory, base)
        elif recursive:
            await at_length(remove_tree, path, directory, base)
        else:
            await changing(partial(os.rmdir, base, dir_fd=directory))


async def remove_stale_temporaries(path: str, names: tuple[str, ...], uid: int) -> None:
    """Remove the stale temporary files ``names`` beside ``path``, owned by us or by ``uid``. Raises ResourceError."""
    with ErrorContext(f"remove temporary files in {os.path.dirname(path)}"):
        await on_disk(path, partial(_remove_stale_temporaries, path, names, uid))


async def _remove_stale_temporaries(path: str, names: tuple[str, ...], uid: int) -> None:
    with Parent(path) as (directory, _):
        for name in names:
            if is_stale_temporary(name, uid, directory):
                await changing(partial(os.unlink, name, dir_fd=directory))


async def on_disk(path: str, change: Callable[[], Awaitable[None]]) -> None:
    """Make ``change``, which concerns ``path``, so that a disk that hangs blocks nothing else."""
    if (disk := disk_at(path)) is None:
        await change()
    else:
        await disk.make(path, change)


async def _approved(
    validator: Validator, path: str, directory: int, temporary: _Temporary, attributes: Attributes
) -> None:
    """Let ``validator`` read the finished temporary file, or a private copy if other users could replace or change it.

    The copy is made before the temporary file gets its owner.
    """
    is_theirs = attributes.uid not in (0, os.geteuid()) or attributes.mode & _WRITABLE_BY_OTHERS
    if is_theirs or others_may_replace(directory, temporary.name):
        with private_copy(temporary.fd, os.path.basename(path), attributes) as candidate:
            await validator.approve(candidate, path)
    else:
        await changing(_give, temporary.fd, attributes, path)
        await validator.approve(os.path.join(os.path.dirname(path), temporary.name), path)


class _Temporary:
    """A temporary file that is renamed to ``base``, or removed by `close`.

    If it can't be removed, the next attempt for ``path`` begins by removing it, so there is never more than one.

    Until it gets its owner, its permissions allow nothing that ``mode`` does not allow every user.
    """

    def __init__(self, path: str, directory: int, base: str, mode: int, *, same_suffix: bool) -> None:
        self._path = path
        self._directory = directory
        self._base = base
        self._mode = 0o644 if mode & _READABLE_BY_ALL == _READABLE_BY_ALL else 0o600
        self._same_suffix = same_suffix
        self.name = ""
        self.fd = -1

    def make(self) -> None:
        """Make the file, empty, locked and open for writing."""
        if self._path in _left:
            self._remove(_left[self._path])
            del _left[self._path]
        while True:
            self.name = temporary_name(self._base, same_suffix=self._same_suffix)
            try:
                self.fd = os.open(self.name, _TEMPORARY, self._mode, dir_fd=self._directory)
            except FileExistsError:
                continue
            if lock_temporary(self.fd):
                return
            self.close(is_failing=False)  # another process is checking whether it is stale

    def close(self, is_failing: bool) -> None:
        """Close the file, and remove it unless it has replaced the target."""
        fd, self.fd = self.fd, -1
        os.close(fd)
        if self.name:
            try:
                self._remove(self.name)
            except OSError:
                _left[self._path] = self.name
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


async def _overwrite(path: str, directory: int, base: str, finished: int, attributes: Attributes) -> None:
    """Copy the file open at ``finished`` over the bind-mounted file ``base``, such as /etc/hosts in a container."""
    fd = os.open(base, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    try:
        await copy(finished, fd)
        await changing(os.ftruncate, fd, os.lseek(fd, 0, os.SEEK_CUR))
        await flush(fd, await changing(_give, fd, attributes, path))
    finally:
        os.close(fd)


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


def _give(fd: int, attributes: Attributes, path: str) -> int:
    """Set the attributes of the file; return its device. Raises ResourceError if the file system ignores them."""
    found = os.fstat(fd)
    if (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == attributes:
        return found.st_dev
    if (found.st_uid, found.st_gid) != (attributes.uid, attributes.gid):
        os.fchown(fd, attributes.uid, attributes.gid)  # takes the setgid bit away
    if stat.S_IMODE(os.fstat(fd).st_mode) != attributes.mode:
        os.fchmod(fd, attributes.mode)
    _require_kept(os.fstat(fd), attributes, path)
    return found.st_dev


def _set_attributes(path: str, directory: int, base: str, attributes: Attributes, special: int) -> None:
    """Set the attributes through a descriptor, or a handle if we may not read the file: neither follows a symlink."""
    itself: int | str
    try:
        itself = fd = os.open(base, _READ, dir_fd=directory)
    except OSError:
        fd = os.open(base, _HANDLE, dir_fd=directory)
        itself = f"/proc/self/fd/{fd}"
    try:
        found = os.fstat(fd)
        if stat.S_ISLNK(found.st_mode):
            raise ResourceError(f"{path} is a symlink; refusing to set attributes through it")
        refuse_foreign_link(fd, path)
        if (found.st_uid, found.st_gid) != (attributes.uid, attributes.gid):
            os.chown(itself, attributes.uid, attributes.gid)
        kept = found.st_mode & _SPECIAL_BITS & ~special if stat.S_ISDIR(found.st_mode) else 0
        os.chmod(itself, attributes.mode | kept)
        _require_kept(os.fstat(fd), attributes._replace(mode=attributes.mode | kept), path)
    finally:
        os.close(fd)


def _require_kept(found: os.stat_result, wanted: Attributes, path: str) -> None:
    """Raise ResourceError unless the file has the attributes that were set: some file systems ignore them."""
    if (has := Attributes(found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode))) == wanted:
        return
    words = f"{path} stays with owner {has.uid}, group {has.gid} and mode {has.mode:04o}"
    hint = "its file system keeps no others: ask for these, or change the options that it is mounted with"
    raise ResourceError(f"{words}, whatever it is given", hint)
