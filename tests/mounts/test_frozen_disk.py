"""A disk of this host that hangs holds up nothing but what is on it, and that only until it answers."""

import os
import threading

import pytest
import trio
from frozen import disk
from mounts_worlds import OWN, a_change_elsewhere, a_file
from served import GUARD, until

from reactor import hostfs
from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.hostfs import disks, fsync
from reactor.resource.backup_store import backup_store
from reactor.resource.mount_health import fragile_mounts
from reactor.resource.plan import ResourceError
from reactor.resources.file import File
from reactor.testing.story import running

JOBS = RunOptions().jobs


@pytest.fixture
def frozen(tmp_path):
    """A disk that the test can freeze. What freezes the loop would freeze the test for ever: it is thawed before that."""
    with disk(tmp_path / "disk") as mounted:
        timer = threading.Timer(GUARD, mounted.thaw)
        timer.start()
        yield mounted
        assert timer.is_alive(), "something waited for the disk"
        timer.cancel()


def from_a_source(frozen, tmp_path, count):
    """Files on the disk that are to hold what one elsewhere holds."""
    source = tmp_path / "source"
    source.write_text("old")
    return source, [
        File(name=str(frozen.point / f"f{i}"), ensure="present", source=str(source), **OWN)
        for i in range(count)
    ]


@pytest.mark.usefixtures("patient")
async def test_a_file_elsewhere_is_repaired_within_a_second_whatever_waits_for_the_disk(
    frozen, tmp_path, in_memory
):
    source, below = from_a_source(frozen, tmp_path, 3 * JOBS)
    local = a_file(in_memory / "local")
    async with running(*below, local) as story:
        await story.converged()
        frozen.freeze()
        source.write_text("new")
        await a_change_elsewhere(story, in_memory / "local")
        await until(lambda: len(story.engine.scheduler.without_job) >= JOBS)
        await a_change_elsewhere(story, in_memory / "local")
        frozen.thaw()
        await story.until(
            lambda: all((frozen.point / f"f{i}").read_text() == "new" for i in range(len(below)))
        )


async def test_what_is_on_the_disk_fails_and_names_it_until_it_answers(
    frozen, short_disk_timeout, tmp_path, in_memory
):
    source, below = from_a_source(frozen, tmp_path, 3)
    local = a_file(in_memory / "local")
    async with running(*below, local) as story:
        await story.converged()
        frozen.freeze()
        source.write_text("new")
        await story.until(lambda: all(story.result(each.ref) is Result.FAILED for each in below))
        for each in below:
            check = story.checks(each.ref)[-1]
            assert check.error == f"ext4 at {frozen.point} does not answer"
            assert check.hint == (
                f"see dmesg, or thaw it if it is frozen: fsfreeze --unfreeze {frozen.point}"
            )
        await a_change_elsewhere(story, in_memory / "local")
        frozen.thaw()
        await story.until(lambda: all(story.result(each.ref) is not Result.FAILED for each in below))
        assert {(frozen.point / f"f{i}").read_text() for i in range(3)} == {"new"}
        await until(lambda: fragile_mounts().unresponsive_reason(f"{frozen.point}/f") is None)


async def test_what_failed_need_not_wait_for_its_retry_once_the_disk_answers(
    frozen, short_disk_timeout, in_memory
):
    first, second = (a_file(frozen.point / name, meta={"delay": "1h"}) for name in "ab")
    frozen.freeze()
    async with running(first, second, a_file(in_memory / "local")) as story:
        await story.until(lambda: story.result(first.ref) is story.result(second.ref) is Result.FAILED)
        await a_change_elsewhere(story, in_memory / "local")
        frozen.thaw()
        await story.converged()
        assert (frozen.point / "b").read_text() == "x"


