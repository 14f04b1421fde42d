"""``kill -9`` at any moment: the file is the old one or the new one, and the next run leaves no litter."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import trio
from file_worlds import converge, make, names_in

OLD, NEW = "old " * 30_000, "new " * 20_000


@pytest.fixture(scope="module")
def server():
    program = Path(__file__).with_name("file_crash_server.py")
    with subprocess.Popen(
        [sys.executable, str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.stdin.close()


def start(server, **job) -> int:
    server.stdin.write(json.dumps(job) + "\n")
    server.stdin.flush()
    return int(server.stdout.readline())


def was_killed(server) -> bool:
    return int(server.stdout.readline()) == signal.SIGKILL


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("call", ["write", "fchmod", "fsync", "rename"])
def test_killed_at_each_step_of_a_write(server, tmp_path: Path, call: str, when: str):
    path = tmp_path / "f"
    path.write_text(OLD)
    start(server, path=str(path), contents=[NEW], die=[call, when])
    assert was_killed(server)
    renamed = (call, when) == ("rename", "after")
    assert path.read_text() == (NEW if renamed else OLD)
    assert len(names_in(tmp_path)) == (1 if renamed else 2)
    trio.run(converge, make(path, content=NEW))
    assert path.read_text() == NEW
    assert names_in(tmp_path) == ["f"]


def test_killed_at_any_moment_while_somebody_reads(server, tmp_path: Path):
    path = tmp_path / "f"
    path.write_text(OLD)
    path.chmod(0o644)
    chance = random.Random(1)
    seen = set()
    for _ in range(50):
        before = path.read_text()
        child = start(server, path=str(path), contents=[NEW, OLD] if before == OLD else [OLD, NEW])
        deadline = time.monotonic() + 60
        while path.read_text() == before:
            assert time.monotonic() < deadline
        for _ in range(chance.randrange(60)):
            seen.add(path.read_text())
        os.kill(child, signal.SIGKILL)
        assert was_killed(server)
        seen.add(path.read_text())
    assert seen == {OLD, NEW}
    trio.run(converge, make(path, content=NEW))
    assert path.read_text() == NEW
    assert names_in(tmp_path) == ["f"]
