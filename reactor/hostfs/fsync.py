"""Brings written files to the disk: those that wait at the same time share one flush.

One fsync costs a journal commit, about 300 µs on ext4, and 64 of them cost 64 commits; one syncfs(2) for the 64
costs about as much as a few. So whoever comes while a flush runs joins the next one.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable, Sequence
from contextlib import suppress

import trio

from reactor.hostfs.disks import FLUSH_PATIENCE, Disk, within
from reactor.resource.mount_health import follow_mounts
from reactor.resource.threads import in_thread

_MEMORY = {
    0x01021994,  # tmpfs
    0x858458F6,  # ramfs
}
_SYNCFS_SUFFICES = {
    0xEF53,  # ext2, ext3, ext4
    0x58465342,  # xfs
    0x9123683E,  # btrfs
    0xF2F52010,  # f2fs
    0x794C7630,  # overlay
}
"""File systems whose syncfs promises what fsync does. On others, such as FUSE, it may do nothing."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_HANDLE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_UNNAMED = 0
"""The major number of devices that are none, as of tmpfs, overlay and NFS."""

_libc = ctypes.CDLL(None, use_errno=True)

Sync = Callable[[Sequence[int]], None]
"""Brings the files at all the descriptors to the disk, blocking. Raises OSError."""


class _Group:
    """Those that share one flush."""

    def __init__(self) -> None:
        self.descriptors: list[int] = []
        self.ended = trio.Event()
        self.error: OSError | None = None


class GroupCommit:
    """The flushes of one file system: one at a time, each for all that came before it began."""

    def __init__(self, sync: Sync) -> None:
        self.disk = Disk()
        self._sync = sync
        self._gathering = _Group()
        self._working = False

    async def flush(self, fd: int) -> None:
        """Return once the file at ``fd`` is on the disk. Raises OSError, to every member of the group.

        ``fd`` is not touched after the return, also when that is a cancellation.
        """
        group = self._gathering
        group.descriptors.append(fd)
        if not self._working:
            self._working = True
            trio.lowlevel.spawn_system_task(self._work)
        try:
            await group.ended.wait()
        except trio.Cancelled:
            if group is self._gathering:
                group.descriptors.remove(fd)
            else:
                with trio.CancelScope(shield=True):  # the thread has the descriptor
                    await group.ended.wait()
            raise
        if group.error is not None:
            raise OSError(group.error.errno, group.error.strerror) from group.error

    async def _work(self) -> None:
        """Flush group after group. It starts when the tasks that are ready now have run, and so have joined."""
        while self._gathering.descriptors:
            group, self._gathering = self._gathering, _Group()
            try:
                await in_thread(self._sync, group.descriptors)
            except OSError as error:
                group.error = error
            finally:
                group.ended.set()
        self._working = False


def fsync_each(descriptors: Sequence[int]) -> None:
    """Flush file by file. A file system that has no fsync, or none for directories, needs none."""
    for fd in descriptors:
        try:
            os.fsync(fd)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise


def fsync_or_syncfs(descriptors: Sequence[int]) -> None:
    """Flush a single file, or the file system that all of them are on."""
    if len(descriptors) == 1:
        os.fsync(descriptors[0])
    else:
        sync_file_system(descriptors[0])


def sync_file_system(fd: int) -> None:
    """Bring all that is written on the file system of ``fd`` to the disk, blocking. Raises OSError."""
    if _libc.syncfs(fd) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


_Commits = dict[int, GroupCommit | None]
"""How what is on each device is flushed; None where that is needless."""

_commits: trio.lowlevel.RunVar[_Commits] = trio.lowlevel.RunVar("commits")
_forgetting: trio.lowlevel.RunVar[bool] = trio.lowlevel.RunVar("forgetting", False)


async def flush(fd: int, device: int | None = None) -> None:
    """Return once the file at ``fd`` is on the disk; at once on a file system in memory.

    ``device`` is where it is, if that is known. Raises OSError when the disk refuses. The descriptor must stay open
    until the return.
    """
    if (commit := _commit_of(fd, device)) is not None:
        with within(FLUSH_PATIENCE):
            await commit.flush(fd)


async def flush_directory(handle: int, device: int | None = None) -> None:
    """The same for the names in a directory, of which ``handle`` need be no more than a handle (O_PATH).

    One that we may not read can't be flushed: a power failure may then undo what was renamed in it, and not tear it.
    """
    if (commit := _commit_of(handle, device)) is not None:
        with suppress(PermissionError):
            fd = os.open(".", _DIRECTORY, dir_fd=handle)
            try:
                with within(FLUSH_PATIENCE):
                    await commit.flush(fd)
            finally:
                os.close(fd)


def disk_at(path: str) -> Disk | None:
    """The disk that what is at ``path`` is on, or will be; None for a file system in memory, and where that can't be told."""
    while True:
        try:
            device = os.lstat(path).st_dev
            commit = commits[device] if device in (commits := _known_commits()) else _commit_at(path)
        except FileNotFoundError:
            path = os.path.dirname(path)
        except OSError:
            return None
        else:
            return None if commit is None else commit.disk


def _commit_at(path: str) -> GroupCommit | None:
    fd = os.open(path, _HANDLE)
    try:
        return _commit_of(fd, None)
    finally:
        os.close(fd)


def _known_commits() -> _Commits:
    try:
        return _commits.get()
    except LookupError:
        commits: _Commits = {}
        _commits.set(commits)
        return commits


def _commit_of(fd: int, device: int | None) -> GroupCommit | None:
    if device is None:
        device = os.fstat(fd).st_dev
    commits = _known_commits()
    if device not in commits:
        commits[device] = _commit_for(fd)
        if os.major(device) == _UNNAMED and not _forgetting.get():
            _forgetting.set(True)
            trio.lowlevel.spawn_system_task(_forget_at_changes_of_mounts, commits)
    return commits[device]


async def _forget_at_changes_of_mounts(commits: _Commits) -> None:
    """A file system that no device is behind leaves its number to another one when it is unmounted.

    To look at every write would cost a system call.
    """
    with suppress(OSError):
        await follow_mounts(commits.clear)


def _commit_for(fd: int) -> GroupCommit | None:
    kind = _file_system(fd)
    if kind in _MEMORY:
        return None
    return GroupCommit(fsync_or_syncfs if kind in _SYNCFS_SUFFICES else fsync_each)


def _file_system(fd: int) -> int:
    """The ``f_type`` of statfs(2), which Python does not offer; 0 when it can't be told."""
    buffer = ctypes.create_string_buffer(256)  # struct statfs has 120 bytes; f_type comes first
    if _libc.fstatfs(fd, buffer) != 0:
        return 0
    return ctypes.c_long.from_buffer(buffer).value
