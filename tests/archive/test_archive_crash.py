"""``kill -9`` at any moment of a download and of an unpacking: the next run repairs, and leaves no litter."""

import os
import random
import signal
import time
from contextlib import suppress

import pytest
import trio
from archive_worlds import ME, make, packed, sha256, tree
from kill_server import KillServer
from one_shot import checked

from reactor.engine.events import Result

OLD = packed({"app/kept": b"old", "app/version": b"1", "app/marker": b"x"}, "tar.gz")
NEW_FILES = {"app/version": b"2", "app/marker": b"x", "lib/new": os.urandom(200_000), "lib/more": b"m"}
NEW = packed(NEW_FILES, "tar.gz")


@pytest.fixture(scope="module")
def children():
    with KillServer() as server:
        yield server


def properties(root, server, body, **more):
    return {
        "name": str(root / "app.tar.gz"), "ensure": "present", "url": server.url(), "checksum": sha256(body),
        "extract_parent": str(root / "opt"), "creates": str(root / "opt/app/marker"), **ME, **more,
    }  # fmt: skip


def settle(root, server, body, **more):
    """One run to the end, in this process."""
    wanted = properties(root, server, body, **more)
    result, story = trio.run(_converge, make(wanted.pop("name"), wanted.pop("url"), **wanted))
    assert result in (Result.CHANGED, Result.OK), story


async def _converge(resource):
    check = await checked(resource)
    return check.result, check


def contents(root):
    return {path: found[3] for path, found in tree(root).items() if found[3] is not None}


def the_new_one(*, archive=True):
    there = {f"opt/{name}": content for name, content in NEW_FILES.items()}
    return {"opt/app/kept": b"old", **there, **({"app.tar.gz": NEW} if archive else {})}


STEPS = [
    ("write", 1), ("mkdir", 1), ("mkdir", 2), ("fchmod", 1), ("fsync", 1), ("rename", 1), ("rename", 2),
    ("rename", 3), ("write", 2), ("write", 4), ("rmdir", 1), ("utime", 1),
]  # fmt: skip


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step[0]}-{step[1]}")
def test_a_kill_at_any_step_of_an_upgrade_is_repaired_by_the_next_run(children, server, tmp_path, step, when):
    server.serve(OLD)
    settle(tmp_path, server, OLD)
    server.serve(NEW)
    children.start("archive", properties(tmp_path, server, NEW), die=[*step, when])
    assert children.was_killed()
    assert (tmp_path / "app.tar.gz").read_bytes() in (OLD, NEW)
    settle(tmp_path, server, NEW)
    assert contents(tmp_path) == the_new_one()
    assert not [path for path in tree(tmp_path) if ".reactor" in path]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_during_the_cleanup_is_repaired_by_the_next_run(children, server, tmp_path, when):
    server.serve(NEW)
    wanted = properties(tmp_path, server, NEW, cleanup=True)
    children.start("archive", wanted, die=["unlink", 1, when])
    assert children.was_killed()
    settle(tmp_path, server, NEW, cleanup=True)
    assert contents(tmp_path) == {
        path: text for path, text in the_new_one(archive=False).items() if "kept" not in path
    }


def test_a_kill_at_any_moment_leaves_the_old_or_the_new_archive(children, server, tmp_path):
    server.serve(OLD)
    settle(tmp_path, server, OLD)
    server.serve(NEW)
    chance = random.Random(6)
    killed = 0
    for _ in range(100):
        if killed == 8:
            break
        child = children.start("archive", properties(tmp_path, server, NEW))
        deadline = time.monotonic() + chance.random() * 0.1
        while time.monotonic() < deadline:
            assert (tmp_path / "app.tar.gz").read_bytes() in (OLD, NEW)
        with suppress(ProcessLookupError):  # it has ended by itself
            os.kill(child, signal.SIGKILL)
        killed += children.was_killed()
        settle(tmp_path, server, NEW)
        assert contents(tmp_path) == the_new_one()
        (tmp_path / "app.tar.gz").write_bytes(OLD)
    assert killed == 8
    settle(tmp_path, server, NEW)
    assert not [path for path in tree(tmp_path) if ".reactor" in path]
