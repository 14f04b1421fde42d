"""Looks at the path of a file resource, and remembers a stamp when all was well there."""

from __future__ import annotations

import errno
import os
import stat
import time

from resources.file.content import Content
from resources.file.errors import explained
from resources.file.litter import find_litter
from resources.file.owners import accounts
from resources.file.stamp import Stamp, settled, stamp_of
from resources.file.state import NOTHING_WANTED, Attributes, Desired, FileState, FileType, type_of

_PERMISSIONS = 0o777
_ALL_BITS = 0o7777
_FILE = FileType.FILE  # looking a member up in its class costs a tenth of an lstat, and there are many files
_LEADS_NOWHERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Observer:
    """Finds the state of one path. Reads only, and waits for nobody: not for a FIFO's writer, nor for a device.

    A stamp is kept when content was read and all was as desired. While a stat equals it, the content need not
    be read again. ``desired`` is what the resource asks for.
    """

    __slots__ = ("_ids", "_stamp", "_tidy", "_wanted", "desired")

    def __init__(self, desired: Desired) -> None:
        self.desired = desired
        self._stamp: Stamp | None = None
        self._tidy = False
        self._ids: tuple[int, int] | None = None
        self._wanted = NOTHING_WANTED

    async def observe(self) -> FileState:
        """The state of the path. Raises ResourceError when it can't be told."""
        desired = self.desired
        ids = accounts.known(desired.owner, desired.group)
        if ids is None:
            ids = await accounts.look_up(desired.owner, desired.group)
        if ids is not self._ids:
            self._ids, self._wanted = ids, Attributes(*ids, desired.mode)
        wanted = self._wanted
        try:
            found = os.lstat(desired.path)
            if self._stamp is not None and self._proven(found):
                mode = stat.S_IMODE(found.st_mode)
                return FileState(_FILE, mode, found.st_uid, found.st_gid, wanted, same_content=True)
            if stat.S_ISREG(found.st_mode) and desired.ensure == "present" and desired.content is not None:
                if not desired.content.differs(found.st_size):
                    return await self._compare(found, desired.content, wanted)
                return self._state(_FILE, found, wanted, same_content=False)
            return self._look(found, wanted)
        except (FileNotFoundError, NotADirectoryError):
            self._stamp = None
            return FileState(FileType.ABSENT, wanted=wanted, litter=self._litter(wanted))
        except OSError as error:
            raise explained(error, f"look at {desired.path}") from error

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

    def _look(self, found: os.stat_result, wanted: Attributes) -> FileState:
        """The state of what is no regular file, or whose content is of no concern."""
        desired = self.desired
        kind = type_of(found.st_mode)
        if kind is FileType.SYMLINK and desired.ensure != "absent" and desired.content is None:
            return self._follow(found, wanted)
        occupied = kind is FileType.DIRECTORY and desired.ensure == "absent" and _occupied(desired.path)
        return self._state(kind, found, wanted, occupied=occupied)

    async def _compare(self, found: os.stat_result, content: Content, wanted: Attributes) -> FileState:
        """The state of a regular file that may hold ``content``."""
        now = time.time_ns()
        try:
            fd = os.open(self.desired.path, _OPEN)
        except PermissionError:
            if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) == self.desired.mode:
                raise
            # It is ours, and another mode makes it readable: that can be mended.
            return self._state(FileType.FILE, found, wanted)
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode):  # it was replaced since the first stat
                return self._state(type_of(found.st_mode), found, wanted)
            same = await content.equals(fd, found.st_size)
        finally:
            os.close(fd)
        state = self._state(_FILE, found, wanted, same_content=same)
        as_desired = same and (state.uid, state.gid, state.mode) == wanted
        if as_desired and not state.litter and settled(found, now):
            self._stamp = stamp_of(found)
        return state

    def _follow(self, found: os.stat_result, wanted: Attributes) -> FileState:
        """The state of a symlink, with type and attributes of what it leads to."""
        try:
            found = os.stat(self.desired.path)
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
        mode = found.st_mode & (_PERMISSIONS if is_kept else _ALL_BITS)
        litter = () if self._tidy else self._litter(wanted)
        return FileState(
            kind, mode, found.st_uid, found.st_gid, wanted, same_content, occupied, target, litter
        )

    def _litter(self, wanted: Attributes) -> tuple[str, ...]:
        """What a killed run left here. Once it is gone, nothing can bring it back but another killed run."""
        if self._tidy:
            return ()
        directory, _, base = self.desired.path.rpartition("/")
        litter = find_litter(directory or "/", base, wanted.uid)
        self._tidy = not litter
        return litter


def _occupied(path: str) -> bool:
    with os.scandir(path) as entries:
        return next(entries, None) is not None
