"""What people see while a package manager takes its time."""

from __future__ import annotations

import os

import pytest
from deb_packages import Deb
from descriptors import open_descriptors
from dnf_root import DnfRoot
from rpm_packages import Rpm, write_repository

from reactor.engine.events import Output
from reactor.resources.package import Package, commands, providers
from reactor.resources.package.commands import PackageCommands
from reactor.resources.process import Completed
from reactor.testing.story import running

UNPACKING = "for time in $(seq 400); do test -e {0}/unpack && break; sleep 0.05; done"
CONFIGURING = (
    "echo making the index; for time in $(seq 400); do test -e {0}/configure && break; sleep 0.05; done"
)
INSTALLING = "for time = 1, 20 do if posix.stat('/install') then break end posix.sleep(1) end"


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    monkeypatch.setattr(commands, "FIRST", 0.1)
    monkeypatch.setattr(commands, "LONGEST", 0.1)


def package(host, name, ensure="present"):
    return Package(name=name, ensure=ensure, provider=host.manager)


def told(story, *words):
    return any(all(word in output.line for word in words) for output in story.all(Output))


async def test_what_apt_is_doing_is_reported_now_and_then(apt):
    scripts = {"preinst": UNPACKING.format(apt.root), "postinst": CONFIGURING.format(apt.root)}
    apt.offer(Deb("slow", scripts=scripts))
    apt.update()
    async with running(package(apt, "slow")) as story:
        await story.until(
            lambda: told(story, "apt-get has been at work for ", "%): Preparing to unpack", "slow_1.0")
        )
        (apt.root / "unpack").touch()
        await story.until(lambda: told(story, "s (60%): making the index"))
        (apt.root / "configure").touch()
        await story.converged()


async def test_what_dnf_is_doing_is_reported_now_and_then(tmp_path, monkeypatch):
    write_repository(tmp_path / "repository", [Rpm("slow", before=INSTALLING)])
    dnf = DnfRoot(tmp_path / "system", tmp_path / "repository")
    monkeypatch.setitem(providers.made, "dnf", dnf.provider())
    async with running(package(dnf, "slow")) as story:
        await story.until(lambda: told(story, "dnf has been at work for ", "s: ", "slow-1.0-1.noarch"))
        (dnf.root / "install").touch()
        await story.converged()


async def test_whom_dnf_itself_waits_for_is_reported_at_once(dnf):
    lock = dnf.root / "var/cache/dnf/metadata_lock.pid"
    lock.parent.mkdir(parents=True)
    lock.write_text(str(os.getpid()))
    async with running(package(dnf, "tiny0")) as story:
        await story.until(lambda: told(story, f"(process {os.getpid()}) to be done, however long that takes"))
        lock.unlink()
        await story.converged()
    assert dnf.packages.keys() == {"tiny0"}


@pytest.mark.parametrize(("status", "files"), [({}, 0), ({"status": "--progress="}, 1)])
async def test_only_a_program_that_is_asked_for_its_progress_gets_a_file_for_it(monkeypatch, status, files):
    async def observe(*_):
        return Completed(0, str(len(memory_files())), "", 0.0)

    monkeypatch.setattr("reactor.resources.package.commands.run", observe)
    before = len(memory_files())
    completed = await PackageCommands({}).run("true", **status)
    assert int(completed.stdout) - before == files


def memory_files():
    """The open files of this process that are in no directory."""
    return [target for _, target in open_descriptors() if target.startswith("/memfd:")]
