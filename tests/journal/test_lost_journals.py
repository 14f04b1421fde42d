"""Runs whose journal is damaged, or on a disk that is full from the start: what is owed is done, or named as unknown."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
import trio
from journal_worlds import MANIFEST

from reactor.journal.journal import Journal

JOURNAL = "journal.sqlite"


@pytest.fixture
def world(tmp_path):
    """A manifest with a subscriber that owes a refresh from an earlier life; all else is as desired."""
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    ids = f"owner: '{os.getuid()}', group: '{os.getgid()}', mode: '0644'"
    (tmp_path / "a").write_text("a")
    (tmp_path / "a").chmod(0o644)
    (tmp_path / "site.yaml").write_text(
        f"resources:\n  - file: [{{{tmp_path}/a: {{ensure: present, content: a, {ids}}}}}]\n"
        f"  - exec: [{{tell: {{command: touch {tmp_path}/told, refreshonly: true, subscribe: 'file#{tmp_path}/a'}}}}]\n"
    )
    journal = Journal.open(str(state), MANIFEST, print)
    trio.run(journal.intend, f"file#{tmp_path}/a", ["exec#tell"])
    journal.close()
    return tmp_path


def run(world, before="true", state="state", *options):
    command = (
        f"{before} && exec '{sys.executable}' -m reactor run --converge-once --state-dir {state} site.yaml"
    )
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", command],
        cwd=world, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return done


def test_what_is_pending_is_done(world):
    """The world as it is: the tests below damage it."""
    assert run(world).returncode == 0
    assert (world / "told").exists()


DAMAGES = {
    "empty, without a WAL": lambda state: (os.truncate(state / JOURNAL, 0), os.unlink(state / f"{JOURNAL}-wal")),
    "garbage": lambda state: ((state / JOURNAL).write_bytes(os.urandom(8192)), os.unlink(state / f"{JOURNAL}-wal")),
    "cut off": lambda state: os.truncate(state / JOURNAL, 100),
    "a WAL of garbage": lambda state: (state / f"{JOURNAL}-wal").write_bytes(os.urandom(50000)),
    "another version": lambda state: subprocess.run(
        [sys.executable, "-c", f"import sqlite3; c=sqlite3.connect('{state}/{JOURNAL}'); c.execute('PRAGMA user_version=99'); c.commit()"],
        check=True,
    ),
    "a directory": lambda state: ((state / JOURNAL).unlink(), (state / JOURNAL).mkdir()),
    "a symlink": lambda state: ((state / JOURNAL).rename(state / "real"), (state / JOURNAL).symlink_to("real")),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_journal_gives_back_the_refresh_or_names_who_may_have_lost_one(world, name):
    DAMAGES[name](world / "state")
    done = run(world)
    assert done.returncode == 0, done.stderr
    if not (world / "told").exists():
        assert "a pending refresh of exec#tell may be lost" in done.stderr
    again = run(world)
    assert again.returncode == 0
    assert "may be lost" not in again.stderr


FULL = (
    "mkdir disk && mount -t tmpfs -o size=200k,mode=700 none disk && cp -a state/. disk && chmod 700 disk"
    " && {{ cat /dev/zero >disk/filler 2>/dev/null; true; }}{more}"
)
SICK = {
    "full": FULL.format(more=""),
    "full, and the lock is gone": FULL.format(more="").replace("&& {", "&& rm -f disk/lock && {"),
    "full, and the index of the WAL is gone": FULL.format(more="").replace("&& {", "&& rm -f disk/*-shm && {"),
    "read-only": "mkdir disk && mount --bind state disk && mount -o remount,bind,ro disk",
    "read-only, and the index of the WAL is gone": "rm -f state/*-shm; mkdir disk && mount --bind state disk && mount -o remount,bind,ro disk",
}  # fmt: skip


@pytest.mark.parametrize("name", SICK)
def test_a_refresh_that_is_pending_is_done_though_the_disk_takes_nothing(world, name):
    if not shutil.which("unshare"):
        pytest.skip("needs unshare")
    done = run(world, SICK[name], "disk")
    assert done.returncode == 0, done.stderr
    assert (world / "told").exists(), done.stderr
    assert "the run goes on" in done.stderr


def test_a_state_directory_that_others_may_write_says_nothing_about_what_is_pending(world):
    (world / "state").chmod(0o777)
    done = run(world, "true", "state")
    assert done.returncode == 2
    assert not (world / "told").exists()
