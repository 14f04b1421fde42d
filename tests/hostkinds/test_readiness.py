"""The watcher for files that report a change by poll(2), on real files.

The kernel announces a host name in all namespaces, so a mark may come twice: another test has set one, too.
"""

from __future__ import annotations

import gc
import os
import socket
import subprocess
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from reactor.resource.watch import WatchState
from reactor.watchers.readiness import HOST_NAME, MOUNTS, ReadinessWatch, ReadinessWatcher


class Marks:
    """A sink that keeps what it receives."""

    def __init__(self):
        self.marked = []
        self.reports = []
        self._new_data = trio.Event()

    def mark(self, vertex, delay=0.0):
        self.marked.append(vertex)
        self._new_data.set()

    def report(self, state, reason, vertex=None):
        self.reports.append((state, reason, vertex))

    async def next(self):
        """Wait for a mark, and then until no more follow. Returns all marked vertices."""
        with trio.fail_after(60):
            await self._new_data.wait()
            await wait_all_tasks_blocked(0.001)
        self._new_data = trio.Event()
        marked, self.marked = self.marked, []
        return sorted(marked)


@asynccontextmanager
async def listening(*paths):
    """A running watcher, with a vertex for each path."""
    sink = Marks()
    watcher = ReadinessWatcher(sink)
    for vertex, path in enumerate(paths):
        await watcher.arm(ReadinessWatch(path), vertex)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watcher.run)
        await wait_all_tasks_blocked()
        yield watcher, sink
        nursery.cancel_scope.cancel()
    watcher.close()


def mount(tmp_path):
    subprocess.run(["mount", "-t", "tmpfs", "none", tmp_path], check=True)


def descriptors():
    gc.collect()  # what earlier tests have left is not to go while this one counts
    return len(os.listdir("/proc/self/fd"))


async def test_each_file_marks_those_who_watch_it_and_no_one_else(tmp_path):
    async with listening(HOST_NAME, MOUNTS, HOST_NAME) as (_, sink):
        socket.sethostname("a")
        assert set(await sink.next()) == {0, 2}
        found = []
        while {1} not in found:
            assert len(found) < 20, found
            mount(tmp_path)
            found.append(set(await sink.next()))
            subprocess.run(["umount", tmp_path], check=True)
            found.append(set(await sink.next()))
        assert all(1 in marked for marked in found)


async def test_without_a_change_nothing_is_marked_and_no_one_runs():
    async with listening(MOUNTS) as (_, sink):
        await wait_all_tasks_blocked(0.02)
        assert sink.marked == []


async def test_many_changes_at_once_are_one_mark():
    async with listening(HOST_NAME) as (_, sink):
        found = []
        while [0] not in found:
            assert len(found) < 20, found
            for number in range(100):
                socket.sethostname(f"host{number}")
            found.append(await sink.next())


async def test_a_change_between_arming_and_listening_is_noticed():
    sink = Marks()
    watcher = ReadinessWatcher(sink)
    await watcher.arm(ReadinessWatch(HOST_NAME), 7)
    socket.sethostname("between")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watcher.run)
        assert set(await sink.next()) == {7}
        nursery.cancel_scope.cancel()
    watcher.close()


async def test_no_change_is_lost_whatever_the_watcher_does_meanwhile():
    """The wait begins with a poll(2), which takes the report of an earlier change: that change wakes nobody."""
    async with listening(HOST_NAME) as (_, sink):
        for steps in range(300):
            sink.marked.clear()
            socket.sethostname("first")
            for _ in range(steps % 10):
                await trio.lowlevel.checkpoint()
            sink.marked.clear()
            socket.sethostname("second")
            with trio.fail_after(60):
                while not sink.marked:
                    await trio.lowlevel.checkpoint()


async def test_what_is_disarmed_is_not_marked_and_its_descriptors_are_free():
    before = descriptors()
    async with listening(HOST_NAME, HOST_NAME, MOUNTS) as (watcher, sink):
        armed = descriptors()
        watcher.disarm(ReadinessWatch(HOST_NAME), 0)
        assert descriptors() == armed
        sink.marked.clear()  # those of host names in other namespaces
        socket.sethostname("c")
        assert set(await sink.next()) == {1}
        watcher.disarm(ReadinessWatch(HOST_NAME), 1)
        assert descriptors() == armed - 2
        socket.sethostname("d")
        await wait_all_tasks_blocked(0.005)
        assert sink.marked == []
    assert descriptors() == before


@pytest.mark.parametrize(
    ("path", "reason"),
    [("/proc/nothing", "No such file or directory"), ("/proc/self/exe", "Operation not permitted")],
)
async def test_a_file_that_reports_nothing_is_reported(path, reason):
    before = descriptors()
    async with listening(path) as (watcher, sink):
        text = f"can't listen to {path} ({reason}); only the audit will notice drift"
        assert sink.reports == [(WatchState.DOWN, text, 0)]
        watcher.disarm(ReadinessWatch(path), 0)
    assert descriptors() == before
