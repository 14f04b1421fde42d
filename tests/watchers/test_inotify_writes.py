"""Writes that are not followed by a close: they are heard once they pause, and at the latest after a while."""

import os
from contextlib import contextmanager
from math import inf
from pathlib import Path

import pytest
from watch_recorder import Recorder, Watching

from reactor.resource.watch import ChangedPaths, PathWatch
from reactor.watchers.pending_writes import INPUT, MANAGED

LAST = 99
"""The vertex of a file that is touched in order to see that all before it was heard."""


@pytest.fixture(autouse=True)
def no_throttle(monkeypatch):
    """The clock of some tests stands still, and so would a reader that waits."""
    monkeypatch.setattr("reactor.watchers.pending_writes.BURST", inf)


@contextmanager
def held_open(path: Path):
    descriptor = os.open(path, os.O_WRONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@pytest.fixture
async def motd(watch: Watching, tmp_path: Path) -> Path:
    """A watched file, vertex 0."""
    path = tmp_path / "motd"
    path.write_text("good")
    (tmp_path / "last").touch()
    await watch.arm(path)
    await watch.arm(tmp_path / "last", first=LAST)
    return path


@pytest.fixture
def all_heard(tmp_path: Path, sink: Recorder, motd: Path):
    """Wait until everything that happened so far was heard; return the vertices that are marked, and forget them."""

    async def wait() -> list[int]:
        (tmp_path / "last").chmod(0o600)
        await sink.until(lambda: LAST in sink.marked)
        marked = [vertex for vertex, _ in sink.marks if vertex != LAST]
        sink.marks.clear()
        return marked

    return wait


async def test_a_truncation_by_path_is_marked(motd: Path, sink: Recorder):
    os.truncate(motd, 1)
    await sink.until(lambda: sink.marks)
    assert sink.marks == [(0, 0.0)]


async def test_a_write_of_who_keeps_the_file_open_is_marked(motd: Path, sink: Recorder):
    with held_open(motd) as descriptor:
        os.write(descriptor, b"bad")
        await sink.until(lambda: sink.marks)
        assert sink.marks == [(0, 0.0)]


async def test_a_write_is_marked_when_no_other_has_come_for_a_while(
    motd: Path, sink: Recorder, all_heard, mock_clock
):
    with held_open(motd) as descriptor:
        for _ in range(10):
            os.write(descriptor, b"bad")
            assert not await all_heard()
            mock_clock.jump(MANAGED.quiet * 0.9)
        mock_clock.jump(MANAGED.quiet * 0.2)
        await sink.until(lambda: sink.marks)
        assert sink.marks == [(0, 0.0)]


async def test_writes_that_never_pause_are_marked_again_and_again(motd: Path, all_heard, mock_clock):
    step = MANAGED.quiet / 2
    lasting = 5.1 * MANAGED.latest
    marks = []
    with held_open(motd) as descriptor:
        for _ in range(round(lasting / step)):
            os.write(descriptor, b"bad")
            marks += await all_heard()
            mock_clock.jump(step)
    assert marks in ([0] * 4, [0] * 5)


async def test_a_close_is_marked_at_once_and_once(motd: Path, sink: Recorder, all_heard, mock_clock):
    with held_open(motd) as descriptor:
        os.write(descriptor, b"bad")
        assert not await all_heard()
    assert await all_heard() == [0]
    mock_clock.jump(10 * MANAGED.latest)
    assert not await all_heard()


async def test_a_user_who_listens_no_longer_is_not_marked_for_a_write_before(
    watch: Watching, motd: Path, all_heard, mock_clock
):
    os.truncate(motd, 1)
    assert not await all_heard()
    watch.watcher.disarm(PathWatch(str(motd)), 0)
    mock_clock.jump(10 * MANAGED.latest)
    assert not await all_heard()


async def test_a_write_to_an_input_waits_longer_and_is_marked(
    watch: Watching, tmp_path: Path, sink: Recorder, all_heard, mock_clock
):
    """Half of a source is not to be copied for each block that somebody writes to it."""
    source = tmp_path / "source"
    source.touch()
    await all_heard()
    await watch.watcher.arm(PathWatch(str(source), is_input=True), 1)
    with held_open(source) as descriptor:
        os.write(descriptor, b"half")
        assert not await all_heard()
        mock_clock.jump(INPUT.quiet * 0.9)
        assert not await all_heard()
        mock_clock.jump(INPUT.quiet * 0.2)
        await sink.until(lambda: 1 in sink.marked)


@pytest.mark.parametrize("is_input", [False, True])
async def test_a_write_in_a_tree_is_reported_with_its_path(
    watch: Watching, tmp_path: Path, sink: Recorder, is_input: bool
):
    (tmp_path / "root" / "a").mkdir(parents=True)
    written = tmp_path / "root" / "a" / "f"
    written.write_text("good")
    heard = ChangedPaths()
    await watch.watcher.arm(PathWatch(str(tmp_path / "root"), heard, is_input), 0)
    heard.take()
    os.truncate(written, 1)
    await sink.until(lambda: sink.marks)
    assert heard.take() == {str(written)}


async def test_another_event_in_a_tree_takes_no_pending_write_for_noticed(
    watch: Watching, tmp_path: Path, sink: Recorder, all_heard, mock_clock
):
    root = tmp_path / "root"
    root.mkdir()
    for name in ("f", "g"):
        (root / name).write_text("good")
    heard = ChangedPaths()
    await all_heard()
    await watch.watcher.arm(PathWatch(str(root), heard), 1)
    heard.take()
    os.truncate(root / "f", 1)
    (root / "g").chmod(0o600)
    assert set(await all_heard()) == {1}
    assert heard.take() == {str(root / "g")}
    mock_clock.jump(MANAGED.latest)
    await sink.until(lambda: 1 in sink.marked)
    assert heard.take() == {str(root / "f")}


async def test_what_is_written_to_a_file_that_was_replaced_concerns_no_one(
    motd: Path, sink: Recorder, all_heard, mock_clock
):
    with held_open(motd) as descriptor:
        other = motd.with_name("other")
        other.write_text("good")
        other.replace(motd)
        assert set(await all_heard()) == {0}
        os.write(descriptor, b"into the old one")
        assert not await all_heard()
        mock_clock.jump(10 * MANAGED.latest)
        assert not await all_heard()


# ---- hard links ----


@pytest.fixture
async def linked(watch: Watching, tmp_path: Path, motd: Path) -> Path:
    """Another hard link of a watched file, in a directory that nobody watches."""
    other = tmp_path / "elsewhere" / "other"
    other.parent.mkdir()
    (tmp_path / "shared").write_text("good")
    other.hardlink_to(tmp_path / "shared")
    await watch.arm(tmp_path / "shared", first=1)
    return other


@pytest.mark.parametrize(
    "change",
    [lambda path: path.write_text("bad"), lambda path: os.truncate(path, 1), lambda path: path.chmod(0o600)],
    ids=["write", "truncate", "chmod"],
)
async def test_a_change_through_another_hard_link_is_marked(linked: Path, sink: Recorder, change):
    change(linked)
    await sink.until(lambda: sink.marks)
    assert sink.marked == {1}


async def test_a_hard_link_that_takes_the_place_of_a_file_is_noticed_through_the_other(
    motd: Path, sink: Recorder, tmp_path: Path
):
    other = tmp_path / "elsewhere" / "other"
    other.parent.mkdir()
    other.write_text("good")
    (tmp_path / "new").hardlink_to(other)
    (tmp_path / "new").replace(motd)
    await sink.next_marks(0)
    other.write_text("bad")
    await sink.next_marks(0)


async def test_the_other_link_of_a_replaced_file_concerns_no_one(
    linked: Path, sink: Recorder, tmp_path: Path, all_heard
):
    (tmp_path / "new").write_text("good")
    (tmp_path / "new").replace(tmp_path / "shared")
    await sink.next_marks(1)
    linked.write_text("its own now")
    assert not await all_heard()
    (tmp_path / "shared").write_text("bad")
    await sink.next_marks(1)


async def test_a_hard_link_in_a_tree_is_noticed_through_the_other(
    watch: Watching, tmp_path: Path, sink: Recorder
):
    root, other = tmp_path / "root", tmp_path / "elsewhere" / "other"
    (root / "a").mkdir(parents=True)
    other.parent.mkdir()
    other.write_text("good")
    (root / "a" / "f").hardlink_to(other)
    heard = ChangedPaths()
    await watch.watcher.arm(PathWatch(str(root), heard), 0)
    heard.take()
    other.write_text("bad")
    await sink.until(lambda: sink.marks)
    assert heard.take() == {str(root / "a" / "f")}
    (root / "a" / "g").hardlink_to(other)
    await sink.next_marks(0)
    heard.take()
    other.chmod(0o600)
    await sink.next_marks(0)
    assert heard.take() == {str(root / "a" / "f"), str(root / "a" / "g")}
