"""What happens to a watched path itself, as the real kernel tells it."""

import os
import shutil
from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked
from watch_recorder import Recorder, Watching, watch_count

from reactor.resource.watch import PathWatch
from reactor.watchers.inotify import SETTLE, InotifyWatcher
from reactor.watchers.inotify_descriptor import RawEvent


@pytest.fixture
async def motd(watch: Watching, tmp_path: Path) -> Path:
    """A watched file, vertex 0."""
    path = tmp_path / "motd"
    path.write_text("good")
    await watch.arm(path)
    return path


async def test_a_write_is_marked_once_and_at_once(motd: Path, sink: Recorder):
    motd.write_text("bad")
    await sink.until(lambda: sink.marks)
    await wait_all_tasks_blocked(0.001)
    assert sink.marks == [(0, 0.0)]


async def test_a_chmod_is_marked_at_once(motd: Path, sink: Recorder):
    motd.chmod(0o600)
    await sink.until(lambda: sink.marks)
    assert sink.marks == [(0, 0.0)]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
async def test_a_chown_is_marked_at_once(motd: Path, sink: Recorder):
    os.chown(motd, 1, 1)
    await sink.until(lambda: sink.marks)
    assert sink.marks == [(0, 0.0)]


async def test_a_deletion_is_marked_after_the_time_to_settle(motd: Path, sink: Recorder):
    motd.unlink()
    await sink.until(lambda: sink.marks)
    assert sink.marks == [(0, SETTLE)]


async def test_a_file_renamed_away_is_marked_after_the_time_to_settle(motd: Path, sink: Recorder):
    motd.rename(motd.with_name("elsewhere"))
    await sink.until(lambda: sink.marks)
    assert sink.marks == [(0, SETTLE)]


async def test_a_file_replaced_by_rename_is_noticed_every_time(motd: Path, sink: Recorder):
    for content in ("first", "second", "third"):
        other = motd.with_name("other")
        other.write_text(content)
        other.replace(motd)
        await sink.until(lambda: sink.marks)
        assert sink.marks == [(0, 0.0)]
        sink.marks.clear()


async def test_a_replaced_file_is_still_noticed_when_its_new_inode_changes(motd: Path, sink: Recorder):
    other = motd.with_name("other")
    other.write_text("new inode")
    other.replace(motd)
    await sink.next_marks(0)
    with motd.open("a") as file:
        file.write("more")
    await sink.until(lambda: sink.marks)
    assert sink.marks == [(0, 0.0)]


async def test_a_deletion_followed_by_a_whole_file_need_not_settle(motd: Path, sink: Recorder):
    motd.unlink()
    motd.write_text("new")
    await sink.until(lambda: sink.marks)
    assert sink.marks == [(0, 0.0)]


async def test_a_deletion_followed_by_an_open_file_has_to_settle(motd: Path, sink: Recorder):
    motd.unlink()
    with motd.open("w"):
        await sink.until(lambda: sink.marks)
        assert sink.marks == [(0, SETTLE)]
    await sink.until(lambda: (0, 0.0) in sink.marks)


async def test_a_directory_at_the_files_path_is_noticed_when_it_comes_and_when_it_goes(
    motd: Path, sink: Recorder
):
    motd.unlink()
    motd.mkdir()
    await sink.next_marks(0)
    motd.rmdir()
    await sink.next_marks(0)
    motd.write_text("good")
    await sink.next_marks(0)


async def test_a_symlink_or_hard_link_put_at_the_path_is_noticed(motd: Path, sink: Recorder):
    motd.unlink()
    await sink.next_marks(0)
    motd.symlink_to("/etc/hostname")
    await sink.next_marks(0)
    motd.unlink()
    await sink.next_marks(0)
    other = motd.with_name("other")
    other.write_text("linked")
    motd.hardlink_to(other)
    await sink.next_marks(0)


@pytest.mark.parametrize("link", [Path.hardlink_to, Path.symlink_to])
async def test_a_link_that_gives_way_to_a_file_gives_its_watch_back(
    watch: Watching, motd: Path, sink: Recorder, link
):
    before = watch_count(watch)
    other, new = motd.with_name("other"), motd.with_name("new")
    other.write_text("linked")
    link(new, other)
    new.replace(motd)
    await sink.next_marks(0)
    assert watch_count(watch) == before + 1
    new.write_text("a file")
    new.replace(motd)
    await sink.next_marks(0)
    assert watch_count(watch) == before
    motd.write_text("bad")
    await sink.next_marks(0)
    link(new, other)
    new.replace(motd)
    await sink.next_marks(0)
    other.write_text("bad, too")
    await sink.next_marks(0)


