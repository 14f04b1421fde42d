"""Whatever happens to the host: where a run is proven, a run would have said the same.

``PROVEN_ROUNDS=500 pytest tests/cli/test_proven_at_random.py`` plays more rounds than there is time for each time.
"""

import os
import random
import shutil
import sqlite3
import time
from contextlib import closing, suppress

import pytest
from proven_worlds import RESOURCES, ProvenWorld

from reactor.cli.running import run_proof

ROUNDS = int(os.environ.get("PROVEN_ROUNDS", "2"))
FILES = ("managed/a", "managed/copy", "managed/plain", "made/x", "made/log", "source", "site.yaml")
DIRECTORIES = ("managed", "managed/inner", "made", "state", ".")


def edit(path, _):
    with path.open("r+b") as file:
        first = file.read(1)
        file.seek(0)
        file.write(first.swapcase() or b"x")


def rewrite(path, _):
    path.write_bytes(path.read_bytes())


def replace(path, _):
    new = path.with_name("new")
    shutil.copy2(path, new)
    new.rename(path)


def chmod(path, choose):
    path.chmod(choose.choice((0o600, 0o644, 0o640, 0o755, 0o700)))


def set_times(path, choose):
    found = path.stat()
    os.utime(path, ns=(found.st_atime_ns, choose.choice((found.st_mtime_ns, time.time_ns(), 0))))


def link(path, choose):
    moved = path.with_name(f"moved{choose.random()}")
    path.rename(moved)
    path.symlink_to(moved)


def second_name(path, choose):
    path.with_name(f"second{choose.random()}").hardlink_to(path)


def remove(path, _):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def swap(path, choose):
    """Another directory with the same content."""
    moved = path.with_name(f"moved{choose.random()}")
    path.rename(moved)
    shutil.copytree(moved, path, symlinks=True)


def add(path, choose):
    (path / choose.choice(("other", ".a.0123456789ab.reactor", ".hidden"))).touch()


def owner(path, choose):
    if os.geteuid() == 0:
        os.chown(path, choose.choice((0, 12345)), choose.choice((0, 12345)))


def of_files(world, choose):
    change = choose.choice((edit, edit, rewrite, replace, chmod, set_times, link, second_name, remove, owner))
    change(world.directory / choose.choice(FILES), choose)


def of_directories(world, choose):
    path = world.directory / choose.choice(DIRECTORIES)
    choose.choice((add, add, chmod, link, remove, swap, owner) if path != world.directory else (add,))(
        path, choose
    )


def of_journal(world, choose):
    statement = choose.choice(
        (
            "INSERT INTO refreshes (source, subscriber, owed_since) SELECT 'file#/x', ref, 1.0 FROM members WHERE ref LIKE 'exec#sh%'",
            "DELETE FROM events",
            "DELETE FROM generations",
            "INSERT INTO events (time, event, ref, record) VALUES (1, 'checked', 'file#/x', '{}')",
        )
    )
    with closing(sqlite3.connect(world.state / "journal.sqlite", isolation_level=None)) as connection:
        connection.execute(statement)


def of_proof(world, choose):
    data = bytearray(world.proof.read_bytes())
    at = choose.randrange(len(data))
    if choose.random() < 0.5:
        del data[at:]
    else:
        data[at] ^= 1 << choose.randrange(7)
    world.proof.write_bytes(data)


def of_time(world, choose):
    world.change_proof(made=time.time() + choose.choice((-90_000, 60, -60)))


def nothing(_world, _choose):
    """No change."""


CHANGES = (
    of_files,
    of_files,
    of_files,
    of_directories,
    of_directories,
    of_journal,
    of_proof,
    of_time,
    nothing,
)


@pytest.fixture
def quiet(monkeypatch):
    """Nothing that this process would show of a proven run is shown."""
    real = os.write
    monkeypatch.setattr(
        os, "write", lambda descriptor, data: len(data) if descriptor == 1 else real(descriptor, data)
    )


def settled(directory):
    """A world that is as desired."""
    shutil.rmtree(directory, ignore_errors=True)
    world = ProvenWorld(directory)
    assert world.run()[1][0] == 0
    assert world.proof.exists()
    return world


def test_a_proven_run_says_what_a_run_says(tmp_path, quiet, monkeypatch):
    choose = random.Random(os.environ.get("PROVEN_SEED", time.time_ns()))
    world, count = settled(tmp_path / "world"), {True: 0, False: 0}
    is_read = False
    for _ in range(ROUNDS):
        if not is_read and choose.random() < 0.6:
            world.settle()
            be_session_of(world, monkeypatch)
            is_read = world.proves()
        done = []
        for _ in range(choose.choice((1, 1, 2, 3))):
            change = choose.choice(CHANGES)
            done.append(change.__name__)
            with suppress(OSError, sqlite3.Error, ValueError):  # what to change is gone
                change(world, choose)
        be_session_of(world, monkeypatch)
        is_proven = world.proves()
        count[is_proven] += 1
        with suppress(OSError):
            world.proof.unlink()
        _, (code, out, err) = world.run()
        if is_proven:
            said = code, out[-1:], err
            expected = 0, [f"ok {RESOURCES}  changed 0  (nothing is left to do, 0 changes in TIME)"], []
            assert said == expected, done
        is_read = False
        if code or err or not world.proof.exists():
            world = settled(tmp_path / "world")
    print(count)  # noqa: T201 - for who plays many rounds


def be_session_of(world, monkeypatch):
    """Let this process stand in for the session that the proof names."""
    text = world.proof.read_text(errors="replace") if world.proof.is_file() else ""
    found = text.partition('"session":"')[2].partition('"')[0]
    monkeypatch.setattr(run_proof, "session_digest", lambda: found)
    monkeypatch.chdir(world.directory)
