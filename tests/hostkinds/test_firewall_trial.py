"""A change of the firewall that is not confirmed is taken back, whatever happens to the run that made it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from firewall_worlds import RULES_FILE, firewall, nft, ours, rule, tables
from line_pipe import with_deadline

from reactor.engine.events import Result
from reactor.resource.backup_store import state_directory_for
from reactor.resources.firewall import record, trial
from reactor.testing.story import converge_once, running

SSH, WEB = rule(accept="tcp/22"), rule(accept="tcp/80")
NOWHERE = "127.0.0.1:1"


@pytest.fixture(autouse=True)
def state(tmp_path):
    """A state directory, no table, and a loopback link."""
    nft("flush", "ruleset")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with state_directory_for(str(tmp_path / "state")):
        yield tmp_path / "state"
    nft("flush", "ruleset")


@pytest.fixture
def listening():
    """The address of a server."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def files(state):
    folder = state / "firewall"
    return sorted(path.suffix for path in folder.iterdir()) if folder.is_dir() else []


@contextmanager
def monitor():
    """The lines in which nft tells of changes."""
    with subprocess.Popen(["nft", "monitor"], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield with_deadline(process).stdout
        finally:
            process.kill()


async def test_a_change_that_connects_stays_and_its_repairs_need_no_proof(state, listening):
    proven = firewall(SSH, confirm={"seconds": 5, "connect": listening})
    ended, _ = await converge_once(proven)
    assert ended.counts[Result.CHANGED] == 1
    assert files(state) == []
    assert RULES_FILE.read_text().endswith("}\n")
    unreachable = firewall(SSH, confirm={"seconds": 60, "connect": NOWHERE})
    async with running(unreachable) as story:
        await story.converged()
        desired = ours()
        nft("flush", "chain", "inet", "reactor", "input")
        await story.until(lambda: ours() == desired)
    assert files(state) == []


async def test_a_change_that_does_not_connect_is_taken_back_and_not_tried_again(state, listening):
    await converge_once(firewall(SSH, confirm={"connect": listening}))
    before, at_boot = tables(), RULES_FILE.read_text()
    cut_off = firewall(WEB, confirm={"seconds": 1, "connect": NOWHERE})
    for _ in range(2):
        ended, story = await converge_once(cut_off)
        assert ended.counts[Result.FAILED] == 1
        words = f"these rules were taken back: no connection to {NOWHERE} within 1 s"
        assert words in story.checks("firewall#host")[-1].error
        assert (tables(), RULES_FILE.read_text()) == (before, at_boot)
    [mark] = (state / "firewall").iterdir()
    assert mark.suffix == ".taken-back"
    mark.unlink()
    ended, _ = await converge_once(firewall(WEB, confirm={"connect": listening}))
    assert ended.counts[Result.CHANGED] == 1
    assert "tcp dport 80 accept" in ours()


@pytest.fixture
def slow_return(tmp_path):
    """An nft that takes its time for the table that was before, and fails while the file ``broken`` is there."""
    nft_program = shutil.which("nft")
    shutil.copy(nft_program, real := tmp_path / "nft")
    (spy := tmp_path / "slow").write_text(
        f'#!/bin/sh\ncase "$2" in */firewall/*) sleep 0.5; [ ! -e {tmp_path}/broken ] || exit 1;; esac\nexec {real} "$@"\n'
    )
    spy.chmod(0o755)
    subprocess.run(["mount", "--bind", spy, nft_program], check=True)
    yield tmp_path / "broken"
    subprocess.run(["umount", nft_program], check=True)


@pytest.mark.usefixtures("slow_return")
async def test_rules_were_taken_back_only_when_nft_has_done_it(state):
    ended, _ = await converge_once(firewall(WEB, confirm={"seconds": 1, "connect": NOWHERE}))
    assert ended.counts[Result.FAILED] == 1
    assert (tables(), files(state)) == ("", [".taken-back"])


async def test_a_return_that_fails_is_tried_once_more_and_not_called_one(state, slow_return, monkeypatch):
    monkeypatch.setattr(trial, "_GRACE", 0.8)
    slow_return.touch()
    ended, story = await converge_once(firewall(WEB, confirm={"seconds": 1, "connect": NOWHERE}))
    assert ended.counts[Result.FAILED] == 1
    assert "nft failed with exit code 1" in story.checks("firewall#host")[-1].error
    assert (files(state), "tcp dport 80" in ours()) == ([".returning"], True)
    slow_return.unlink()
    await converge_once(firewall(WEB, confirm={"seconds": 1, "connect": NOWHERE}))
    assert (tables(), files(state)) == ("", [".taken-back"])


async def test_without_a_table_before_the_return_is_to_none():
    ended, _ = await converge_once(firewall(WEB, confirm={"seconds": 1, "connect": NOWHERE}))
    assert ended.counts[Result.FAILED] == 1
    assert tables() == ""
    assert not RULES_FILE.exists()


async def test_an_administrator_confirms_by_removing_the_file(state):
    changed = firewall(SSH, confirm={"seconds": 60})
    async with running(changed) as story:
        await story.until(lambda: files(state) == [".unconfirmed"] and ours())
        assert not RULES_FILE.exists()
        [pending] = (state / "firewall").iterdir()
        assert pending.stat().st_mode & 0o777 == 0o600
        assert pending.parent.stat().st_mode & 0o777 == 0o700
        pending.unlink()
        await story.until(RULES_FILE.exists)
    assert await changed.verify() == ()


MANIFEST = "resources: [{firewall: [{host: {rules: [{accept: tcp/80}], confirm: {seconds: 1}}}]}]\n"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_change_of_a_killed_run_is_taken_back(state, tmp_path, number):
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(MANIFEST)
    nft("-f", "-", text="table inet reactor { chain former { }; }\n")
    before = tables()
    command = [sys.executable, "-m", "reactor", "run", str(manifest)]
    environment = {**os.environ, "REACTOR_STATE_DIR": str(state)}
    with monitor() as told, subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as run:
        assert any("tcp dport 80 accept" in line for line in told)
        os.kill(run.pid, number)
        run.wait()
        assert any("add chain inet reactor former" in line for line in told)
    assert tables() == before
    assert files(state) == [".taken-back"]


async def test_the_next_run_goes_on_with_the_trial_of_a_killed_one(state, listening):
    """The same with the guard of the killed run gone, too: its time is over, and the next run takes the change back."""
    changed = firewall(SSH, confirm={"seconds": 60, "connect": listening})
    await changed._replace()  # as a run does that is killed while it waits for the proof
    await trial.begin("reactor", changed._own_trial, changed.confirm)
    ended, story = await converge_once(changed)
    assert story.checks("firewall#host")[-1].actions[0] == "confirmed the rules"
    assert files(state) == []

    await trial.begin("reactor", changed._own_trial, changed.confirm)
    pending = Path(changed._own_trial.pending)
    first = pending.read_text().partition("\n")[0]
    pending.write_text(f"{first.rsplit(' ', 1)[0]} 1.0\nadd table inet reactor\ndelete table inet reactor\n")
    record.save("reactor", record.load("reactor")._replace(confirmed=""))
    ended, _ = await converge_once(changed)
    assert ended.counts[Result.FAILED] == 1
    assert tables() == ""
    assert files(state) == [".taken-back"]


async def test_a_restart_of_the_host_counts_as_taken_back(state):
    changed = firewall(SSH, confirm={"seconds": 60})
    own = changed._own_trial
    Path(own.pending).parent.mkdir(parents=True)
    Path(own.pending).write_text("# another-boot 99999999.0\n")
    ended, story = await converge_once(changed)
    assert ended.counts[Result.FAILED] == 1
    assert own.pending in story.checks("firewall#host")[-1].hint
    assert tables() == ""


async def test_a_second_change_within_the_time_goes_back_to_what_was_before_both(state):
    nft("-f", "-", text="table inet reactor { chain former { }; }\n")
    before = tables()
    first = firewall(SSH, confirm={"seconds": 60})
    async with running(first) as story:
        await story.until(lambda: "tcp dport 22" in ours())
    ended, _ = await converge_once(firewall(WEB, confirm={"seconds": 1, "connect": NOWHERE}))
    assert ended.counts[Result.FAILED] == 1
    assert tables() == before


async def test_a_refused_rule_needs_no_return(state):
    ended, _ = await converge_once(firewall(rule(raw="nonsense"), confirm={"seconds": 60}))
    assert ended.counts[Result.FAILED] == 1
    assert files(state) == []
    assert tables() == ""
