"""``kill -9`` at any moment: the file is the old one or the new one, and the next run leaves no litter."""

import os
import random
import signal
import time
from pathlib import Path

import pytest
import trio
from file_worlds import ME, MY_GROUP, converge, make, names_in
from kill_server import KillServer

OLD, NEW = "old " * 30_000, "new " * 20_000


@pytest.fixture(scope="module")
def server():
    with KillServer() as server:
        yield server


def states(path, *contents):
    own = {"owner": ME, "group": MY_GROUP, "mode": "0755"}
    return [{"name": str(path), "ensure": "present", "content": content, **own} for content in contents]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("call", ["write", "fchmod", "fsync", "rename"])
def test_a_kill_at_any_step_of_a_write_leaves_the_old_or_the_new_content(
    server, tmp_path: Path, call: str, when: str
):
    path = tmp_path / "f"
    path.write_text(OLD)
    server.start("file", *states(path, NEW), die=[call, 1, when])
    assert server.was_killed()
    renamed = (call, when) == ("rename", "after")
    assert path.read_text() == (NEW if renamed else OLD)
    assert len(names_in(tmp_path)) == (1 if renamed else 2)
    trio.run(converge, make(path, content=NEW))
    assert path.read_text() == NEW
    assert names_in(tmp_path) == ["f"]


def test_killed_at_any_moment_while_another_process_reads(server, tmp_path: Path):
    path = tmp_path / "f"
    path.write_text(OLD)
    path.chmod(0o644)
    chance = random.Random(1)
    seen = set()
    for _ in range(50):
        before = path.read_text()
        other = NEW if before == OLD else OLD
        child = server.start("file", *states(path, other, before), endless=True)
        deadline = time.monotonic() + 60
        while path.read_text() == before:
            assert time.monotonic() < deadline
        for _ in range(chance.randrange(60)):
            seen.add(path.read_text())
        os.kill(child, signal.SIGKILL)
        assert server.was_killed()
        seen.add(path.read_text())
    assert seen == {OLD, NEW}
    trio.run(converge, make(path, content=NEW))
    assert path.read_text() == NEW
    assert names_in(tmp_path) == ["f"]
