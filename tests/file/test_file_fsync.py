"""Flushing in groups: who shares a flush, who learns of its failure, and what a cancellation leaves."""

import errno
import math
import os
import threading
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import pytest
import trio
from file_worlds import converge, make, names_in
from namespaces import run_in_namespaces
from trio.testing import assert_no_checkpoints, wait_all_tasks_blocked

from reactor import ResourceError
from reactor.hostfs import fsync, grouped_work
from reactor.hostfs.fsync import GroupCommit, flush, fsync_each, fsync_or_syncfs


class Disk:
    """A sync function that can be held, and that records the groups it is called with."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.threads: set[int] = set()
        self.go_on = threading.Event()
        self.go_on.set()
        self.began = threading.Semaphore(0)
        self.error: OSError | None = None
        self.fails_from = 0

    def __call__(self, descriptors) -> None:
        self.groups.append(sorted(descriptors))
        self.threads.add(threading.get_ident())
        self.began.release()
        assert self.go_on.wait(60)
        if self.error is not None and self.fails_from <= len(self.groups):
            raise self.error


async def began(disk: Disk) -> None:
    with trio.fail_after(60):
        await trio.to_thread.run_sync(disk.began.acquire)


async def test_one_alone_is_flushed_alone():
    disk = Disk()
    await GroupCommit(disk).flush(7)
    assert disk.groups == [[7]]
    assert threading.get_ident() not in disk.threads


async def test_those_that_come_together_share_one_flush_but_the_first_which_need_not_wait():
    disk = Disk()
    commit = GroupCommit(disk)
    async with trio.open_nursery() as nursery:
        for fd in range(64):
            nursery.start_soon(commit.flush, fd)
    assert sorted(map(len, disk.groups)) == [1, 63]


async def test_those_that_come_during_a_flush_share_the_next_one():
    disk = Disk()
    disk.go_on.clear()
    commit = GroupCommit(disk)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(commit.flush, 1)
        await began(disk)
        for fd in (2, 3, 4):
            nursery.start_soon(commit.flush, fd)
        await wait_all_tasks_blocked()
        assert disk.groups == [[1]]
        disk.go_on.set()
    assert disk.groups == [[1], [2, 3, 4]]


async def test_those_that_go_on_together_share_their_next_flushes(monkeypatch):
    monkeypatch.setattr(grouped_work, "_LONGEST_GATHERING", math.inf)
    disk = Disk()
    commit = GroupCommit(disk)

    async def flush_three_times(fd: int) -> None:
        for _ in range(3):
            await commit.flush(fd)

    async with trio.open_nursery() as nursery:
        for fd in range(8):
            nursery.start_soon(flush_three_times, fd)
    assert [len(group) for group in disk.groups] == [1, 8, 8, 7]


async def test_one_that_follows_a_group_at_a_distance_is_not_gathered(monkeypatch):
    disk = Disk()
    commit = GroupCommit(disk)
    async with trio.open_nursery() as nursery:
        for fd in range(8):
            nursery.start_soon(commit.flush, fd)
    await wait_all_tasks_blocked()
    monkeypatch.setattr(commit, "_gather", None)  # an error if it is called
    await commit.flush(9)
    assert disk.groups[-1] == [9]


async def test_a_group_begins_though_one_more_comes_in_every_pass():
    commit = GroupCommit(Disk())
    came = 0
    async with trio.open_nursery() as nursery:
        await commit.flush(0)
        nursery.start_soon(commit.flush, 1)
        nursery.start_soon(commit.flush, 2)
        is_flushed = trio.Event()

        async def flush_and_say() -> None:
            await commit.flush(3)
            is_flushed.set()

        nursery.start_soon(flush_and_say)
        with trio.fail_after(60):
            while not is_flushed.is_set():
                came += 1
                nursery.start_soon(commit.flush, 3 + came)
                await trio.lowlevel.checkpoint()
    assert came > 1


async def test_no_one_returns_before_the_flush_that_began_after_it_came():
    disk = Disk()
    disk.go_on.clear()
    commit = GroupCommit(disk)
    groups_at_return = {}

    async def one(fd: int) -> None:
        await commit.flush(fd)
        groups_at_return[fd] = list(disk.groups)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(one, 1)
        await began(disk)
        nursery.start_soon(one, 2)
        await wait_all_tasks_blocked()
        assert groups_at_return == {}
        disk.go_on.set()
    assert [2] in groups_at_return[2]


async def test_a_failure_reaches_every_member_and_no_other():
    disk = Disk()
    disk.go_on.clear()
    disk.error, disk.fails_from = OSError(errno.EIO, "Input/output error"), 2
    commit = GroupCommit(disk)
    caught = []

    async def one(fd: int) -> None:
        try:
            await commit.flush(fd)
        except OSError as error:
            caught.append(error)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(commit.flush, 8)
        await began(disk)
        for fd in range(3):
            nursery.start_soon(one, fd)
        await wait_all_tasks_blocked()
        disk.go_on.set()
        await began(disk)
    assert [error.errno for error in caught] == [errno.EIO] * 3
    assert len({id(error) for error in caught}) == 3
    disk.error = None
    await commit.flush(9)
    assert disk.groups == [[8], [0, 1, 2], [9]]


async def test_work_that_fails_unexpectedly_fails_every_member_of_its_group_and_the_next_group_goes_on():
    disk = Disk()

    def sync(descriptors: Sequence[int]) -> None:
        disk(descriptors)
        if len(descriptors) > 1:
            raise MemoryError

    commit = GroupCommit(sync)
    failed = []

    async def fail(fd: int) -> None:
        with pytest.raises(MemoryError):
            await commit.flush(fd)
        failed.append(fd)

    disk.go_on.clear()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(commit.flush, 1)
        await began(disk)
        nursery.start_soon(fail, 2)
        nursery.start_soon(fail, 3)
        await wait_all_tasks_blocked()
        disk.go_on.set()
    assert sorted(failed) == [2, 3]
    await commit.flush(4)
    assert disk.groups == [[1], [2, 3], [4]]


async def test_one_cancelled_while_it_waits_for_its_turn_is_not_flushed():
    disk = Disk()
    disk.go_on.clear()
    commit = GroupCommit(disk)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(commit.flush, 1)
        await began(disk)
        with trio.CancelScope() as scope:
            nursery.start_soon(commit.flush, 3)
            async with trio.open_nursery() as inner:
                inner.start_soon(commit.flush, 2)
                await wait_all_tasks_blocked()
                scope.cancel()
        disk.go_on.set()
    assert disk.groups == [[1], [3]]


async def test_one_cancelled_during_its_flush_returns_only_after_it():
    """Its descriptor would be closed, and might be another file's, while the thread still has it."""
    disk = Disk()
    disk.go_on.clear()
    commit = GroupCommit(disk)
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(commit.flush, 1)
            await began(disk)
            scope.cancel()
            with trio.CancelScope(shield=True):
                await wait_all_tasks_blocked()
            assert len(nursery.child_tasks) == 1
            disk.go_on.set()
    assert scope.cancelled_caught
    await commit.flush(2)
    assert disk.groups == [[1], [2]]


