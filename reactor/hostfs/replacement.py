"""Replaces regular files atomically: a finished temporary file is renamed over the old one.

Readers see the old file or the new one, also after a crash. Everything is done relative to a descriptor of the parent
directory, and no symlink is followed as the last component. The old content goes to the backup store first.
"""

from __future__ import annotations

import os
import stat
from functools import partial
from typing import TYPE_CHECKING, Protocol, cast

from reactor.hostfs.attributes import Attributes, give
from reactor.hostfs.backups import PreviousContent, ShortFile
from reactor.hostfs.content import Content, Inline, copy
from reactor.hostfs.disks import changing, changing_to_the_end
from reactor.hostfs.errors import ErrorContext, resource_error
from reactor.hostfs.fsync import (
    GroupCommit,
    change_on_disk,
    commit_of,
    flush,
    flush_directory,
    flush_names,
    is_name_in_memory,
)
from reactor.hostfs.grouped_work import Steps
from reactor.hostfs.private import private_copy
from reactor.hostfs.safe_open import Parent, first_missing_path, open_path
from reactor.hostfs.stat_stamp import Stamp, stamp_of
from reactor.hostfs.temp_files import TemporaryFile
from reactor.hostfs.writers import others_may_replace, refuse_forbidden, refuse_read_only, refuse_unchangeable
from reactor.resource.plan import ResourceError

if TYPE_CHECKING:
    from reactor.hostfs.extended import Extended

_WRITABLE_BY_OTHERS = 0o022


def refuse_replacement(path: str) -> None:
    """Raise the ResourceError with which ``path`` could not be replaced or removed, as far as that can be seen before.

    That is a read-only file system (or mount of the file itself), a directory that we may not change, and what chattr(1) protects. Missing directories may be above ``path``.
    """
    with ErrorContext(f"write {path}"):
        with Parent(first_missing_path(path)) as (directory, base):
            refuse_read_only(directory)
            refuse_unchangeable(directory)
            refuse_forbidden(directory, base)
        if os.path.isfile(path) and not os.path.islink(path):
            fd = open_path(path)
            try:
                refuse_read_only(fd)
                refuse_unchangeable(fd)
            finally:
                os.close(fd)


class Validator(Protocol):
    """Validates new content before it replaces the old content."""

    async def approve(self, candidate: str, path: str) -> None:
        """Raise ResourceError unless the file ``candidate`` may become ``path``."""


class ChangedFileError(ResourceError):
    """The file to replace is no longer as it was read."""


_NewFile = tuple[Content, Attributes, Validator | None, "Extended | None", Stamp | None, ShortFile | None]
"""What replaces a file, the stamp that the old one must still have (None for any), and the old one if it is short."""


async def write_file(
    path: str,
    content: Content,
    attributes: Attributes,
    validator: Validator | None = None,
    extended: Extended | None = None,
    *,
    before: Stamp | None = None,
    short: ShortFile | None = None,
) -> None:
    """Replace ``path`` by a regular file with this content and these attributes, atomically and durably.

    Raises ResourceError when that fails, or when ``validator`` does not approve; with ``before``, also when the file
    has another stamp than that by then. An empty stamp is that of a missing file. ``path`` is then unchanged.
    ``short`` is the file that a check found there.
    """
    new = (content, attributes, validator, extended, before, short)
    try:
        parent, device = (Parent(path), None) if short is None else (short.parent, short.device)
        directory, base = parent.hold()
        # A file that is mounted there has another device; it can't be replaced, and goes to the disk in any case.
        if is_name_in_memory(directory, device):
            try:
                if await _replaced(path, directory, base, new):
                    return
            finally:
                parent.close()
        elif (
            _is_short(new)
            and (commit := commit_of(directory)) is not None
            and await _replaced_in_steps(commit, path, parent, new)
        ):
            return
        parent.close()  # an error keeps this frame for a while, and the open directory would keep its disk mounted
        await change_on_disk(path, partial(_store_on_disk, path, new))
    except OSError as error:
        raise resource_error(error, f"write {path}") from error


async def write_if_unchanged(
    path: str, content: Content, attributes: Attributes, validator: Validator | None, before: Stamp
) -> bool:
    """As `write_file`, but only if the file still has the stamp ``before``, which is empty for a missing file.

    Returns whether it was written.
    """
    try:
        await write_file(path, content, attributes, validator, before=before)
    except ChangedFileError:
        return False
    return True


async def _store_on_disk(path: str, new: _NewFile) -> None:
    """Store the content through a handle of its own, since the caller may abandon the change before it ends."""
    with Parent(path) as (directory, base):
        await _replaced(path, directory, base, new, is_on_disk=True)


def _is_short(new: _NewFile) -> bool:
    """Whether the temporary file can be made by one call that takes no longer than the system calls."""
    content, _, validator, *_ = new
    return validator is None and isinstance(content, Inline) and content.is_short


async def _replaced_in_steps(commit: GroupCommit, path: str, parent: Parent, new: _NewFile) -> bool:
    """Store short content on the disk, by one call of its thread. False if the target is a mount point."""
    directory, base = parent.hold()
    former = PreviousContent(path, f"file#{path}", directory, base, short=new[-1])
    return await commit.change(path, _steps(path, parent, new, former), former.keep_if_gone)


