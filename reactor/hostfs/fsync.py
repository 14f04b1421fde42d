"""Flushes written files to the disk. Files that wait at the same time share one flush.

One fsync costs a commit of the file system's journal, about 300 µs on ext4. 64 calls of fsync cost 64 commits, but one
syncfs(2) for the 64 files costs about as much as a few commits. So a file that arrives during a flush waits for the
next flush.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import trio

from reactor.hostfs.disks import FLUSH_TIMEOUT, Disk, DiskChange, change_under_way, within
from reactor.hostfs.grouped_work import GroupedWork, Job, Steps, Sync, take_together
from reactor.resource.mount_health import follow_mounts

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
"""File systems whose syncfs is as durable as fsync. On others, such as FUSE, it may do nothing."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_HANDLE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_UNNAMED = 0
"""The major device number of file systems without a device, such as tmpfs, overlay and NFS."""

_libc = ctypes.CDLL(None, use_errno=True)

_Result = TypeVar("_Result")


class GroupCommit(GroupedWork[Job[Any]]):
    """The flushes of one file system: one at a time, each for all files that were waiting when it began."""

    def __init__(self, sync: Sync) -> None:
        super().__init__(partial(take_together, sync=sync))
        self.disk = Disk()

    async def change(
        self, path: str, steps: Steps[_Result], finish: Callable[[], Awaitable[None]]
    ) -> _Result:
        """Return what ``steps`` return, which change ``path``. Raises what they raise, and as `Disk.carry_out`.

        They begin at once, or after the group that is under way. When they have ended, with or without an error, ``finish``
        is called, even if the caller has given the change up. ``finish`` raises nothing.
        """
        jobs: list[Job[_Result]] = []

        def begin(change: DiskChange) -> Callable[[], object]:
            jobs.append(job := Job(steps, change))
            change.finish = finish
            change.expect_turn()
            self.add(job, change.end)
            return partial(self._withdraw, job, change)

        await self.disk.carry_out(path, begin)
        return jobs[0].result()

    def _withdraw(self, job: Job[Any], change: DiskChange) -> None:
        if self.withdraw(job):
            change.end(None)

    async def carry_out(self, steps: Steps[_Result]) -> _Result:
        """As `change`, for the change under way.

        The steps have ended when this returns, or have not begun, also after a cancellation.
        """
        job = Job(steps, change_under_way())
        with within(FLUSH_TIMEOUT):
            await self.join(job)
        return job.result()

    async def flush(self, fd: int) -> None:
        """Return when the file at ``fd`` is on the disk. If the flush fails, every member of the group raises OSError.

        ``fd`` is not used after this has returned, not even after a cancellation.
        """
        await self.carry_out(_flushing(fd))


def _flushing(fd: int) -> Steps[None]:
    yield fd


def fsync_each(descriptors: Sequence[int]) -> None:
    """Flush file by file. A file system without fsync, or without fsync for directories, needs no flush."""
    for fd in descriptors:
        try:
            os.fsync(fd)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise


def fsync_or_syncfs(descriptors: Sequence[int]) -> None:
    """Flush a single file; for several files, their whole file system."""
    if len(descriptors) == 1:
        os.fsync(descriptors[0])
    else:
        sync_file_system(descriptors[0])


def sync_file_system(fd: int) -> None:
    """Flush the whole file system of ``fd``. Blocking. Raises OSError."""
    if _libc.syncfs(fd) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


_Commits = dict[int, GroupCommit | None]
"""How the files on each device are flushed; None if they need no flush."""

_commits: trio.lowlevel.RunVar[_Commits] = trio.lowlevel.RunVar("commits")
_in_memory: set[int] = set()
"""The devices of `_commits` without a flush. A check of a small file asks up to three times, and this takes a tenth of
the time of a RunVar. Emptied whenever a mount changes, and at the end of trio's run."""
_forgetting: trio.lowlevel.RunVar[bool] = trio.lowlevel.RunVar("forgetting", False)


async def flush(fd: int, device: int | None = None) -> None:
    """Return when the file at ``fd`` is on the disk; at once on a file system in memory.

    ``device`` is the device of the file, if known. The descriptor must stay open until the return. Raises OSError.
    """
    if (commit := commit_of(fd, device)) is not None:
        await commit.flush(fd)


