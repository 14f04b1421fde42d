"""A file that was put in place and verified is not checked once more for the event of its rename. All else is marked."""

import mmap
import os
from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked
from watch_recorder import Recorder, Watching

from reactor.engine.engine import Engine
from reactor.engine.events import Checked, Event, Result
from reactor.engine.options import RunOptions
from reactor.hostfs import Attributes, Inline, write_file
from reactor.resource.own_renames import own_renames
from reactor.resource.watch import ChangedPaths, PathWatch
from reactor.resources.file import File
from reactor.testing.story import graph_of

OURS = Attributes(os.geteuid(), os.getegid(), 0o644)


@pytest.fixture
async def armed(watch: Watching, in_memory: Path) -> Path:
    path = in_memory / "f"
    path.write_text("bad")
    await watch.arm(path)
    return path


async def put_in_place(path: Path) -> None:
    """Replace the file as a repair does, up to the reading that verifies it."""
    await write_file(str(path), Inline("good"), OURS)
    assert path.read_text() == "good"
    own_renames.verify(str(path))


async def test_the_event_of_a_verified_file_is_no_news(armed: Path, sink: Recorder):
    await put_in_place(armed)
    await wait_all_tasks_blocked(0.01)
    assert sink.marks == []
    assert own_renames.verified == {}


async def test_a_file_that_was_not_verified_is_marked(armed: Path, sink: Recorder):
    await write_file(str(armed), Inline("good"), OURS)
    await sink.next_marks(0)


async def test_a_file_that_is_verified_after_its_event_was_read_is_marked(armed: Path, sink: Recorder):
    """The name is forgotten too: it would hide a rename of another program later."""
    await write_file(str(armed), Inline("good"), OURS)
    await sink.next_marks(0)
    own_renames.verify(str(armed))
    assert own_renames.verified == {}


async def test_a_write_right_after_the_verification_is_marked(armed: Path, sink: Recorder):
    await put_in_place(armed)
    armed.write_text("bad")
    await sink.next_marks(0)


async def test_a_write_through_a_mapping_right_after_the_verification_is_marked(armed: Path, sink: Recorder):
    """It sends no event but that of the close, which must not be merged with one of ours."""
    await put_in_place(armed)
    with armed.open("r+b") as file, mmap.mmap(file.fileno(), 4) as mapping:
        mapping[:3] = b"bad"
    await sink.next_marks(0)


async def test_a_second_rename_of_the_same_temporary_name_is_marked(armed: Path, sink: Recorder):
    await put_in_place(armed)
    (name,) = own_renames.verified
    forged = armed.parent / os.fsdecode(name)
    forged.write_text("bad")
    forged.rename(armed)
    await sink.next_marks(0)


async def test_a_rename_of_the_same_temporary_name_to_another_path_is_marked(
    watch: Watching, armed: Path, sink: Recorder
):
    other = armed.with_name("g")
    await watch.arm(other, first=1)
    await put_in_place(armed)
    (name,) = own_renames.verified
    own_renames.verified[name] = os.fsencode(other)
    await sink.next_marks(0)


async def test_a_resource_that_reads_the_file_is_marked(watch: Watching, armed: Path, sink: Recorder):
    await watch.watcher.arm(PathWatch(str(armed), is_input=True), 1)
    await put_in_place(armed)
    await sink.next_marks(0, 1)


async def test_the_tree_that_the_file_is_in_is_marked(watch: Watching, armed: Path, sink: Recorder):
    below = ChangedPaths()
    await watch.watcher.arm(PathWatch(str(armed.parent), below), 1)
    below.take()
    await put_in_place(armed)
    await sink.next_marks(1)
    assert str(armed) in (below.take() or ())


async def test_names_are_forgotten_once_all_events_are_read(armed: Path, sink: Recorder):
    """As after an overflow, when the event of the rename is lost: another program may use the name later."""
    own_renames.verified[b".f.0123456789ab.reactor"] = os.fsencode(armed)
    armed.with_name("other").touch()
    await wait_all_tasks_blocked(0.01)
    assert own_renames.verified == {}
    assert sink.marks == []


async def test_a_first_convergence_checks_each_file_once(in_memory: Path):
    files = [
        File(
            name=f"{in_memory}/{number}",
            ensure="present",
            content="x",
            owner=str(OURS.uid),
            group=str(OURS.gid),
            mode="0644",
        )
        for number in range(50)
    ]
    events: list[Event] = []
    engine = Engine(graph_of(files), RunOptions(watch=True, audit_interval=None), events.append)
    async with trio.open_nursery() as nursery:
        await nursery.start(engine.run)
        await wait_all_tasks_blocked(0.05)
        engine.stop()
    assert [event.result for event in events if isinstance(event, Checked)] == [Result.CHANGED] * 50