CHANGES = {
    "make": lambda top: File(name=f"{top}/new", ensure="present", content="x", **OWN),
    "make_long": lambda top: File(name=f"{top}/new", ensure="present", content="x" * 300_000, **OWN),
    "write": lambda top: File(name=f"{top}/f", ensure="present", content="x", **OWN),
    "chmod": lambda top: File(name=f"{top}/f", ensure="present", **OWN | {"mode": "0600"}),
    "chmod_of_the_mount_point": lambda top: File(
        name=f"{top}", ensure="directory", mounted_root=True, **OWN | {"mode": "0700"}
    ),
    "remove": lambda top: File(name=f"{top}/f", ensure="absent"),
    "remove_directory": lambda top: File(name=f"{top}/d", ensure="absent"),
    "remove_tree": lambda top: File(name=f"{top}/d", ensure="absent", force=True),
    "make_directories": lambda top: File(name=f"{top}/a/b/c", ensure="directory", **OWN),
    "directory_for_file": lambda top: File(name=f"{top}/f", ensure="directory", **OWN),
}


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_no_change_is_waited_for_by_anybody_else(change, frozen, in_memory):
    (frozen.point / "f").write_text("foreign")
    (frozen.point / "d").mkdir()
    below, local = change(frozen.point), a_file(in_memory / "local")
    frozen.freeze()
    async with running(below, local) as story:
        await story.until(lambda: story.result(local.ref) is Result.CHANGED)
        await a_change_elsewhere(story, in_memory / "local")
        assert not story.checks(below.ref)
        frozen.thaw()
        await story.converged()
        assert story.result(below.ref) is Result.CHANGED


def held_open(point):
    """What is open in this process below ``point``."""
    links = (f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd"))
    return [
        path for link in links if os.path.lexists(link) and (path := os.readlink(link)).startswith(str(point))
    ]


async def test_a_change_that_was_given_up_leaves_nothing_behind(frozen, short_disk_timeout):
    path = frozen.point / "f"
    attributes = hostfs.Attributes(os.getuid(), os.getgid(), 0o644)
    frozen.freeze()
    with pytest.raises(ResourceError, match="does not answer"):
        await hostfs.write_file(str(path), hostfs.Inline("x"), attributes)
    with trio.fail_after(GUARD / 2), pytest.raises(ResourceError, match="does not answer"):
        await hostfs.write_file(str(path), hostfs.Inline("y"), attributes)
    frozen.thaw()
    await until(lambda: fragile_mounts().unresponsive_reason(f"{frozen.point}/f") is None)
    assert path.read_text() == "x"
    assert {each.name for each in frozen.point.iterdir()} == {"f", "lost+found"}
    assert not held_open(frozen.point)
    await hostfs.write_file(str(path), hostfs.Inline("y"), attributes)
    assert path.read_text() == "y"


async def test_a_change_that_is_cancelled_while_the_disk_hangs_is_not_waited_for(frozen, short_disk_timeout):
    attributes = hostfs.Attributes(os.getuid(), os.getgid(), 0o644)
    frozen.freeze()
    with trio.fail_after(GUARD / 2), trio.move_on_after(0.1) as moved:
        await hostfs.write_file(str(frozen.point / "f"), hostfs.Inline("x"), attributes)
    assert moved.cancelled_caught
    frozen.thaw()
    await until(lambda: fragile_mounts().unresponsive_reason(f"{frozen.point}/f") is None)
    assert not (frozen.point / "f").exists()


async def test_what_waits_for_its_turn_fails_with_the_one_that_hangs(frozen, short_disk_timeout, monkeypatch):
    monkeypatch.setattr(fsync, "FLUSH_TIMEOUT", 2 * GUARD)
    monkeypatch.setattr(disks, "FLUSH_TIMEOUT", 2 * GUARD)
    files = [a_file(frozen.point / name, meta={"delay": "1h"}) for name in "abc"]
    frozen.freeze()
    async with running(*files) as story:
        with trio.fail_after(GUARD / 2):
            await story.until(lambda: all(story.result(each.ref) is Result.FAILED for each in files))
        frozen.thaw()
        await story.converged()


class Box:
    """A backup store that remembers what it was given."""

    def __init__(self):
        self.kept = []

    async def keep(self, _path, _ref, fd):
        self.kept.append(os.pread(fd, 1000, 0))


async def test_what_a_change_that_was_given_up_replaces_at_last_is_kept(frozen, short_disk_timeout):
    path, box = frozen.point / "f", Box()
    path.write_text("old")
    token = backup_store.set(box)
    frozen.freeze()
    with pytest.raises(ResourceError, match="does not answer"):
        await hostfs.write_file(
            str(path), hostfs.Inline("new"), hostfs.Attributes(os.getuid(), os.getgid(), 0o644)
        )
    backup_store.reset(token)
    frozen.thaw()
    await until(lambda: box.kept)
    assert path.read_text() == "new"
    assert box.kept == [b"old"]
    await until(lambda: not held_open(frozen.point))
