"""The store of former versions: content-addressed, bounded, and safe to share."""

import fcntl
import math
import os
import shutil
import stat
import subprocess
import sys
import time
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest
import trio
from line_pipe import started

from reactor import clock
from reactor.backup.pruning import Limits
from reactor.backup.store import Store

SMALL, LARGE = b"small\n", b"large" * 50_000


@pytest.fixture
def store(tmp_path):
    return Store(str(tmp_path / "backups"))


@pytest.fixture
def keep(tmp_path):
    """Keep content as if a file had held it: ``await keep(store, "/etc/f", b"content")``."""

    async def keep_(store, path, content, mode=0o640):
        there = tmp_path / "there"
        there.write_bytes(content)
        there.chmod(mode)
        with opened(there) as fd:
            os.lseek(fd, 0, os.SEEK_END)
            await store.keep(path, f"file#{path}", fd)

    return keep_


@contextmanager
def opened(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        yield fd
    finally:
        os.close(fd)


def contents(store, path):
    return [Path(store.content(version)).read_bytes() for version in store.versions(path)]


def objects(tmp_path):
    return sorted(os.listdir(tmp_path / "backups" / "objects"))


def entries(tmp_path):
    return sorted(os.listdir(tmp_path / "backups" / "entries"))


async def test_keeping_a_version_reads_no_names_of_earlier_ones(store, keep, tmp_path, monkeypatch):
    await keep(store, "/etc/f", b"1")
    read = []
    monkeypatch.setattr("reactor.backup.store.names_in", read.append)
    later = Store(str(tmp_path / "backups"))
    await keep(later, "/etc/f", b"2")
    monkeypatch.undo()
    assert read == []
    assert contents(later, "/etc/f") == [b"2", b"1"]


@pytest.mark.parametrize("content", [b"", SMALL, LARGE, bytes(range(256))])
async def test_a_version_is_found_again_with_all_that_belongs_to_it(store, keep, content):
    await keep(store, "/etc/f", content, mode=0o4750)
    (version,) = store.versions("/etc/f")
    assert (version.path, version.ref, version.size) == ("/etc/f", "file#/etc/f", len(content))
    assert (version.uid, version.gid, version.mode) == (os.geteuid(), os.getegid(), 0o4750)
    assert contents(store, "/etc/f") == [content]


async def test_versions_come_newest_first_and_only_those_of_the_path(store, keep):
    for content in (b"1", b"2", LARGE, b"3"):
        await keep(store, "/etc/f", content)
    await keep(store, "/etc/g", b"other")
    assert contents(store, "/etc/f") == [b"3", LARGE, b"2", b"1"]
    assert contents(store, "/etc/g") == [b"other"]
    assert store.versions("/etc/h") == []


async def test_what_was_kept_last_is_the_newest_also_after_the_clock_was_set_back(
    store, keep, tmp_path, monkeypatch
):
    tomorrow = time.time_ns() + 86400 * 10**9
    with monkeypatch.context() as clocks:
        clocks.setattr(time, "time_ns", lambda: tomorrow)
        await keep(store, "/etc/f", b"1")
    for content in (b"2", b"3"):
        await keep(Store(str(tmp_path / "backups"), Limits(versions=2)), "/etc/f", content)
    assert contents(store, "/etc/f") == [b"3", b"2", b"1"]
    Store(str(tmp_path / "backups"), Limits(versions=2)).prune()
    assert contents(store, "/etc/f") == [b"3", b"2"]


async def test_equal_content_is_stored_once(store, keep, tmp_path):
    for path in ("/etc/f", "/etc/g", "/etc/h"):
        await keep(store, path, SMALL)
    assert objects(tmp_path) == [sha256(SMALL).hexdigest()]
    assert len(entries(tmp_path)) == 3


async def test_what_comes_back_again_and_again_is_kept_once(store, keep, tmp_path):
    for _ in range(100):
        await keep(store, "/etc/f", SMALL)
    assert len(entries(tmp_path)) == 1
    await keep(store, "/etc/f", SMALL, mode=0o600)
    assert [version.mode for version in store.versions("/etc/f")] == [0o600, 0o640]


async def test_only_the_owner_may_look_into_the_store(store, keep, tmp_path):
    await keep(store, "/etc/shadow", SMALL)
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / "backups").rglob("*")} == {0}
    assert (tmp_path / "backups").stat().st_mode & 0o077 == 0


def test_a_store_that_nothing_was_given_to_leaves_no_trace(store, tmp_path):
    assert store.versions("/etc/f") == []
    store.prune()
    assert os.listdir(tmp_path) == []


async def test_a_file_over_the_limit_is_refused_with_a_reason(keep, tmp_path):
    store = Store(str(tmp_path / "backups"), Limits(file=100))
    await keep(store, "/etc/f", b"x" * 100)
    with pytest.raises(OSError, match="it is larger than 100 bytes"):
        await keep(store, "/etc/f", b"x" * 101)
    assert len(store.versions("/etc/f")) == 1


async def test_a_store_that_was_removed_meanwhile_is_made_again(store, keep, tmp_path):
    await keep(store, "/etc/f", b"1")
    subprocess.run(["rm", "-r", tmp_path / "backups"], check=True)
    await keep(store, "/etc/f", b"2")
    assert contents(store, "/etc/f") == [b"2"]


