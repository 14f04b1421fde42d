"""Looks at the path of a file resource, and remembers a stamp when all was well there."""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import suppress
from functools import lru_cache

from reactor.hostfs import (
    NOTHING_WANTED,
    Attributes,
    Content,
    FileType,
    Inline,
    Parent,
    Stamp,
    accounts,
    explained,
    find_litter,
    is_mount_point,
    known_listing,
    listing_of,
    open_directory,
    open_path,
    settled,
    stamp_of,
    type_of,
)
from reactor.resources.file.state import Desired, FileState

_SPECIAL_BITS = 0o7000
_FILE = FileType.FILE  # looking a member up in its class costs a tenth of an lstat, and there are many files
_LEADS_NOWHERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Observer:
    """Finds the state of one path. Reads only, and waits for nobody: not for a FIFO's writer, nor for a device.

    A stamp is kept when content was read and all was as desired. While a stat equals it, the content need not
    be read again. ``desired`` is what the resource asks for.
    """

    __slots__ = ("_ids", "_is_likely_file", "_litter", "_right", "_stamp", "desired")

    def __init__(self, desired: Desired) -> None:
        self.desired = desired
        self._stamp: Stamp | None = None
        self._litter: tuple[str, ...] | None = None
        self._is_likely_file = False
        self._ids: tuple[int, int] | None = None
        self._right = _right_state(*NOTHING_WANTED)

    async def observe(self) -> FileState:
        """The state of the path. Raises ResourceError when it can't be told."""
        desired = self.desired
        ids = accounts.known(desired.owner, desired.group)
        if ids is None:
            ids = await accounts.look_up(desired.owner, desired.group)
        if ids is not self._ids:
            self._ids, self._right = ids, _right_state(*ids, desired.mode)
        wanted = self._right.wanted
        is_likely_file, self._is_likely_file = self._is_likely_file, False
        if self._litter != ():  # once it is gone, nothing can bring it back but another killed run
            directory, _, base = desired.path.rpartition("/")
            listing = known_listing(directory) or await listing_of(directory or "/")
            self._litter = await find_litter(directory or "/", base, wanted.uid) if listing.temporary else ()
            is_likely_file = is_likely_file or listing.takes_file(base)
        try:
            content = desired.content if desired.ensure == "present" else None
            if is_likely_file and content is not None and (state := self._compare_likely(content, wanted)):
                return state
            # By path, which may lead anywhere: it proves that nothing has changed, or tells how to open what is there.
            seen = os.lstat(desired.path)
            if self._stamp is not None and self._proven(seen):
                return self._right
            if content is not None and stat.S_ISREG(seen.st_mode):
                return self._compare_now(content, wanted) or await self._compare(content, wanted)
            return self._look(wanted)
        except (FileNotFoundError, NotADirectoryError):
            self._stamp = None
            return self._absent(wanted)
        except OSError as error:
            raise explained(error, f"look at {desired.path}") from error

    def expect_file(self) -> None:
        """A regular file has just been put in place, so that it can be opened before it is looked at."""
        self._is_likely_file = True

    def _compare_likely(self, content: Content, wanted: Attributes) -> FileState | None:
        """The state of what most likely is a regular file; None where something else is found."""
        try:
            return self._compare_now(content, wanted)
        except FileNotFoundError:
            raise
        except OSError:
            return None

    def _proven(self, found: os.stat_result) -> bool:
        """Whether the stamp says that all is as it was; otherwise it is dropped."""
        content = self.desired.content
        if (
            stamp_of(found) == self._stamp
            and (found.st_uid, found.st_gid) == self._ids
            and content is not None
            and content.unchanged()
        ):
            return True
        self._stamp = None
        return False

    def _absent(self, wanted: Attributes) -> FileState:
        """The state where nothing is. Where that is as desired, no stranger may lead there; else, the change would see it."""
        if self.desired.ensure == "absent":
            with suppress(FileNotFoundError, NotADirectoryError):
                os.close(open_directory(os.path.dirname(self.desired.path)))
        return FileState(FileType.ABSENT, wanted=wanted, litter=self._litter or ())

    def _look(self, wanted: Attributes) -> FileState:
        """The state of what is no regular file, or whose content is of no concern."""
        desired = self.desired
        fd = open_path(desired.path)
        try:
            found = os.fstat(fd)
            kind = type_of(found.st_mode)
            if kind is FileType.DIRECTORY and desired.is_covered and is_mount_point(desired.path, fd):
                # The directory is there. What it is like can only be seen once nothing is mounted on it.
                wanted = Attributes(found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode))
            if kind is FileType.SYMLINK and desired.ensure != "absent" and desired.content is None:
                return self._follow(found, wanted)
            occupied = kind is FileType.DIRECTORY and desired.ensure == "absent" and _occupied(fd)
            return self._state(kind, found, wanted, occupied=occupied)
        finally:
            os.close(fd)

    def _compare_now(self, content: Content, wanted: Attributes) -> FileState | None:
        """The state of what was a regular file just now, and may hold ``content``. None where that takes a wait."""
        if not isinstance(content, Inline):
            return None
        now = time.time_ns()
        try:
            fd = open_path(self.desired.path, _OPEN)
        except PermissionError:
            return self._unreadable(wanted)
        try:
            found = os.fstat(fd)
            is_file = stat.S_ISREG(found.st_mode)
            same = content.equals_now(fd, found.st_size) if is_file else False
        finally:
            os.close(fd)
        return None if same is None else self._compared(found, wanted, now, same=same)

    async def _compare(self, content: Content, wanted: Attributes) -> FileState:
        """The same where that takes a wait, since the content is much or comes from elsewhere."""
        now = time.time_ns()
        try:
            fd = open_path(self.desired.path, _OPEN)
        except PermissionError:
            return self._unreadable(wanted)
        try:
            found = os.fstat(fd)
            same = stat.S_ISREG(found.st_mode) and await content.equals(fd, found.st_size)
        finally:
            os.close(fd)
        return self._compared(found, wanted, now, same=same)

    def _compared(self, found: os.stat_result, wanted: Attributes, now: int, *, same: bool) -> FileState:
        if not stat.S_ISREG(found.st_mode):  # it was replaced since the first stat
            return self._state(type_of(found.st_mode), found, wanted)
        is_right = same and (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == wanted
        if not is_right or self._litter:
            return self._state(_FILE, found, wanted, same_content=same)
        if settled(found, now):
            self._stamp = stamp_of(found)
        return self._right

    def _unreadable(self, wanted: Attributes) -> FileState:
        """The state of a file that we may not read, if it is ours, and another mode makes it readable."""
        fd = open_path(self.desired.path)
        try:
            found = os.fstat(fd)
        finally:
            os.close(fd)
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) == self.desired.mode:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), self.desired.path)
        return self._state(type_of(found.st_mode), found, wanted)

    def _follow(self, found: os.stat_result, wanted: Attributes) -> FileState:
        """The state of a symlink, with type and attributes of what it leads to."""
        try:
            with Parent(self.desired.path) as (directory, base):
                found = os.stat(base, dir_fd=directory)
        except OSError as error:
            if error.errno not in _LEADS_NOWHERE:
                raise
            return self._state(FileType.SYMLINK, found, wanted)
        return self._state(FileType.SYMLINK, found, wanted, target=type_of(found.st_mode))

    def _state(
        self,
        kind: FileType,
        found: os.stat_result,
        wanted: Attributes,
        *,
        same_content: bool | None = None,
        occupied: bool = False,
        target: FileType | None = None,
    ) -> FileState:
        is_kept = stat.S_ISDIR(found.st_mode) and self.desired.ensure == "directory"
        if is_kept and (kept := found.st_mode & _SPECIAL_BITS & ~self.desired.special):
            wanted = wanted._replace(mode=wanted.mode | kept)
        mode = stat.S_IMODE(found.st_mode)
        return FileState(
            kind,
            mode,
            found.st_uid,
            found.st_gid,
            wanted,
            same_content,
            occupied,
            target,
            self._litter or (),
            shared=found.st_nlink > 1 and kind is not FileType.DIRECTORY,
        )


@lru_cache(maxsize=1024)
def _right_state(uid: int, gid: int, mode: int) -> FileState:
    """The state of every file that is as desired where that is wanted. Most files share one."""
    return FileState(_FILE, mode, uid, gid, Attributes(uid, gid, mode), same_content=True)


def _occupied(handle: int) -> bool:
    fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=handle)
    try:
        with os.scandir(fd) as entries:
            return next(entries, None) is not None
    finally:
        os.close(fd)
