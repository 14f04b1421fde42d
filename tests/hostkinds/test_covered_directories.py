"""A directory on which something is mounted, in a mount namespace: real mounts, and an /etc/fstab of the test's own."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from hostkinds_worlds import shell

from reactor.engine.events import Noted, Result
from reactor.engine.options import RunOptions
from reactor.resource.declared import desires_the_same
from reactor.resources.file import File
from reactor.resources.file.mounts import unit_of
from reactor.resources.mount import Mount
from reactor.resources.mount.mount_table import mounts_at
from reactor.testing.story import converge_once, graph_of, running

BELOW, ROOT, THEIRS = 0o750, 0o711, 0o700


@pytest.fixture
def point(tmp_path):
    """A directory with a mode that nobody asks for."""
    path = tmp_path / "point"
    path.mkdir()
    path.chmod(THEIRS)
    yield path
    while mounts_at(str(path)):
        subprocess.run(["umount", path], check=True)


def directory(path, **properties):
    owner = {"owner": str(os.getuid()), "group": str(os.getgid()), "mode": f"{BELOW:04o}"}
    return File(name=str(path), ensure="directory", **owner, **properties)


def mount(path, ensure="mounted", **properties):
    options = f"mode={ROOT:o}"
    return Mount(name=str(path), ensure=ensure, device="tmpfs", fstype="tmpfs", options=options, **properties)


def mount_by_hand(path):
    shell(f'mount -t tmpfs -o mode={ROOT:o} tmpfs "$1"', path)


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


async def test_a_directory_below_a_mount_that_comes_after_it_is_not_compared_with_its_root(point):
    for results in ({"changed": 2}, {"ok": 2}):
        ended, _ = await converge_once(directory(point), mount(point))
        assert {result: ended.counts[result] for result in results} == results
        assert mode_of(point) == ROOT
    subprocess.run(["umount", point], check=True)
    assert mode_of(point) == BELOW


@pytest.mark.parametrize("ensure", ["unmounted", "absent"])
async def test_what_is_to_be_unmounted_keeps_its_mode_and_the_directory_below_gets_its_own(point, ensure):
    mount_by_hand(point)
    below = directory(point)
    _, story = await converge_once(below, mount(point, ensure))
    assert not mounts_at(str(point))
    assert mode_of(point) == BELOW
    actions = [event.actions for event in story.checks(below.ref)]
    assert actions == [(), (f"changed mode from {THEIRS:04o} to {BELOW:04o}",)]


async def test_a_directory_is_compared_again_once_nothing_covers_it(point):
    mount_by_hand(point)
    below = directory(point)
    async with running(below, mount(point, "present")) as story:
        await story.converged()
        assert story.result(below.ref) is Result.OK
        point.chmod(THEIRS)
        subprocess.run(["umount", point], check=True)
        await story.until(lambda: story.result(below.ref) is Result.CHANGED)
    assert mode_of(point) == BELOW
    mount_by_hand(point)


async def test_a_directory_that_comes_after_its_mount_is_the_root_of_that(point):
    for result in ("changed", "ok"):
        above = mount(point)
        ended, _ = await converge_once(directory(point, require=(above.ref,)), above)
        assert ended.counts[result] == 2
        assert mode_of(point) == BELOW


@pytest.mark.parametrize("noop", [False, True])
async def test_what_others_have_mounted_on_a_directory_keeps_its_root_and_that_is_told(point, noop):
    mount_by_hand(point)
    below = directory(point)
    ended, story = await converge_once(below, options=RunOptions(noop=noop))
    assert ended.counts["ok"] == 1
    assert mode_of(point) == ROOT
    [note] = story.all(Noted)
    assert "an unexpected file system is mounted on the directory" in note.line
    subprocess.run(["umount", point], check=True)
    assert mode_of(point) == THEIRS
    await converge_once(below)
    assert mode_of(point) == BELOW


async def test_a_mount_on_a_directory_is_no_drift_and_is_told_once(point):
    below = directory(point)
    async with running(below) as story:
        await story.converged()
        mount_by_hand(point)
        for number in (2, 3):
            story.drift(below.ref)
            await story.until(lambda number=number: len(story.checks(below.ref)) >= number)
        first, *others = [
            check.result for check in story.checks(below.ref)
        ]  # the mount is noticed by itself, too
        assert (first, set(others)) == (Result.CHANGED, {Result.OK})
        subprocess.run(["umount", point], check=True)
        point.chmod(THEIRS)
        await story.until(lambda: mode_of(point) == BELOW)
    assert len(story.all(Noted)) == 1


@pytest.mark.parametrize("named_by", ["fstab", "unit", "mounted_root"])
async def test_the_root_of_what_the_host_always_mounts_is_the_directory(
    point, named_by, monkeypatch, tmp_path
):
    match named_by:
        case "fstab":
            Path("/etc/fstab").write_text(f"# tmpfs\ntmpfs\t{point}/  tmpfs defaults 0 0\n")
        case "unit":
            (tmp_path / unit_of(str(point))).touch()
            monkeypatch.setattr("reactor.resources.file.mounts._UNITS", (str(tmp_path),))
    mount_by_hand(point)
    await converge_once(directory(point, mounted_root=named_by == "mounted_root"))
    assert mode_of(point) == BELOW
    subprocess.run(["umount", point], check=True)
    assert mode_of(point) == THEIRS


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("/", "-.mount"),
        ("/srv/a-b", "srv-a\\x2db.mount"),
        ("/.x/ä", "\\x2ex-\\xc3\\xa4.mount"),
        ("/a/.b", "a-.b.mount"),
    ],
)
def test_a_unit_has_the_name_that_systemd_gives_it(path, unit):
    assert unit_of(path) == unit


async def test_a_mount_by_another_name_of_the_directory_covers_it(point, tmp_path):
    (tmp_path / "other").symlink_to(tmp_path)
    above = mount(tmp_path / "other" / point.name)
    await converge_once(above)
    below = directory(point)
    ended, _ = await converge_once(below, mount(tmp_path / "other" / point.name, after=(below.ref,)))
    assert ended.counts["ok"] == 2
    assert mode_of(point) == ROOT


def test_a_directory_is_another_one_in_a_manifest_that_no_longer_mounts_there(point):
    covered, same, free = directory(point), directory(point), directory(point)
    graph_of([covered, mount(point)])
    graph_of([mount(point), same])
    graph_of([free])
    assert desires_the_same(covered, same)
    assert not desires_the_same(covered, free)