async def test_when_all_that_wait_are_cancelled_the_next_one_is_still_served():
    disk = Disk()
    disk.go_on.clear()
    commit = GroupCommit(disk)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(commit.flush, 1)
        await began(disk)
        with trio.move_on_after(0):
            await commit.flush(2)
        disk.go_on.set()
    await commit.flush(3)
    assert disk.groups == [[1], [3]]


async def test_changes_that_come_together_share_the_flush_of_each_step():
    disk = Disk()
    commit = GroupCommit(disk)
    said = []

    def steps(number: int):
        said.append(f"{number} made")
        yield number
        said.append(f"{number} in place")
        yield number + 10
        return number

    async def one(number: int) -> None:
        said.append(await commit.carry_out(steps(number)))

    disk.go_on.clear()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(commit.flush, 9)
        await began(disk)
        for number in range(3):
            nursery.start_soon(one, number)
        await wait_all_tasks_blocked()
        disk.go_on.set()
    assert disk.groups == [[9], [0, 1, 2], [10, 11, 12]]
    assert sorted(said[:3]) == ["0 made", "1 made", "2 made"]
    assert sorted(said[3:6]) == ["0 in place", "1 in place", "2 in place"]
    assert sorted(said[6:]) == [0, 1, 2]


async def test_a_change_that_fails_fails_alone():
    disk = Disk()
    commit = GroupCommit(disk)
    ended, failed = [], []

    def steps(number: int):
        yield number
        if number == 1:
            raise ResourceError("another program changed it", "")
        ended.append(number)

    async def one(number: int) -> None:
        try:
            await commit.carry_out(steps(number))
        except ResourceError as error:
            failed.append((number, error.message))

    async with trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(one, number)
    assert sorted(chain.from_iterable(disk.groups)) == [0, 1, 2]
    assert sorted(ended) == [0, 2]
    assert failed == [(1, "another program changed it")]


