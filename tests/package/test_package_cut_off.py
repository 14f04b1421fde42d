"""A script of a package that does not end is cut off: what hung is said, and the next run is not stuck on it."""

from __future__ import annotations

import pytest
import trio
from apt_root import eventually
from deb_packages import Deb
from dnf_root import DnfRoot
from package_checks import package
from rpm_packages import Rpm, write_repository

from reactor.engine.events import Result
from reactor.resource.output import noter
from reactor.resources.package import providers
from reactor.testing.story import converge_once

HANGS = "echo asks for more; touch {root}/begun; while test ! -e {root}/go; do sleep 0.05; done"
WAITS = "io.open('/begun', 'w'):close()\nwhile not posix.stat('/go') do posix.sleep(1) end"


@pytest.fixture
def hanging(apt):
    """The package `hang` never gets configured; `fine` does."""
    apt.offer(Deb("hang", scripts={"postinst": HANGS.format(root=apt.root)}), Deb("fine"))
    apt.update()
    return apt


@pytest.fixture
def hanging_rpm(tmp_path, monkeypatch):
    write_repository(tmp_path / "repository", [Rpm("hang", after=WAITS)])
    root = DnfRoot(tmp_path / "system", tmp_path / "repository")
    monkeypatch.setitem(providers.made, "dnf", root.provider())
    return root


async def cut_off(host, name="hang"):
    """Install the package, and cut that off while its script hangs, as a timeout does. Returns the notes of its check."""
    resource = package(host, name)
    await resource.observe()
    notes = []
    async with trio.open_nursery() as nursery:

        async def applied():
            noter.set(notes.append)
            await resource.apply_group([resource])

        nursery.start_soon(applied)
        await eventually((host.root / "begun").exists)
        nursery.cancel_scope.cancel()
    return notes


async def test_the_note_says_what_hung_and_what_to_do(hanging):
    (note,) = await cut_off(hanging)
    assert note.startswith("apt-get was ended after ")
    assert "asks for more (Setting up hang (1.0) ...)" in note
    assert "have it absent" in note


async def test_with_dnf_the_note_says_that_rpm_does_not_know_of_it(hanging_rpm):
    (note,) = await cut_off(hanging_rpm)
    assert "Running scriptlet: hang-1.0-1.noarch" in note
    assert "for rpm a package is installed" in note


async def test_after_a_cut_the_database_is_read_again(hanging_rpm):
    await cut_off(hanging_rpm)
    state = await package(hanging_rpm, "hang").observe()
    assert (state.version is not None) == ("hang" in hanging_rpm.packages)


async def test_what_hung_can_be_removed_without_configuring_it(hanging):
    await cut_off(hanging)
    (hanging.root / "begun").unlink()
    ended, story = await converge_once(package(hanging, "hang", "absent"))
    assert ended.counts[Result.CHANGED] == 1, story.checks("package#hang")
    assert not (hanging.root / "begun").exists()
    assert hanging.run("dpkg", "--audit") == ""
    assert hanging.packages == {}


async def test_what_else_was_unfinished_is_configured_before_a_removal(hanging):
    hanging.run("dpkg", "--unpack", *map(str, (hanging.root / "repository").glob("fine_*.deb")))
    await cut_off(hanging, "hang")
    ended, _ = await converge_once(package(hanging, "hang", "absent"))
    assert ended.counts[Result.CHANGED] == 1
    assert hanging.packages == {"fine": "1.0"}
    assert hanging.run("dpkg", "--audit") == ""