async def test_pruning_keeps_what_is_within_the_limits(store, keep, tmp_path):
    for content in (b"1", b"2", LARGE):
        await keep(store, "/etc/f", content)
    before = objects(tmp_path), entries(tmp_path)
    store.prune()
    assert (objects(tmp_path), entries(tmp_path)) == before


@pytest.mark.parametrize(("settling", "left"), [(math.inf, [b"1"]), (0, [])])
async def test_nothing_goes_for_its_age_while_the_clock_may_be_far_ahead(
    store, keep, monkeypatch, settling, left
):
    await keep(store, "/etc/f", b"1")
    monkeypatch.setattr(clock, "SETTLING", settling)
    monkeypatch.setattr(time, "time_ns", lambda: 4 * 10**18)
    store.prune()
    assert contents(store, "/etc/f") == left


async def test_pruning_frees_objects_that_no_one_refers_to_and_torn_ones(store, keep, tmp_path):
    await keep(store, "/etc/f", SMALL)
    (tmp_path / "backups/objects" / f"{'0' * 64}.01234567").write_text("half")
    (tmp_path / "backups/objects" / ("f" * 64)).write_text("an entry for it was never written")
    (tmp_path / "backups/entries/nonsense").write_text("x")
    store.prune()
    assert objects(tmp_path) == [sha256(SMALL).hexdigest()]
    assert contents(store, "/etc/f") == [SMALL]
    assert len(entries(tmp_path)) == 1


async def test_keeping_waits_while_another_process_prunes(store, keep, tmp_path):
    await keep(store, "/etc/f", b"1")
    with (tmp_path / "backups" / "lock").open() as lock, trio.fail_after(60):
        fcntl.flock(lock, fcntl.LOCK_EX)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(keep, store, "/etc/f", b"2")
            await trio.testing.wait_all_tasks_blocked(0.01)
            assert len(entries(tmp_path)) == 1
            fcntl.flock(lock, fcntl.LOCK_UN)
    assert contents(store, "/etc/f") == [b"2", b"1"]


async def test_crowding_calls_for_pruning_at_once(keep, tmp_path):
    store = Store(str(tmp_path / "backups"), Limits(total=1 << 20, versions=1000))

    def used():
        return 4096 * (len(entries(tmp_path)) + len(objects(tmp_path)))

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.maintain)
            for number in range(400):
                await keep(store, f"/etc/{number % 7}", b"%d" % number)
            while used() > 1 << 20:  # the last one may have been too much
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
    assert 0 < used() <= 1 << 20
    assert contents(store, "/etc/0")[0] == b"399"


async def test_a_damaged_object_is_never_given_out(store, keep, tmp_path):
    await keep(store, "/etc/f", SMALL)
    (version,) = store.versions("/etc/f")
    (tmp_path / "backups/objects" / version.name.digest).write_bytes(b"SMALL\n")
    with pytest.raises(OSError, match="damaged"):
        store.content(version)


async def test_an_object_that_a_power_failure_emptied_is_written_again(store, keep, tmp_path):
    await keep(store, "/etc/f", SMALL)
    (tmp_path / "backups/objects" / sha256(SMALL).hexdigest()).write_bytes(b"")
    await keep(store, "/etc/g", SMALL)
    assert contents(store, "/etc/f") == contents(store, "/etc/g") == [SMALL]


async def test_an_entry_that_was_never_finished_is_passed_over(store, keep, tmp_path):
    await keep(store, "/etc/f", b"1")
    await keep(store, "/etc/f", b"2")
    newest = store.versions("/etc/f")[0]
    (tmp_path / "backups/entries" / str(newest.name)).write_text('{"path": "/etc/f", "re')
    assert contents(store, "/etc/f") == [b"1"]


_KEEP_FOR_EVER = """
import os, sys, trio
from reactor.backup.store import Store

async def main(directory):
    store, fd = Store(directory), os.open(directory + ".content", os.O_RDWR | os.O_CREAT)
    for number in range(1_000_000):
        os.pwrite(fd, b"%08d" % number, 0)
        await store.keep("/etc/f", "file#/etc/f", fd)
        if number == 20:
            print("begun", flush=True)

trio.run(main, sys.argv[1])
"""


def test_killed_at_any_moment_every_version_that_is_listed_can_be_read(store, tmp_path):
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    for _ in range(5):
        with started(
            [sys.executable, "-c", _KEEP_FOR_EVER, tmp_path / "backups"],
            env=environment, stdout=subprocess.PIPE,
        ) as process:  # fmt: skip
            process.stdout.readline()
            process.kill()
    found = contents(store, "/etc/f")
    assert len(found) >= 100
    store.prune()
    kept = contents(store, "/etc/f")
    assert kept == found[: len(kept)]
    assert 95 <= len(kept) <= 100, "each of the five may have left one torn entry"
    assert {sha256(content).hexdigest() for content in kept} <= set(objects(tmp_path))
    assert len(objects(tmp_path)) <= 100


async def test_after_the_directory_was_removed_a_version_is_kept_again(tmp_path, keep):
    store = Store(str(tmp_path / "state" / "backups"))
    await keep(store, "/etc/f", SMALL)
    await keep(store, "/etc/g", SMALL)
    shutil.rmtree(tmp_path / "state")
    await keep(store, "/etc/f", SMALL)
    await keep(store, "/etc/g", SMALL)
    assert contents(store, "/etc/f") == contents(store, "/etc/g") == [SMALL]
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