async def test_a_change_whose_flush_fails_can_clean_up():
    disk = Disk()
    disk.error = OSError(errno.EIO, "Input/output error")
    cleaned = []

    def steps():
        try:
            yield 1
        finally:
            cleaned.append("up")

    with pytest.raises(OSError, match="Input/output error"):
        await GroupCommit(disk).carry_out(steps())
    assert cleaned == ["up"]


async def test_a_change_that_is_cancelled_during_its_flush_goes_no_further(tmp_path: Path, monkeypatch):
    disk = Disk()
    disk.go_on.clear()
    monkeypatch.setattr(fsync, "_commit_for", lambda _: GroupCommit(disk))
    (tmp_path / "f").write_text("old")
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(converge, make(tmp_path / "f", content="new"))
            await began(disk)
            scope.cancel()
            with trio.CancelScope(shield=True):
                await wait_all_tasks_blocked()
            disk.go_on.set()
    assert scope.cancelled_caught
    assert (tmp_path / "f").read_text() == "old"
    assert names_in(tmp_path) == ["f"]
    assert len(disk.groups) == 1


async def test_a_change_that_can_not_clean_up_when_it_is_cancelled_fails_no_other():
    disk = Disk()
    disk.go_on.clear()
    commit = GroupCommit(disk)
    scope, ended = trio.CancelScope(), []

    def cancelled_steps():
        try:
            yield 2
        finally:
            raise OSError(errno.EIO, "close(2) fails")

    def other_steps():
        yield 3
        ended.append(3)

    async def cancelled() -> None:
        with scope:
            await commit.change("/f", cancelled_steps(), trio.lowlevel.checkpoint)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(commit.flush, 1)
        await began(disk)
        nursery.start_soon(cancelled)
        nursery.start_soon(commit.carry_out, other_steps())
        await wait_all_tasks_blocked()
        disk.go_on.set()
        disk.go_on = threading.Event()
        await began(disk)
        scope.cancel()
        await wait_all_tasks_blocked()
        disk.go_on.set()
    assert scope.cancelled_caught
    assert disk.groups == [[1], [2, 3]]
    assert ended == [3]


def test_a_file_system_that_can_not_flush_a_directory_is_no_obstacle(monkeypatch):
    errors = iter([errno.EINVAL, errno.ENOTSUP, errno.EIO])

    def refuse(_fd: int) -> None:
        code = next(errors)
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", refuse)
    fsync_each([1, 2])
    with pytest.raises(OSError, match="Input/output error"):
        fsync_each([3])


def test_one_run_leaves_nothing_to_the_next(tmp_path: Path):
    for number in range(2):
        trio.run(converge, make(tmp_path / "f", content=str(number)))
    assert (tmp_path / "f").read_text() == "1"