async def test_a_storm_of_writes_gives_no_more_marks_than_writes_and_one_after_the_last(
    motd: Path, sink: Recorder
):
    writes = 200

    def write_storm() -> None:
        for number in range(writes):
            motd.write_text(str(number))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.to_thread.run_sync, write_storm)
        noticed = 0
        while motd.read_text() != str(writes - 1):
            await sink.until(lambda: len(sink.marks) > noticed)  # noqa: B023 - called before it changes
            noticed = len(sink.marks)
    assert len(sink.marks) <= writes


async def test_writes_that_wait_in_the_queue_become_one_mark(motd: Path, sink: Recorder):
    for number in range(200):
        motd.write_text(str(number))
        motd.chmod(0o600 + number % 2)
    await sink.until(lambda: sink.marks)
    await wait_all_tasks_blocked(0.001)
    assert set(sink.marks) == {(0, 0.0)}
    assert len(sink.marks) <= 2


async def test_reading_a_file_is_no_event(motd: Path, sink: Recorder):
    motd.read_text()
    list(motd.parent.iterdir())
    motd.stat()
    await wait_all_tasks_blocked(0.001)
    assert not sink.marks


async def test_unwatched_names_in_the_same_directory_are_not_marked(motd: Path, sink: Recorder):
    temporary = motd.with_name(".motd.tmp")
    temporary.write_text("x")
    temporary.rename(motd.with_name("motd2"))
    motd.with_name("motd2").unlink()
    await wait_all_tasks_blocked(0.001)
    assert not sink.marks


async def test_two_vertices_on_one_path_are_both_marked(watch: Watching, motd: Path, sink: Recorder):
    await watch.arm(motd, first=1)
    motd.write_text("bad")
    await sink.until(lambda: len(sink.marks) == 2)
    assert sorted(sink.marks) == [(0, 0.0), (1, 0.0)]


async def test_arming_one_path_twice_for_a_vertex_marks_it_once(watch: Watching, motd: Path, sink: Recorder):
    await watch.arm(motd)
    motd.write_text("bad")
    await sink.until(lambda: sink.marks)
    await wait_all_tasks_blocked(0.001)
    assert sink.marks == [(0, 0.0)]


async def test_a_vertex_with_two_paths_is_marked_for_either(watch: Watching, motd: Path, sink: Recorder):
    other = motd.with_name("other")
    await watch.watcher.arm(PathWatch(str(other)), 0)
    other.write_text("x")
    await sink.next_marks(0)
    motd.write_text("y")
    await sink.next_marks(0)


async def test_a_watched_directory_is_marked_for_its_own_attributes_not_for_its_content(
    watch: Watching, tmp_path: Path, sink: Recorder
):
    directory = tmp_path / "d"
    directory.mkdir()
    await watch.arm(directory)
    (directory / "unwatched").write_text("x")
    await wait_all_tasks_blocked(0.001)
    assert not sink.marks
    directory.chmod(0o700)
    await sink.until(lambda: sink.marks)
    assert sink.marks == [(0, 0.0)]


async def test_a_watched_directory_with_watched_files_marks_each_for_its_own_events(
    watch: Watching, tmp_path: Path, sink: Recorder
):
    directory = tmp_path / "d"
    directory.mkdir()
    await watch.arm(directory, directory / "f")
    directory.chmod(0o700)
    await sink.until(lambda: sink.marks)
    assert sink.marks == [(0, 0.0)]
    sink.marks.clear()
    (directory / "f").write_text("x")
    await sink.until(lambda: sink.marks)
    assert sink.marked == {1}
    await wait_all_tasks_blocked(0.001)
    sink.marks.clear()
    shutil.rmtree(directory)
    await sink.next_marks(0, 1)


@pytest.fixture
async def linked(watch: Watching, tmp_path: Path) -> Path:
    """A watched symlink, vertex 0, to a file in another directory, which is returned."""
    target = tmp_path / "elsewhere" / "target"
    target.parent.mkdir()
    target.write_text("good")
    (tmp_path / "link").symlink_to("elsewhere/target")
    await watch.arm(tmp_path / "link")
    return target


async def test_the_target_of_a_watched_symlink_is_noticed(linked: Path, sink: Recorder):
    linked.write_text("bad")
    await sink.next_marks(0)
    linked.chmod(0o600)
    await sink.next_marks(0)


async def test_the_target_of_a_watched_symlink_may_be_replaced_by_rename(linked: Path, sink: Recorder):
    for content in ("first", "second"):
        other = linked.with_name("other")
        other.write_text(content)
        other.replace(linked)
        await sink.next_marks(0)
        linked.write_text("in place")
        await sink.next_marks(0)


async def test_a_watched_symlink_may_dangle_for_a_while(linked: Path, sink: Recorder):
    linked.unlink()
    await sink.next_marks(0)
    linked.write_text("back")
    await sink.next_marks(0)
    linked.write_text("again")
    await sink.next_marks(0)
    assert not sink.reports


