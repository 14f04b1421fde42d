"""Scenarios that need limits or mounts of their own. Run by `run_namespaced`, in a user and mount namespace."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked
from watch_recorder import Recorder, open_descriptors, watching

from reactor.resource.watch import ChangedPaths, PathWatch, WatchState
from reactor.watchers.inotify import InotifyWatcher
from reactor.watchers.inotify_descriptor import InotifyDescriptor
from reactor.watchers.path_tree import POLL_INTERVAL

AS_ROOT = ("unshare", "--user", "--map-root-user", "--mount")
AS_NOBODY = ("unshare", "--user")


def run_namespaced(
    scenario: Callable[[Path], object], directory: Path, unshare: Sequence[str] = AS_ROOT
) -> None:
    """Run a scenario of this module; what it asserts fails here with its own text."""
    if subprocess.run([*AS_ROOT, "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs user namespaces")
    command = [*unshare, sys.executable, "-W", "error", __file__, scenario.__name__, str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


def limit_watches(count: int) -> None:
    Path("/proc/sys/user/max_inotify_watches").write_text(str(count))


def mount(*arguments: object) -> None:
    subprocess.run(["mount", *map(str, arguments)], check=True)


def umount(path: Path) -> None:
    subprocess.run(["umount", path], check=True)


async def out_of_watches_is_polled_until_there_are_some(base: Path) -> None:
    (base / "served").mkdir()
    (base / "unserved" / "below").mkdir(parents=True)
    paths = [base / "served" / "f", base / "unserved" / "f", base / "unserved" / "below" / "f"]
    limit_watches(len(base.parts) + 1)  # for all up to "served"
    async with watching() as watch:
        await watch.arm(*paths)
        sink = watch.sink
        assert {report[2] for report in sink.reports} == {1, 2}
        assert all(state is WatchState.POLLING for state, _, _ in sink.reports)
        limit = int(Path("/proc/sys/fs/inotify/max_user_watches").read_text())
        assert sink.reports[0][1].endswith(f"sysctl -w fs.inotify.max_user_watches={2 * limit}")
        assert str(base / "unserved") in sink.reports[0][1]

        paths[0].write_text("x")
        await sink.next_marks(0)
        paths[2].write_text("unheard")
        await wait_all_tasks_blocked(0.001)
        assert not sink.marks
        before = trio.current_time()
        await sink.until(lambda: sink.marked == {1, 2})
        assert trio.current_time() - before <= POLL_INTERVAL
        sink.marks.clear()
        assert len(sink.reports) == 2

        limit_watches(1000)
        await sink.until(lambda: sink.states[1] == sink.states[2] == WatchState.ARMED)
        await wait_all_tasks_blocked(0.001)
        sink.marks.clear()
        paths[2].write_text("heard")
        await sink.until(lambda: (2, 0.0) in sink.marks)


async def a_tree_out_of_watches_is_polled(base: Path) -> None:
    (base / "root" / "unserved").mkdir(parents=True)
    heard = ChangedPaths()
    limit_watches(len(base.parts) + 1)  # for all up to "root"
    async with watching() as watch:
        await watch.watcher.arm(PathWatch(str(base / "root"), heard), 0)
        sink = watch.sink
        assert sink.states == {0: WatchState.POLLING}
        assert str(base / "root" / "unserved") in sink.reports[0][1]
        heard.take()
        (base / "root" / "unserved" / "f").write_text("unheard")
        (base / "root" / "f").write_text("heard")
        await sink.next_marks(0)
        assert heard.take() == {str(base / "root" / "f")}
        await sink.until(lambda: sink.marks)
        assert heard.take() is None

        limit_watches(1000)
        await sink.until(lambda: sink.states == {0: WatchState.ARMED})
        await wait_all_tasks_blocked(0.001)
        heard.take()
        (base / "root" / "unserved" / "f").write_text("heard")
        await sink.next_marks(0)
        assert heard.take() == {str(base / "root" / "unserved" / "f")}


async def a_tree_of_another_user_leaves_watches_for_all_else(base: Path) -> None:
    ours, theirs = base / "etc", base / "home"
    for directory in (ours / "deep", theirs / "first"):
        directory.mkdir(parents=True)
    limit_watches(40)
    async with watching() as watch:
        sink = watch.sink
        await watch.watcher.arm(PathWatch(str(theirs), ChangedPaths()), 0)
        for number in range(100):
            (theirs / f"d{number}").mkdir()
        await sink.until(lambda: sink.states == {0: WatchState.POLLING})
        assert f"(the largest tree is {theirs})" in sink.reports[0][1]
        await watch.watcher.arm(PathWatch(str(ours / "deep/f")), 1)
        sink.marks.clear()
        (ours / "deep/f").write_text("heard")
        await sink.until(lambda: (1, 0.0) in sink.marks)
        with closing(InotifyDescriptor()) as another_program:
            another_program.watch(bytes(base))
        limit_watches(1000)
        await sink.until(lambda: sink.states == {0: WatchState.ARMED})


async def a_tree_is_relied_upon_once_what_was_polled_has_gone(base: Path) -> None:
    (base / "root" / "unserved").mkdir(parents=True)
    limit_watches(len(base.parts) + 1)
    async with watching() as watch:
        await watch.watcher.arm(PathWatch(str(base / "root"), ChangedPaths()), 0)
        assert watch.sink.states == {0: WatchState.POLLING}
        shutil.rmtree(base / "root" / "unserved")
        await watch.sink.until(lambda: watch.sink.states == {0: WatchState.ARMED})


async def a_directory_that_comes_when_no_watch_is_left_is_polled(base: Path) -> None:
    limit_watches(len(base.parts))
    async with watching() as watch:
        await watch.arm(base / "late" / "f")
        assert not watch.sink.reports
        (base / "late").mkdir()
        await watch.sink.until(lambda: watch.sink.states == {0: WatchState.POLLING})


async def out_of_instances_is_an_error_that_names_the_remedy(_base: Path) -> None:
    Path("/proc/sys/user/max_inotify_instances").write_text("0")
    before = open_descriptors()
    with pytest.raises(OSError, match=r"sysctl -w fs\.inotify\.max_user_instances=") as raised:
        InotifyWatcher(Recorder())
    assert raised.value.errno == errno.EMFILE
    assert open_descriptors() == before


async def a_mount_over_an_ancestor_is_noticed(base: Path) -> None:
    path = base / "a" / "b" / "f"
    path.parent.mkdir(parents=True)
    async with watching() as watch:
        sink = watch.sink
        await watch.arm(path, base / "other")
        mount("-t", "tmpfs", "none", base / "a")
        await sink.until(lambda: 0 in sink.marked)
        path.parent.mkdir()
        await sink.next_marks(0)
        path.write_text("in the mount")
        await sink.until(lambda: (0, 0.0) in sink.marks)
        await wait_all_tasks_blocked(0.001)
        sink.marks.clear()

        umount(base / "a")
        await sink.next_marks(0)
        path.write_text("below the mount")
        await sink.until(lambda: (0, 0.0) in sink.marks)
        assert sink.marked == {0}
        assert not sink.reports


async def a_file_that_is_a_mount_point_is_heard(base: Path) -> None:
    """As in containers, whose /etc/hosts is a file of the host."""
    path, source, early = base / "a b" / "hosts", base / "source", base / "early"
    path.parent.mkdir()
    for file in (path, source, early):
        file.write_text("x")
    mount("--bind", source, early)
    async with watching() as watch:
        sink = watch.sink
        await watch.arm(path, early)
        source.write_text("through its source")
        await sink.next_marks(1)
        mount("--bind", source, path)
        await sink.next_marks(0)
        path.write_text("through the mount")
        await sink.next_marks(0, 1)
        source.chmod(0o600)
        await sink.next_marks(0, 1)
        umount(path)
        await sink.next_marks(0)
        path.write_text("no mount")
        await sink.until(lambda: (0, 0.0) in sink.marks)
        await wait_all_tasks_blocked(0.001)
        assert sink.marked == {0}


async def a_directory_that_is_a_mount_point_is_heard(base: Path) -> None:
    (base / "srv").mkdir()
    mount("-t", "tmpfs", "none", base / "srv")
    async with watching() as watch:
        await watch.arm(base / "srv", base / "srv" / "f")
        (base / "srv").chmod(0o700)
        await watch.sink.next_marks(0)
        (base / "srv" / "f").write_text("x")
        await watch.sink.until(lambda: watch.sink.marks)
        assert watch.sink.marked == {1}


async def an_unreadable_directory_is_polled(base: Path) -> None:
    closed = base / "closed"
    closed.mkdir()
    closed.chmod(0)
    async with watching() as watch:
        await watch.arm(closed / "f", closed / "below" / "f")
        sink = watch.sink
        assert sink.states == {0: WatchState.POLLING, 1: WatchState.POLLING}
        assert os.strerror(errno.EACCES) in sink.reports[0][1]
        closed.chmod(0o700)
        await sink.until(lambda: sink.states == {0: WatchState.ARMED, 1: WatchState.ARMED})
        await wait_all_tasks_blocked(0.001)
        sink.marks.clear()
        (closed / "f").write_text("x")
        await sink.until(lambda: (0, 0.0) in sink.marks)


if __name__ == "__main__":
    # Polling would take seconds: the clock jumps when there is nothing else to do.
    trio.run(globals()[sys.argv[1]], Path(sys.argv[2]), clock=MockClock(autojump_threshold=0.05))
