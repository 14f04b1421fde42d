"""Killed in the middle of a transaction, with or without the package manager: the next start converges."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from apt_root import eventually
from deb_packages import Deb
from line_pipe import with_deadline

from reactor.engine.events import Output, Result
from reactor.resources.package import Package
from reactor.testing.story import converge_once, running

LIFE = Path(__file__).parent / "package_life.py"
NAMES = [*(f"tiny{number}" for number in range(6)), "slow"]


@pytest.fixture
def slow(apt):
    """The package `slow` says which dpkg installs it, and goes on when it is let."""
    script = f"echo $PPID > {apt.root}/new; mv {apt.root}/new {apt.root}/dpkg.pid\nwhile test ! -e {apt.root}/go; do sleep 0.05; done\nseq 20000"
    apt.offer(*(Deb(name) for name in NAMES[:-1]), Deb("slow", scripts={"preinst": script}))
    apt.update()
    return apt


async def begun(apt, **how):
    """A life of reactor that has come as far as dpkg unpacking `slow`, and that dpkg."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, LIFE, "apt", apt.root, *NAMES]
    process = with_deadline(subprocess.Popen(command, env=environment, **how))  # noqa: ASYNC220 - killed, never waited for
    file = apt.root / "dpkg.pid"
    await eventually(file.exists)
    return process, int(file.read_text())


def parent_of(process):
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def resources():
    return [Package(name=name, ensure="present", provider="apt") for name in NAMES]


def all_is_installed(apt):
    """Whether all are there, and configured."""
    return set(apt.packages) == set(NAMES) and apt.run("dpkg", "--audit") == ""


async def test_with_the_package_manager_what_it_left_is_repaired(slow):
    life, dpkg = await begun(slow)
    for process in (life.pid, parent_of(dpkg), dpkg):
        os.kill(process, signal.SIGKILL)
    life.wait()
    assert list((slow.root / "var/lib/dpkg/updates").iterdir()), "dpkg was interrupted, and says so"
    (slow.root / "go").touch()
    ended, story = await converge_once(*resources())
    assert ended.counts[Result.FAILED] == 0, [check.error for check in story.checks("package#slow")]
    assert all_is_installed(slow)


async def test_what_is_half_there_is_removed_where_it_is_to_be_absent(slow):
    life, dpkg = await begun(slow)
    for process in (life.pid, parent_of(dpkg), dpkg):
        os.kill(process, signal.SIGKILL)
    life.wait()
    (slow.root / "go").touch()
    unwanted = [Package(name=name, ensure="absent", provider="apt") for name in NAMES]
    ended, story = await converge_once(*unwanted)
    assert ended.counts[Result.FAILED] == 0, [check.error for check in story.checks("package#slow")]
    assert slow.packages == {}
    assert slow.run("dpkg", "--audit") == ""


async def test_a_transaction_comes_to_its_end_when_who_began_it_was_killed(slow):
    life, _ = await begun(slow)
    life.kill()
    life.wait()
    (slow.root / "go").touch()
    await eventually(lambda: all_is_installed(slow))


async def test_alone_the_package_manager_is_waited_for(slow):
    life, _ = await begun(slow)
    life.kill()
    life.wait()
    async with running(*resources()) as story:
        await story.until(lambda: any("waiting for apt-get" in line.line for line in story.all(Output)))
        assert "slow" not in slow.packages
        (slow.root / "go").touch()
        await story.converged()
    assert all_is_installed(slow)


def interrupted(life, words):
    """Interrupt it, and read what it says until ``words``."""
    life.send_signal(signal.SIGINT)
    said = ""
    while words not in said:
        line = life.stdout.readline()
        assert line, f"it ended and said only {said!r}"
        said += line
    return said


async def test_three_interrupts_leave_dpkg_at_its_work_and_are_waited_for(slow):
    life, dpkg = await begun(slow, stdout=subprocess.PIPE, text=True)
    for words in (
        "interrupt again to cancel",
        "to kill their processes",
        "interrupt again to end without waiting",
    ):
        said = interrupted(life, words)
    assert "apt-get (pid " in said
    assert "killed 0 process groups" in said
    os.kill(dpkg, 0)
    assert life.poll() is None
    (slow.root / "go").touch()
    life.communicate(timeout=60)
    assert all_is_installed(slow)


async def test_the_fourth_ends_reactor_and_not_dpkg(slow):
    life, dpkg = await begun(slow, stdout=subprocess.PIPE, text=True)
    for words in (
        "again to cancel",
        "to kill their processes",
        "to end without waiting",
        "the package manager goes on",
    ):
        interrupted(life, words)
    life.communicate(timeout=60)
    assert life.returncode == 128 + signal.SIGINT
    os.kill(dpkg, 0)
    assert "slow" not in slow.packages
    (slow.root / "go").touch()
    await eventually(lambda: all_is_installed(slow))