async def flush_directory(handle: int, device: int | None = None) -> None:
    """Return when the names in the directory at ``handle``, which may be O_PATH, are on the disk.

    A directory that we may not read can't be flushed. A power failure may then undo a rename in it, but tears no file.
    """
    if (commit := commit_of(handle, device)) is not None:
        await commit.carry_out(flush_names(handle))


def flush_names(handle: int) -> Steps[None]:
    """The steps of `flush_directory`."""
    with suppress(PermissionError):
        fd = os.open(".", _DIRECTORY, dir_fd=handle)
        try:
            yield fd
        finally:
            os.close(fd)


def is_in_memory(handle: int, device: int | None = None) -> bool:
    """Whether the file system of ``handle`` is in memory: nothing on it can hang, and nothing must be flushed.

    ``device`` is its device, if known.
    """
    if device is None:
        device = os.fstat(handle).st_dev
    return device in _in_memory or commit_of(handle, device) is None


def is_name_in_memory(directory: int, device: int | None) -> bool:
    """Whether a file on ``device``, None if unknown, is in memory, as is its directory, open at ``directory``.

    False if the file is on another file system, which is mounted there.
    """
    if device in _in_memory:
        return True
    own = os.fstat(directory).st_dev
    return device in (None, own) and commit_of(directory, own) is None


def disk_at(path: str) -> Disk | None:
    """The disk of the existing or future file at ``path``; None if it is unknown, or the file system is in memory."""
    while True:
        try:
            device = os.lstat(path).st_dev
            if device in _in_memory:
                return None
            commit = commits[device] if device in (commits := _known_commits()) else _commit_at(path)
        except FileNotFoundError:
            path = os.path.dirname(path)
        except OSError:
            return None
        else:
            return None if commit is None else commit.disk


async def change_on_disk(path: str, change: Callable[[], Awaitable[None]]) -> None:
    """Make ``change``, which concerns ``path``, so that a disk that hangs blocks nothing else."""
    if (disk := disk_at(path)) is None:
        await change()
    else:
        await disk.make(path, change)


def disk_of(fd: int) -> Disk | None:
    """The disk that the open file is on; None for a file system in memory."""
    commit = commit_of(fd)
    return None if commit is None else commit.disk


def _commit_at(path: str) -> GroupCommit | None:
    fd = os.open(path, _HANDLE)
    try:
        return commit_of(fd)
    finally:
        os.close(fd)


def _known_commits() -> _Commits:
    try:
        return _commits.get()
    except LookupError:
        commits: _Commits = {}
        _commits.set(commits)
        return commits


def commit_of(fd: int, device: int | None = None) -> GroupCommit | None:
    """How files on the file system of the open file are flushed; None if they are in memory. ``device`` is its device, if known."""
    if device is None:
        device = os.fstat(fd).st_dev
    commits = _known_commits()
    if device not in commits:
        commits[device] = _commit_for(fd)
        if os.major(device) == _UNNAMED and not _forgetting.get():
            _forgetting.set(True)
            trio.lowlevel.spawn_system_task(_forget_at_changes_of_mounts, commits)
    if (commit := commits[device]) is None:
        _in_memory.add(device)
    return commit


async def _forget_at_changes_of_mounts(commits: _Commits) -> None:
    """Forget the file systems whenever a mount changes. Asking at every write would cost a system call.

    A file system without a device has a number that the next mounted one may get.
    """

    def forget() -> None:
        commits.clear()
        _in_memory.clear()

    try:
        with suppress(OSError):
            await follow_mounts(forget)
    finally:
        _in_memory.clear()


def _commit_for(fd: int) -> GroupCommit | None:
    kind = _file_system(fd)
    if kind in _MEMORY:
        return None
    return GroupCommit(fsync_or_syncfs if kind in _SYNCFS_SUFFICES else fsync_each)


def _file_system(fd: int) -> int:
    """The ``f_type`` of statfs(2), which Python lacks; 0 on error."""
    buffer = ctypes.create_string_buffer(256)  # struct statfs has 120 bytes; f_type comes first
    if _libc.fstatfs(fd, buffer) != 0:
        return 0
    return ctypes.c_long.from_buffer(buffer).value
