"""Killed together with dnf in the middle of its transaction: the next start converges."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from apt_root import eventually
from dnf_root import DnfRoot
from rpm_packages import Rpm, write_repository

from reactor.engine.events import Result
from reactor.resources.package import Package, providers
from reactor.testing.story import converge_once

LIFE = Path(__file__).parent / "package_life.py"
NAMES = ["tiny0", "slow", "tiny1"]
WAITING = "io.open('/begun', 'w'):close()\nwhile not posix.stat('/go') do posix.sleep(1) end"


@pytest.fixture
def slow(tmp_path, monkeypatch):
    """The package `slow` says when it is about to be installed, and goes on when it is let."""
    write_repository(
        tmp_path / "repository",
        [Rpm("tiny0"), Rpm("slow", before=WAITING), Rpm("tiny1")],
    )
    root = DnfRoot(tmp_path / "system", tmp_path / "repository")
    monkeypatch.setitem(providers.made, "dnf", root.provider())
    return root


def children_of(process):
    """All processes below ``process``, deepest first."""
    below = [
        int(word)
        for task in Path(f"/proc/{process}/task").iterdir()
        for word in (task / "children").read_text().split()
    ]
    return [each for child in below for each in (*children_of(child), child)]


def kill(process):
    """Kill it before its children, of which it would see the end, and wait until all are gone."""
    everybody = [process.pid, *reversed(children_of(process.pid))]
    descriptors = [os.pidfd_open(each) for each in everybody]
    for descriptor in descriptors:
        with suppress(ProcessLookupError):  # some end with their parent
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    for descriptor in descriptors:
        assert select.select([descriptor], [], [], 60)[0]
        os.close(descriptor)
    process.wait()


@pytest.mark.parametrize("ensure", ["present", "absent"])
async def test_killed_with_dnf_the_next_start_converges(slow, ensure):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    life = subprocess.Popen([sys.executable, LIFE, "dnf", slow.root, *NAMES], env=environment)  # noqa: ASYNC220 - killed below
    await eventually((slow.root / "begun").exists)
    kill(life)
    (slow.root / "go").touch()
    ended, story = await converge_once(*(Package(name=name, ensure=ensure, provider="dnf") for name in NAMES))
    assert ended.counts[Result.FAILED] == 0, [check.error for check in story.checks("package#slow")]
    assert set(slow.packages) == (set(NAMES) if ensure == "present" else set())
    slow.run("rpm", "--root", str(slow.root), "--verify", "--all")


@pytest.mark.parametrize(("ensure", "left"), [("latest", ["2.0-1"]), ("1.0", ["1.0-1"])])
async def test_an_upgrade_that_was_cut_off_between_both_versions_is_finished(
    ensure, left, tmp_path, monkeypatch
):
    write_repository(tmp_path / "repository", [Rpm("app"), Rpm("app", "2.0", after=WAITING)])
    dnf = DnfRoot(tmp_path / "system", tmp_path / "repository")
    monkeypatch.setitem(providers.made, "dnf", dnf.provider())
    dnf.install("app-1.0")
    command = ["dnf", "-q", "-y", f"--installroot={dnf.root}", *dnf.options, "upgrade"]
    upgrade = subprocess.Popen(command, env=os.environ | dnf.environment)  # noqa: ASYNC220 - killed below
    await eventually((dnf.root / "begun").exists)
    kill(upgrade)
    (dnf.root / "go").touch()
    assert dnf.versions("app") == ["1.0-1", "2.0-1"]
    ended, _ = await converge_once(Package(name="app", ensure=ensure, provider="dnf"))
    assert ended.counts[Result.CHANGED] == 1
    assert dnf.versions("app") == left
