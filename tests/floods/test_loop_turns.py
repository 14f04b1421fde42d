"""What is read in masses is read in turns: how long the event loop does nothing else, in time of the processor.

Unlike the time on the clock, that hardly depends on how busy the machine is; a processor that others share may be half as
fast for a moment, so the best of some turns counts.
"""

import os
import threading
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
import trio
from test_floods import fill
from turns import turns

from reactor.hostfs import find_stale_temporaries, temp_files
from reactor.resource.watch import ChangedPaths, PathWatch
from reactor.resources.file import File
from reactor.resources.scaffold import Scaffold
from reactor.resources.trusted_sources import refuse_foreign_tree
from reactor.testing.story import running
from reactor.watchers.inotify import InotifyWatcher

MANY = 100_000
MOST = 0.02
"""Seconds. In one go, the listing of so many names takes two to ten times as long."""


@dataclass
class LoopTurns:
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
    loop = LoopTurns()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(loop.measure)
        await trio.lowlevel.checkpoint()
        yield loop
        nursery.cancel_scope.cancel()


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    directory = tmp_path_factory.mktemp("full") / "full"
    fill(directory, MANY)
    return directory


async def test_the_first_look_into_a_full_directory_holds_the_loop_briefly(full):
    (full / ".ours.0123456789ab.reactor").write_text("left by a killed run")
    for turn in turns(MOST):
        async with measured() as loop:
            found = await find_stale_temporaries(str(full), "ours", os.getuid())
        assert found == (".ours.0123456789ab.reactor",)
        turn.seconds = loop.longest


async def test_the_first_check_of_a_file_in_a_full_directory_holds_the_loop_briefly(full):
    for turn in turns(MOST):
        file = File(name=str(full / "ours"), ensure="present", content="x", owner="0", group="0", mode="0644")
        async with measured() as loop:
            await file.observe()
        turn.seconds = loop.longest


@pytest.mark.skipif(os.geteuid() != 0, reason="the directories above must belong to root")
async def test_a_look_at_a_full_directory_of_packages_holds_the_loop_briefly(full):
    for turn in turns(MOST):
        async with measured() as loop:
            await refuse_foreign_tree(str(full), "what is installed")
        turn.seconds = loop.longest


@pytest.mark.skipif(os.geteuid() != 0, reason="acts as another user")
async def test_names_of_temporary_files_that_another_user_has_made_are_looked_at_aside(tmp_path, monkeypatch):
    """50,000 of them took half a second of the event loop."""
    for number in range(100):
        path = tmp_path / f".ours.{number:012x}.reactor"
        path.touch()
        os.chown(path, 12345, 12345)
    threads, looked = set(), temp_files.is_stale_temporary

    def noting(*arguments):
        threads.add(threading.get_ident())
        return looked(*arguments)

    monkeypatch.setattr(temp_files, "is_stale_temporary", noting)
    assert await find_stale_temporaries(str(tmp_path), "ours", 0) == ()
    assert len(await find_stale_temporaries(str(tmp_path), "ours", 12345)) == 100
    assert threads
    assert threading.get_ident() not in threads


async def test_watching_a_tree_with_a_full_directory_holds_the_loop_briefly(full):
    class Sink:
        def mark(self, vertex, delay=0.0):
            pass

        report = mark_all = mark

    for turn in turns(MOST):
        watcher = InotifyWatcher(Sink())
        try:
            async with measured() as loop:
                await watcher.arm(PathWatch(str(full), ChangedPaths()), 0)
        finally:
            watcher.close()
        turn.seconds = loop.longest


async def loop_while_flooded(resource, managed, make):
    """The longest turn while ``make`` makes 20,000 names beside the file ``managed``, which a run keeps."""

    def flood():
        for number in range(20_000):
            make(managed.with_name(f"foreign{number}"))

    async with running(resource) as story:
        await story.converged()
        async with measured() as loop:
            await trio.to_thread.run_sync(flood)
            managed.write_text("wrong")
            await story.until(lambda: managed.read_text() == "x")
    return loop.longest


@pytest.mark.parametrize("make", [os.mkdir, lambda path: path.write_text("x")], ids=["directories", "files"])
async def test_a_flood_of_foreign_names_beside_a_managed_file_holds_the_loop_briefly(tmp_path, make):
    for number, turn in enumerate(turns(MOST)):
        managed = tmp_path / str(number) / "ours"
        managed.parent.mkdir()
        file = File(name=str(managed), ensure="present", content="x", owner="0", group="0", mode="0644")
        turn.seconds = await loop_while_flooded(file, managed, make)


async def test_a_flood_of_foreign_names_in_a_tree_holds_the_loop_briefly(tmp_path):
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "ours").write_text("x")
    for number, turn in enumerate(turns(MOST)):
        managed = tmp_path / str(number) / "ours"
        tree = Scaffold(name=str(managed.parent), ensure="present", source=str(tmp_path / "templates"))
        turn.seconds = await loop_while_flooded(tree, managed, lambda path: path.write_text("x"))
