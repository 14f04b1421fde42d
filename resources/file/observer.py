"""Reads the state of the path of a file resource, and keeps a stamp when it is as desired."""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import suppress

from reactor.hostfs import (
    NOTHING_WANTED,
    Attributes,
    Content,
    FileType,
    Parent,
    Stamp,
    accounts,
    at_hand,
    find_stale_temporaries,
    is_mount_point,
    open_directory,
    open_path,
    resource_error,
    stamp_is_reliable,
    stamp_of,
    type_of,
)
from reactor.resources.file.state import Desired, FileState

_SPECIAL_BITS = 0o7000
_FILE = (
    FileType.FILE
)  # looking an enum member up takes a tenth of the time of an lstat, for each of many files
_LEADS_NOWHERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Observer:
    """Reads the state of one path, without waiting for the writer of a FIFO or for a device.

    A stamp is kept when the content was read and everything was as desired. As long as a stat has the same stamp, the content
    is not read again.
    """

    __slots__ = ("_ids", "_stale_temporaries", "_stamp", "_wanted", "desired")

    def __init__(self, desired: Desired) -> None:
        self.desired = desired
        self._stamp: Stamp | None = None
        self._stale_temporaries: tuple[str, ...] | None = None
        self._ids: tuple[int, int] | None = None
        self._wanted = NOTHING_WANTED

    async def observe(self) -> FileState:
        """The state of the path. Raises ResourceError when it can't be read."""
        desired = self.desired
        ids = accounts.known(desired.owner, desired.group)
        if ids is None:
            ids = await accounts.look_up(desired.owner, desired.group)
        if ids is not self._ids:
            self._ids, self._wanted = ids, Attributes(*ids, desired.mode)
        wanted = self._wanted
        if self._stale_temporaries != ():  # once there are none, only another killed run can make some
            directory, _, base = desired.path.rpartition("/")
            self._stale_temporaries = await find_stale_temporaries(directory or "/", base, wanted.uid)
        try:
            # By path, which may lead anywhere: it only shows that nothing has changed, or how to open the file.
            seen = os.lstat(desired.path)
            if self._stamp is not None and self._proven(seen):
                mode = stat.S_IMODE(seen.st_mode)
                return FileState(_FILE, mode, seen.st_uid, seen.st_gid, wanted, same_content=True)
            if stat.S_ISREG(seen.st_mode) and desired.ensure == "present" and desired.content is not None:
                return await self._compare(desired.content, wanted)
            return self._look(wanted)
        except (FileNotFoundError, NotADirectoryError):
            self._stamp = None
            return self._absent(wanted)
        except OSError as error:
            raise resource_error(error, f"look at {desired.path}") from error

    def _proven(self, found: os.stat_result) -> bool:
        """Whether the stamp shows that nothing has changed; otherwise the stamp is dropped."""
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
        """The state of a missing file. If that is as desired, check that no symlink of another user is on the way to it.

        Otherwise the change that follows checks it.
        """
        if self.desired.ensure == "absent":
            with suppress(FileNotFoundError, NotADirectoryError):
                os.close(open_directory(os.path.dirname(self.desired.path)))
        return FileState(FileType.ABSENT, wanted=wanted, stale_temporaries=self._stale_temporaries or ())

    def _look(self, wanted: Attributes) -> FileState:
        """The state of anything but a regular file with managed content."""
        desired = self.desired
        fd = open_path(desired.path)
        try:
            found = os.fstat(fd)
            kind = type_of(found.st_mode)
            if kind is FileType.DIRECTORY and desired.is_covered and is_mount_point(desired.path, fd):
                # The attributes of the directory itself can't be read while something is mounted on it.
                wanted = Attributes(found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode))
            if kind is FileType.SYMLINK and desired.ensure != "absent" and desired.content is None:
                return self._follow(found, wanted)
            occupied = kind is FileType.DIRECTORY and desired.ensure == "absent" and _occupied(fd)
            return self._state(kind, found, wanted, occupied=occupied)
        finally:
            os.close(fd)

    async def _compare(self, content: Content, wanted: Attributes) -> FileState:
        """The state of a regular file, compared with ``content``."""
        now = time.time_ns()
        try:
            fd = open_path(self.desired.path, _OPEN)
        except PermissionError:
            return self._unreadable(wanted)
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode):  # it was replaced since the first stat
                return self._state(type_of(found.st_mode), found, wanted)
            if (same := content.equals_now(fd, found.st_size)) is None:
                await at_hand(self.desired.path, fd, found.st_size)
                same = await content.equals(fd, found.st_size)
        finally:
            os.close(fd)
        state = self._state(_FILE, found, wanted, same_content=same)
        as_desired = same and (state.uid, state.gid, state.mode) == wanted
        if as_desired and not state.stale_temporaries and stamp_is_reliable(found, now):
            self._stamp = stamp_of(found)
        return state

    def _unreadable(self, wanted: Attributes) -> FileState:
        """The state of a file that we may not read, if it is ours and the desired mode makes it readable."""
        fd = open_path(self.desired.path)
        try:
            found = os.fstat(fd)
        finally:
            os.close(fd)
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) == self.desired.mode:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), self.desired.path)
        return self._state(type_of(found.st_mode), found, wanted)

    def _follow(self, found: os.stat_result, wanted: Attributes) -> FileState:
        """The state of a symlink, with the type and attributes of its target."""
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
            self._stale_temporaries or (),
            shared=found.st_nlink > 1 and kind is not FileType.DIRECTORY,
        )


def _occupied(handle: int) -> bool:
    fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=handle)
    try:
        with os.scandir(fd) as entries:
            return next(entries, None) is not None
    finally:
        os.close(fd)