async def test_a_file_system_in_memory_needs_no_flush(monkeypatch):
    monkeypatch.setattr(fsync, "GroupCommit", None)
    fd = os.open("/dev/shm", os.O_RDONLY)
    try:
        with assert_no_checkpoints():
            await flush(fd)
    finally:
        os.close(fd)


ANOTHER_WITH_ITS_NUMBER = '''
import os, subprocess, sys, trio
from reactor import ResourceError
from reactor.hostfs import fsync

place = sys.argv[1]
flushed = []
fsync.fsync_each = flushed.append

def mount(kind):
    subprocess.run(["mount", "-t", kind, kind, place], check=True)

async def flush():
    fd = os.open(place, os.O_RDONLY)
    await fsync.flush(fd)
    os.close(fd)

async def has_replaced():
    """Whether the second got the number of the first, and nobody else on this machine."""
    mount("tmpfs")
    device = os.stat(place).st_dev
    for _ in range(5):
        await flush()
        await trio.lowlevel.checkpoint()
    assert not flushed, "it is in memory"
    subprocess.run(["umount", place], check=True)
    mount("devpts")
    if os.stat(place).st_dev == device:
        return True
    subprocess.run(["umount", place], check=True)
    return False

async def main():
    while not await has_replaced():
        pass
    with trio.fail_after(60):
        while not flushed:
            await flush()
            await trio.lowlevel.checkpoint()

trio.run(main)
'''


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts")
def test_what_gets_the_number_of_an_unmounted_file_system_in_memory_is_flushed(tmp_path: Path):
    run_in_namespaces(ANOTHER_WITH_ITS_NUMBER, tmp_path)


async def test_a_file_is_flushed_before_the_rename_and_its_directory_after(tmp_path: Path, monkeypatch):
    steps = []

    def record(descriptors) -> None:
        for fd in descriptors:
            steps.append(str(Path(f"/proc/self/fd/{fd}").readlink()))
            steps.append(names_in(tmp_path))

    monkeypatch.setattr(fsync, "_commit_for", lambda _: GroupCommit(record))
    await converge(make(tmp_path / "f", content="x"))
    temporary, names, directory, final = steps
    assert temporary.startswith(f"{tmp_path}/.f.")
    assert names == [Path(temporary).name]
    assert (directory, final) == (str(tmp_path), ["f"])


async def test_what_the_disk_refuses_fails_the_file_and_leaves_the_old_one(tmp_path: Path, monkeypatch):
    disk = Disk()
    disk.error = OSError(errno.EIO, "Input/output error")
    monkeypatch.setattr(fsync, "_commit_for", lambda _: GroupCommit(disk))
    (tmp_path / "f").write_text("old")
    with pytest.raises(Exception, match=f"cannot write {tmp_path}/f: Input/output error"):
        await converge(make(tmp_path / "f", content="new"))
    assert (tmp_path / "f").read_text() == "old"
    assert names_in(tmp_path) == ["f"]


async def test_many_files_at_once_cost_few_flushes(tmp_path: Path, monkeypatch):
    disk = Disk()
    commit = GroupCommit(disk)
    monkeypatch.setattr(fsync, "_commit_for", lambda _: commit)
    async with trio.open_nursery() as nursery:
        for number in range(64):
            nursery.start_soon(converge, make(tmp_path / f"f{number}", content="x"))
    assert len(disk.groups) <= 4
    assert sum(len(group) for group in disk.groups) == 128
    assert len(names_in(tmp_path)) == 64


@pytest.mark.parametrize("sync", [fsync_each, fsync_or_syncfs])
def test_both_ways_to_flush_work_on_a_real_disk(tmp_path: Path, sync):
    descriptors = [os.open(tmp_path / name, os.O_CREAT | os.O_WRONLY) for name in "abc"]
    try:
        sync(descriptors[:1])
        sync(descriptors)
    finally:
        for fd in descriptors:
            os.close(fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        sync(descriptors)
