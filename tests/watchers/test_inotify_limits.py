"""Where inotify ends: full queues, no watches left, mounts, file systems that send no events."""

import errno
import os
from pathlib import Path

import namespaced
import pytest
import trio
from namespaced import AS_NOBODY, run_namespaced
from trio.testing import wait_all_tasks_blocked
from watch_recorder import Recorder, Watching, open_descriptors, overflow_queue, watch_count, watching

from reactor.resource.mount_health import fragile_mounts
from reactor.resource.watch import PathWatch, WatchState
from reactor.watchers.inotify import InotifyWatcher


async def test_an_overflow_of_the_queue_is_reported_once_and_everything_is_marked(
    watch: Watching, tmp_path: Path, sink: Recorder
):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    await watch.arm(tmp_path / "a" / "f", tmp_path / "b" / "f")
    overflow_queue(tmp_path)
    await sink.until(lambda: sink.losses)
    await sink.next_marks(0, 1)
    assert len(sink.losses) == 1
    assert "overflow" in sink.losses[0]


async def test_a_directory_made_while_the_queue_was_full_is_watched_afterwards(
    watch: Watching, tmp_path: Path, sink: Recorder
):
    await watch.arm(tmp_path / "late" / "f")
    overflow_queue(tmp_path)
    (tmp_path / "late").mkdir()
    await sink.until(lambda: sink.losses)
    await sink.next_marks(0)
    (tmp_path / "late" / "f").write_text("x")
    await sink.until(lambda: (0, 0.0) in sink.marks)


def test_without_watches_left_paths_are_polled_until_there_are_some(tmp_path: Path):
    run_namespaced(namespaced.out_of_watches_is_polled_until_there_are_some, tmp_path)


def test_a_tree_of_another_user_leaves_watches_for_all_else(tmp_path: Path):
    run_namespaced(namespaced.a_tree_of_another_user_leaves_watches_for_all_else, tmp_path)


def test_a_directory_that_comes_when_no_watch_is_left_is_polled(tmp_path: Path):
    run_namespaced(namespaced.a_directory_that_comes_when_no_watch_is_left_is_polled, tmp_path)


def test_a_directory_that_may_not_be_read_is_polled_until_it_may(tmp_path: Path):
    run_namespaced(namespaced.an_unreadable_directory_is_polled, tmp_path, AS_NOBODY)


def test_a_mount_over_an_ancestor_is_noticed(tmp_path: Path):
    run_namespaced(namespaced.a_mount_over_an_ancestor_is_noticed, tmp_path)


def test_a_file_that_is_a_mount_point_is_noticed(tmp_path: Path):
    run_namespaced(namespaced.a_file_that_is_a_mount_point_is_heard, tmp_path)


def test_a_directory_that_is_a_mount_point_is_noticed(tmp_path: Path):
    run_namespaced(namespaced.a_directory_that_is_a_mount_point_is_heard, tmp_path)


async def test_a_file_system_that_sends_no_events_is_polled_with_its_type_as_reason(
    watch: Watching, sink: Recorder, autojump_clock
):
    await watch.arm("/proc/sys/kernel/hostname", "/etc/hostname")
    ((state, reason, vertex),) = sink.reports
    assert (state, vertex) == (WatchState.POLLING, 0)
    assert "proc" in reason
    before = trio.current_time()
    await sink.until(lambda: len(sink.marks) >= 3)
    assert trio.current_time() - before == pytest.approx(15)
    assert sink.marked == {0}
    assert len(sink.reports) == 1


async def test_five_thousand_files_are_watched_through_one_descriptor(
    watch: Watching, tmp_path: Path, sink: Recorder
):
    before = open_descriptors()["anon_inode:inotify"]
    paths = [tmp_path / f"d{number % 500}" / f"f{number}" for number in range(5000)]
    for directory in range(500):
        (tmp_path / f"d{directory}").mkdir()
    await watch.arm(*paths)
    sample = range(0, len(paths), 9)
    for vertex in sample:
        paths[vertex].touch()
    await sink.until(lambda: sink.marked == set(sample))
    assert open_descriptors()["anon_inode:inotify"] == before
    assert not sink.reports


async def test_directories_shared_by_many_paths_are_watched_once(watch: Watching, tmp_path: Path):
    (tmp_path / "d").mkdir()
    await watch.arm(*(tmp_path / "d" / f"f{number}" for number in range(100)))
    assert watch_count(watch) == len((tmp_path / "d").parts)


async def test_the_watch_of_a_symlinks_former_target_is_given_back(watch: Watching, tmp_path: Path):
    current = tmp_path / "current"
    (tmp_path / "zero").mkdir()
    current.symlink_to("zero")
    await watch.arm(current / "f")
    before = watch_count(watch)
    for release in range(10):
        (tmp_path / f"deep{release}" / "below").mkdir(parents=True)
        (tmp_path / "new").symlink_to(f"deep{release}/below")
        (tmp_path / "new").replace(current)
        await watch.sink.next_marks(0)
    assert watch_count(watch) == before + 1  # two directories lead to the last one, one led to the first


async def test_closing_frees_every_descriptor(tmp_path: Path):
    fragile_mounts()  # they are followed until trio's run ends
    await wait_all_tasks_blocked()
    before = open_descriptors()
    async with watching() as watch:
        await watch.arm(tmp_path / "f")
        assert (open_descriptors() - before)["anon_inode:inotify"] == 1
    assert not open_descriptors() - before, "what others left may go meanwhile"


async def test_a_watcher_that_is_closed_under_way_stops_with_an_error(tmp_path: Path):
    watcher = InotifyWatcher(Recorder())
    with pytest.raises(ExceptionGroup) as raised:  # noqa: PT012 - the nursery raises
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watcher.run)
            await wait_all_tasks_blocked()
            watcher.close()
    assert raised.group_contains(trio.ClosedResourceError)
    with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
        await watcher.arm(PathWatch(str(tmp_path / "f")), 0)


async def test_the_descriptor_is_not_inherited_by_commands(watch: Watching):
    assert not os.get_inheritable(watch.watcher._descriptor.fileno())


def test_without_instances_left_the_error_names_the_remedy_and_nothing_stays_open(tmp_path: Path):
    run_namespaced(namespaced.out_of_instances_is_an_error_that_names_the_remedy, tmp_path)