def _steps(path: str, parent: Parent, new: _NewFile, former: PreviousContent) -> Steps[bool]:
    """The steps of `_replaced_in_steps`. They close ``parent``, since the caller may abandon them."""
    content, attributes, _, extended, before, _ = new
    is_failing = True
    with parent as (directory, base):
        temporary = TemporaryFile(path, directory, base, attributes)
        try:
            _finish(temporary, cast("Inline", content), attributes, extended, is_locked=True)
            yield temporary.fd
            if before is not None:
                _require_unchanged(path, directory, base, before)
            former.hold()
            if not temporary.replace_target():
                return False
            is_failing = False
            former.load()
        finally:
            temporary.close(is_failing)
        yield from flush_names(directory)
        return True


async def _replaced(path: str, directory: int, base: str, new: _NewFile, *, is_on_disk: bool = False) -> bool:
    """Store the content in the directory open at ``directory``. A file in memory is not flushed.

    A mount point can't be replaced. With ``is_on_disk`` it is overwritten; otherwise this returns False, because
    another disk may be mounted there.
    """
    content, attributes, validator, extended, before, short = new
    temporary = TemporaryFile(path, directory, base, attributes, same_suffix=validator is not None)
    is_failing = True
    try:
        if validator is None and isinstance(content, Inline) and content.is_short:
            finish = partial(_finish, temporary, content, attributes, extended, is_locked=is_on_disk)
            device = await changing(finish) if is_on_disk else finish()
        else:
            await changing(temporary.make)
            await content.copy_to(temporary.fd)
            if validator is not None:
                temporary.finish_writing()
                await _approved(validator, path, directory, temporary, attributes)
            device = await changing(_give_all, temporary.fd, attributes, extended, path)
        if is_on_disk:
            await flush(temporary.fd, device)
        if before is not None:
            _require_unchanged(path, directory, base, before)
        if is_on_disk or short is not None or not temporary.take_free_name():
            with PreviousContent(
                path, f"file#{path}", directory, base, device, short=short, is_in_memory=not is_on_disk
            ) as former:
                replaced = (
                    await changing(temporary.replace_target) if is_on_disk else temporary.replace_in_memory()
                )
                if not (replaced or is_on_disk):
                    return False
                await former.keep()
            if not replaced:
                await _overwrite(path, directory, base, temporary.fd, attributes, extended=extended)
        is_failing = False
    finally:
        if temporary.fd != -1 or temporary.name:
            await changing_to_the_end(temporary.close, is_failing)
    if is_on_disk:
        await flush_directory(directory, device)
    return True


def _finish(
    temporary: TemporaryFile,
    content: Inline,
    attributes: Attributes,
    extended: Extended | None,
    *,
    is_locked: bool,
) -> int:
    """Make the temporary file with its short content and its attributes; return its device. Raises ResourceError.

    In one call: each call of the thread of a disk costs the event loop two switches of tasks.
    """
    temporary.make(is_locked=is_locked)
    content.write_now(temporary.fd)
    return _give_all(temporary.fd, attributes, extended, temporary.path)


def _require_unchanged(path: str, directory: int, base: str, before: Stamp) -> None:
    """Raise ChangedFileError unless the file has the stamp ``before``."""
    try:
        now = stamp_of(os.stat(base, dir_fd=directory, follow_symlinks=False))
    except FileNotFoundError:
        now = ()
    if now != before:
        words = f"another program changed {path} while the new content was made of the old one"
        raise ChangedFileError(words, "it is tried again with the content that is there then")


async def _approved(
    validator: Validator, path: str, directory: int, temporary: TemporaryFile, attributes: Attributes
) -> None:
    """Let ``validator`` read the finished temporary file, or a private copy if other users could replace or change it.

    The copy is made before the temporary file gets its owner.
    """
    is_theirs = attributes.uid not in (0, os.geteuid()) or attributes.mode & _WRITABLE_BY_OTHERS
    if is_theirs or others_may_replace(directory, temporary.name):
        with private_copy(temporary.fd, os.path.basename(path), attributes) as candidate:
            await validator.approve(candidate, path)
    else:
        await changing(give, temporary.fd, attributes, path)
        await validator.approve(os.path.join(os.path.dirname(path), temporary.name), path)


def _give_all(fd: int, attributes: Attributes, extended: Extended | None, path: str) -> int:
    """Set the attributes and the extended ones of the file; return its device. Raises ResourceError."""
    found = os.fstat(fd)
    if (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) != attributes:
        give(fd, attributes, path)
    if extended:
        from reactor.hostfs.extended import set_on  # noqa: PLC0415 - few files have them

        set_on(fd, extended, path)
    return found.st_dev


async def _overwrite(
    path: str,
    directory: int,
    base: str,
    finished: int,
    attributes: Attributes,
    *,
    extended: Extended | None,
) -> None:
    """Copy the file open at ``finished`` over the bind-mounted file ``base``, such as /etc/hosts in a container."""
    fd = os.open(base, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    try:
        await copy(finished, fd)
        await changing(os.ftruncate, fd, os.lseek(fd, 0, os.SEEK_CUR))
        await flush(fd, await changing(_give_all, fd, attributes, extended, path))
    finally:
        os.close(fd)
