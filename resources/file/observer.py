"""Reads the state of the path of a file resource, and keeps a stamp of it when it is as desired."""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import suppress

from reactor import Plan, ResourceError, emit_note
from reactor.hostfs import (
    NOTHING_WANTED,
    Attributes,
    Content,
    FileType,
    Inline,
    OpenFile,
    Parent,
    ShortFile,
    Stamp,
    accounts,
    at_hand,
    find_stale_temporaries,
    is_mount_point,
    is_short,
    known_listing,
    listing_of,
    open_directory,
    open_path,
    resource_error,
    stamp_is_reliable,
    stamp_of,
    type_of,
)
from reactor.resources.file.mounts import COVERED, is_unexpected_mount
from reactor.resources.file.planner import plan_file
from reactor.resources.file.state import Desired, FileState, correct_state

_SPECIAL_BITS = 0o7000
_READABLE_BY_ALL = 0o444
_FILE, _DIRECTORY = FileType.FILE, FileType.DIRECTORY  # to look one up takes a tenth of the time of an lstat
_LEADS_NOWHERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_OPEN = os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC  # and to read, which is no flag


class Observer:
    """Reads the state of one path, without waiting for the writer of a FIFO or for a device.

    A stamp is kept when the content was read and everything was as desired. As long as a stat has the same stamp, the
    content is not read again.
    """

    __slots__ = (
        "_correct",
        "_has_fixed_ids",
        "_ids",
        "_is_likely_file",
        "_is_reported",
        "_stale_temporaries",
        "_stamp",
        "desired",
    )

    def __init__(self, desired: Desired) -> None:
        self.desired = desired
        self._stamp: Stamp | None = None
        self._stale_temporaries: tuple[str, ...] | None = None
        self._ids: tuple[int, int] | None = None
        self._has_fixed_ids = False
        self._is_likely_file = False
        self._is_reported = False
        self._correct = correct_state(*NOTHING_WANTED)

    async def observe(self) -> FileState:
        """The state of the path. Raises ResourceError when it can't be read."""
        desired = self.desired
        if not self._has_fixed_ids:
            await self._look_up_ids()
        wanted = self._correct.wanted
        is_likely_file, self._is_likely_file = self._is_likely_file, False
        is_first = self._stale_temporaries != ()
        if is_first:  # once there are none, only another killed run can leave some
            directory, _, base = desired.path.rpartition("/")
            listing = known_listing(directory) or await listing_of(directory or "/")
            self._stale_temporaries = (
                await find_stale_temporaries(directory or "/", base, wanted.uid) if listing.temporary else ()
            )
            is_likely_file = is_likely_file or listing.takes_file(base)
        try:
            content = desired.content if desired.settings.ensure == "present" else None
            if is_likely_file and content is not None and (state := self._compare_likely(content, wanted)):
                return state
            is_drift = not is_first and self._stamp is None  # most likely: something has asked for this look
            if is_drift and (state := self._compare_through_directory(content, wanted)):
                return state
            # By path, which may lead anywhere: the stat only shows that nothing has changed, or how to open the file.
            seen = os.lstat(desired.path)
            if self._stamp is not None and self._proven(seen):
                return self._correct
            if content is None or not stat.S_ISREG(seen.st_mode):
                return self._read_state(wanted)
            return self._compare_now(content, wanted, seen.st_size) or await self._compare(content, wanted)
        except (FileNotFoundError, NotADirectoryError):
            self._stamp = None
            return self._absent(wanted)
        except OSError as error:
            raise resource_error(error, f"inspect {desired.path}") from error

    async def _look_up_ids(self) -> None:
        owner, group = self.desired.settings.owner, self.desired.settings.group
        ids = accounts.known(owner, group) or await accounts.look_up(owner, group)
        if ids is not self._ids:
            self._ids, self._correct = ids, correct_state(*ids, self.desired.settings.mode)
            self._has_fixed_ids = accounts.are_fixed(owner, group)

    def expect_file(self) -> None:
        """Expect a regular file, because one was just put in place: it can be opened without an lstat before."""
        self._is_likely_file = True

    def plan(self, state: FileState) -> Plan:
        """The plan by the decision table. Raises ResourceError if the path must not be changed."""
        return plan_file(self.desired, state)

    async def preflight(self, state: FileState) -> None:
        """Raise the ResourceError with which the change would fail."""
        from reactor.resources.file.preflight import preflight  # noqa: PLC0415 - only a dry run needs it

        await preflight(self.desired, state)

    def _compare_likely(self, content: Content, wanted: Attributes) -> FileState | None:
        """The state of the expected regular file; None if anything else is found."""
        try:
            return self._compare_now(content, wanted)
        except FileNotFoundError:
            raise
        except OSError:
            return None

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
        """The state of a missing file.

        If that is as desired, check that no symlink of another user is on the way to it. If the file must be created,
        the change checks it.
        """
        if self.desired.settings.ensure == "absent":
            with suppress(FileNotFoundError, NotADirectoryError):
                os.close(open_directory(os.path.dirname(self.desired.path)))
        return FileState(FileType.ABSENT, wanted=wanted, stale_temporaries=self._stale_temporaries or ())

    def _read_state(self, wanted: Attributes) -> FileState:
        """The state of anything but a regular file with managed content."""
        desired = self.desired
        fd = open_path(desired.path)
        try:
            found = os.fstat(fd)
            kind = type_of(found.st_mode)
            if kind is FileType.SYMLINK and desired.settings.ensure != "absent" and desired.content is None:
                return self._follow(found, wanted)
            occupied = kind is _DIRECTORY and desired.settings.ensure == "absent" and _occupied(fd)
            state = self._state(kind, found, wanted, occupied=occupied)
            if kind is _DIRECTORY and self._is_covered(state, fd):
                # The attributes of the directory itself can't be read while something is mounted on it.
                state = state._replace(wanted=Attributes(state.uid, state.gid, state.mode))
            return state
        finally:
            os.close(fd)

    def _is_covered(self, state: FileState, fd: int) -> bool:
        """Whether ``state``, which is open at ``fd``, is that of a file system mounted on the desired directory."""
        desired = self.desired
        if desired.settings.is_covered:
            return is_mount_point(desired.path, fd)
        is_covered = is_unexpected_mount(desired, state, fd)
        if is_covered and not self._is_reported:
            emit_note(COVERED)
        self._is_reported = is_covered
        return is_covered

    def _compare_through_directory(self, content: Content | None, wanted: Attributes) -> FileState | None:
        """The state of a regular file, found through its directory, which stays open for the repair.

        None if there is anything else, or the comparison could block: a closer look meets and reports it.
        """
        if not isinstance(content, Inline):
            return None
        parent, now = Parent(self.desired.path), time.time_ns()
        try:
            directory, base = parent.hold()
            found = os.stat(base, dir_fd=directory, follow_symlinks=False)
            if not stat.S_ISREG(found.st_mode):
                return None
            if found.st_size != len(content.data) and is_short(found) and _is_readable(found):
                short = ShortFile(parent, found.st_dev)
                return self._state(_FILE, found, wanted, same_content=False, short=short)
            return self._compare_open(os.open(base, _OPEN, dir_fd=directory), content, wanted, now, parent)
        except (OSError, ResourceError):
            return None

    def _compare_now(self, content: Content, wanted: Attributes, size: int | None = None) -> FileState | None:
        """The state of a regular file, seen with ``size``, compared with ``content``; None if that could block."""
        if not isinstance(content, Inline):
            return None
        is_drift = size is not None and size != len(content.data)
        if is_drift and (state := self._compare_through_directory(content, wanted)):
            return state
        now = time.time_ns()
        try:
            fd = open_path(self.desired.path, _OPEN)
        except (PermissionError, BlockingIOError) as error:
            return self._unreadable(wanted, error)
        return self._compare_open(fd, content, wanted, now)

    def _compare_open(
        self, fd: int, content: Inline, wanted: Attributes, now: int, parent: Parent | None = None
    ) -> FileState | None:
        """As `_compare_now`, of the file that was opened at ``fd`` after ``now``; closes it unless the repair needs it."""
        opened = None
        try:
            found = os.fstat(fd)
            is_file = stat.S_ISREG(found.st_mode)
            same = content.compare_now(fd, found) if is_file else False
            if same and (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) != wanted:
                opened = OpenFile(fd, found.st_dev)
        finally:
            if opened is None:
                os.close(fd)
        if same is None:
            return None
        is_kept = is_file and not same and is_short(found)
        short = ShortFile(parent or Parent(self.desired.path), found.st_dev) if is_kept else None
        return self._compared(found, wanted, now, same=same, short=short, opened=opened)

    async def _compare(self, content: Content, wanted: Attributes) -> FileState:
        """The state of a regular file, compared with ``content``, without blocking the event loop."""
        now = time.time_ns()
        try:
            fd = open_path(self.desired.path, _OPEN)
        except (PermissionError, BlockingIOError) as error:
            return self._unreadable(wanted, error)
        try:
            found = os.fstat(fd)
            same = False
            if stat.S_ISREG(found.st_mode):
                await at_hand(self.desired.path, fd, found.st_size)
                same = await content.equals(fd, found.st_size)
        finally:
            os.close(fd)
        return self._compared(found, wanted, now, same=same)

    def _compared(
        self,
        found: os.stat_result,
        wanted: Attributes,
        now: int,
        *,
        same: bool,
        short: ShortFile | None = None,
        opened: OpenFile | None = None,
    ) -> FileState:
        if not stat.S_ISREG(found.st_mode):  # it was replaced since the first stat
            return self._state(type_of(found.st_mode), found, wanted)
        is_correct = same and (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == wanted
        if not is_correct or self._stale_temporaries:
            return self._state(_FILE, found, wanted, same_content=same, short=short, opened=opened)
        if stamp_is_reliable(found, now):
            self._stamp = stamp_of(found)
        return self._correct

    def _unreadable(self, wanted: Attributes, error: OSError) -> FileState:
        """The state of a file of ours with a wrong mode, or on which a former owner has a lease. Else raises ``error``."""
        fd = open_path(self.desired.path)
        try:
            found = os.fstat(fd)
        finally:
            os.close(fd)
        is_ours = found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) != wanted.mode
        if not (found.st_uid != wanted.uid if isinstance(error, BlockingIOError) else is_ours):
            raise error
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
        short: ShortFile | None = None,
        opened: OpenFile | None = None,
    ) -> FileState:
        is_kept = kind is _DIRECTORY and self.desired.settings.ensure == "directory"
        if is_kept and (kept := found.st_mode & _SPECIAL_BITS & ~self.desired.settings.special):
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
            shared=found.st_nlink > 1 and kind is not _DIRECTORY,
            short=short,
            opened=opened,
        )


def _is_readable(found: os.stat_result) -> bool:
    if found.st_mode & _READABLE_BY_ALL == _READABLE_BY_ALL:
        return True
    return (user := os.geteuid()) == 0 or (found.st_uid == user and found.st_mode & stat.S_IRUSR != 0)


def _occupied(handle: int) -> bool:
    fd = os.open(".", os.O_RDONLY, dir_fd=handle)
    try:
        with os.scandir(fd) as entries:
            return next(entries, None) is not None
    finally:
        os.close(fd)