async def test_a_watched_symlink_pointed_elsewhere_is_followed(linked: Path, sink: Recorder, tmp_path: Path):
    second = tmp_path / "second"
    second.write_text("x")
    (tmp_path / "new").symlink_to(second)
    (tmp_path / "new").replace(tmp_path / "link")
    await sink.next_marks(0)
    second.write_text("y")
    await sink.next_marks(0)
    linked.write_text("no longer ours")
    await wait_all_tasks_blocked(0.001)
    assert not sink.marks


async def test_a_file_that_becomes_a_symlink_is_followed_and_is_a_file_again(motd: Path, sink: Recorder):
    target = motd.with_name("target")
    target.write_text("x")
    motd.unlink()
    motd.symlink_to("target")
    await sink.next_marks(0)
    target.write_text("y")
    await sink.next_marks(0)
    motd.unlink()
    motd.write_text("a file")
    await sink.next_marks(0)
    target.write_text("no longer ours")
    await wait_all_tasks_blocked(0.001)
    assert not sink.marks
    motd.write_text("ours")
    await sink.next_marks(0)


async def test_paths_written_with_extra_slashes_and_dots_and_odd_bytes_are_understood(
    watch: Watching, tmp_path: Path, sink: Recorder
):
    odd = os.fsdecode(b"\xff name\n")
    (tmp_path / "d").mkdir()
    await watch.arm(f"/{tmp_path}//./{odd}", f"{tmp_path}/d/../plain")
    (tmp_path / odd).write_text("x")
    await sink.until(lambda: 0 in sink.marked)
    assert sink.marked == {0}
    (tmp_path / "plain").write_text("x")
    await sink.until(lambda: 1 in sink.marked)


async def test_a_change_between_arming_and_running_is_not_lost(tmp_path: Path):
    sink = Recorder()
    watcher = InotifyWatcher(sink)
    await watcher.arm(PathWatch(str(tmp_path / "f")), 7)
    (tmp_path / "f").write_text("early")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watcher.run)
        await sink.until(lambda: 7 in sink.marked)
        nursery.cancel_scope.cancel()
    watcher.close()


async def test_writes_beside_the_way_to_a_path_do_not_wake_us(
    watch: Watching, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """As to /dev/null, where files below /dev/shm are managed. Other programs make files in /tmp meanwhile."""
    names, read = set(), watch.watcher._read

    def noted() -> list[RawEvent]:
        events = read()
        names.update(name for *_, name in events)
        return events

    monkeypatch.setattr(watch.watcher, "_read", noted)
    (tmp_path / "way").mkdir()
    await watch.arm(tmp_path / "way" / "f")
    (tmp_path / "other").touch()
    await wait_all_tasks_blocked(0.01)
    assert b"other" in names
    names.clear()
    (tmp_path / "other").write_text("x")
    (tmp_path / "other").chmod(0o600)
    await wait_all_tasks_blocked(0.01)
    assert b"other" not in names
    (tmp_path / "way" / "f").touch()
    await watch.sink.next_marks(0)


async def test_a_directory_on_the_way_gets_all_events_once_a_file_in_it_is_watched(
    watch: Watching, tmp_path: Path
):
    (tmp_path / "way").mkdir()
    (tmp_path / "f").write_text("good")
    (tmp_path / "link").symlink_to("way")
    await watch.arm(tmp_path / "way" / "f", tmp_path / "f", tmp_path / "link" / ".." / "g")
    (tmp_path / "f").write_text("bad")
    await watch.sink.next_marks(1)


async def test_only_the_comings_and_goings_of_a_name_are_marked(
    watch: Watching, tmp_path: Path, sink: Recorder
):
    (tmp_path / "f").write_text("x")
    await watch.watcher.arm(PathWatch(str(tmp_path / "f"), is_name=True), 0)
    (tmp_path / "f").write_text("y")
    (tmp_path / "f").chmod(0o600)
    await wait_all_tasks_blocked(0.01)
    assert sink.marks == []
    (tmp_path / "f").unlink()
    await sink.next_marks(0)
    (tmp_path / "f").touch()
    await sink.next_marks(0)


async def test_the_state_of_another_directory_with_one_inode_is_kept(
    watch: Watching, tmp_path: Path, sink: Recorder
):
    """A symlink leads to a directory that is watched in full: a later watch of names alone takes nothing away."""
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "real" / "f").write_text("x")
    (tmp_path / "link").symlink_to("real")
    await watch.arm(tmp_path / "real" / "f", tmp_path / "link" / "deep" / "g")
    (tmp_path / "real" / "f").write_text("y")
    await sink.next_marks(0)
