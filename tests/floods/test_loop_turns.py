"""What is read in masses is read in turns: how long the event loop does nothing else, in time of the processor.

Unlike the time on the clock, that is the same however busy the machine is.
"""

import os
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
import trio
from test_floods import fill

from reactor.hostfs import find_stale_temporaries
from reactor.resource.watch import ChangedPaths, PathWatch
from reactor.resources.file import File
from reactor.resources.scaffold import Scaffold
from reactor.testing.story import running
from reactor.watchers.inotify import InotifyWatcher

MANY = 100_000
MOST = 0.02
"""Seconds. In one go, the listing of so many names takes two to ten times as long."""


@dataclass
class Turns:
    """The longest turn that another task of the loop had."""

    longest: float = 0.0

    async def measure(self):
        before = time.thread_time()
        while True:
            await trio.lowlevel.checkpoint()
            now = time.thread_time()
            self.longest = max(self.longest, now - before)
            before = now


@asynccontextmanager
async def measured():
    turns = Turns()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(turns.measure)
        await trio.lowlevel.checkpoint()
        yield turns
        nursery.cancel_scope.cancel()


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    directory = tmp_path_factory.mktemp("full") / "full"
    fill(directory, MANY)
    return directory


async def test_the_first_look_into_a_full_directory(full):
    (full / ".ours.0123456789ab.reactor").write_text("left by a killed run")
    async with measured() as turns:
        assert await find_stale_temporaries(str(full), "ours", os.getuid()) == (".ours.0123456789ab.reactor",)
    assert turns.longest < MOST


async def test_the_first_check_of_a_file_in_a_full_directory(full):
    file = File(name=str(full / "ours"), ensure="present", content="x", owner="0", group="0", mode="0644")
    async with measured() as turns:
        await file.observe()
    assert turns.longest < MOST


async def test_a_tree_with_a_full_directory_is_watched(full):
    class Sink:
        def mark(self, vertex, delay=0.0):
            pass

        report = mark_all = mark

    watcher = InotifyWatcher(Sink())
    try:
        async with measured() as turns:
            await watcher.arm(PathWatch(str(full), ChangedPaths()), 0)
    finally:
        watcher.close()
    assert turns.longest < MOST


@pytest.mark.parametrize("make", [os.mkdir, lambda path: path.write_text("x")], ids=["directories", "files"])
async def test_a_flood_of_foreign_names_beside_a_managed_file(tmp_path, make):
    file = File(name=str(tmp_path / "ours"), ensure="present", content="x", owner="0", group="0", mode="0644")
    names = [tmp_path / f"foreign{number}" for number in range(20_000)]

    def flood():
        for name in names:
            make(name)

    async with running(file) as story:
        await story.converged()
        async with measured() as turns:
            await trio.to_thread.run_sync(flood)
            file_path = tmp_path / "ours"
            file_path.write_text("wrong")
            await story.until(lambda: file_path.read_text() == "x")
    assert turns.longest < MOST


async def test_a_flood_of_foreign_names_in_a_tree(tmp_path):
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "ours").write_text("x")
    tree = Scaffold(name=str(tmp_path / "out"), ensure="present", source=str(tmp_path / "templates"))
    ours = tmp_path / "out" / "ours"

    def flood():
        for number in range(20_000):
            ours.with_name(f"foreign{number}").write_text("x")

    async with running(tree) as story:
        await story.converged()
        async with measured() as turns:
            await trio.to_thread.run_sync(flood)
            ours.write_text("wrong")
            await story.until(lambda: ours.read_text() == "x")
    assert turns.longest < MOST
