"""Swap as a mount of type `swap`: a real swap file of 1 MiB, which is turned off again, and an /etc/fstab of the test's own."""

from __future__ import annotations

import os
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import pytest
from foreign_writer import assert_repaired_after_foreign_writer
from hostkinds_worlds import assert_undone, shell
from one_shot import checked

from reactor.engine.events import Result
from reactor.resources.file import File
from reactor.resources.mount import Mount
from reactor.resources.mount.fstab import SwapArea, entries_at
from reactor.resources.mount.swap import areas_at
from reactor.service.sandbox import sandbox
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import graph_of, running

FSTAB = Path("/etc/fstab")
LINE = "{path}\tnone\tswap\tdefaults\t0\t0\n"


@pytest.fixture
def path():
    """A swap file; /tmp may be a tmpfs, on which there is no swap."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        file = Path(directory, "swap file")
        file.touch(0o600)
        file.write_bytes(bytes(1 << 20))
        shell('mkswap -q "$1"', file)
        yield file
        if areas_at(str(file)):
            subprocess.run(["swapoff", file], check=True)


def swap(path, **properties):
    return Mount(name=str(path), fstype="swap", **properties)


def world(path):
    return FSTAB.read_text(), areas_at(str(path))


def in_use(path):
    return Case(lambda: swap(path), lambda: world(path), lambda: shell('swapoff "$1"', path))


def with_priority(path):
    def spoil():
        shell('swapoff "$1"; swapon -p 3 "$1"', path)

    return Case(lambda: swap(path, options="pri=7,nofail"), lambda: world(path), spoil)


def absent(path):
    shell('swapon "$1"', path)
    return Case(lambda: swap(path, ensure="absent"), lambda: world(path), lambda: shell('swapon "$1"', path))


@pytest.mark.parametrize("case", [in_use, with_priority, absent])
@pytest.mark.parametrize("promise", CONTRACT)
async def test_swap_keeps_the_contract(promise, case, path):
    await promise(case(path))


async def test_it_is_turned_on_and_listed_and_a_second_run_changes_nothing(path):
    check = await checked(swap(path))
    assert check.error is None
    assert check.actions == (f"turned on swap on {path}", "added it to /etc/fstab")
    assert areas_at(str(path))
    assert FSTAB.read_text().endswith(LINE.format(path=str(path).replace(" ", "\\040")))
    assert (await checked(swap(path))).result is Result.OK
    assert (await checked(swap(path, ensure="absent"))).result is Result.CHANGED
    assert not areas_at(str(path))
    assert str(path.name) not in FSTAB.read_text()


async def test_what_is_turned_off_by_hand_is_turned_on_again_without_polling(path):
    async with running(swap(path)) as story:
        await story.converged()
        shell('swapoff "$1"', path)
        await story.until(partial(areas_at, str(path)))


@pytest.mark.parametrize("at_once", [False, True])
async def test_swap_that_is_turned_off_by_others_right_after_is_drift_again(path, at_once):
    await assert_repaired_after_foreign_writer(
        swap(path, ensure="mounted"), lambda: shell('swapoff "$1"', path), 1, at_once=at_once
    )
    assert areas_at(str(path))


async def test_the_line_of_an_installer_that_says_the_same_is_left_alone(path):
    line = f"{str(path).replace(' ', chr(92) + '040')} swap swap sw 0 0\n"
    FSTAB.write_text(line)
    check = await checked(swap(path, options="sw", ensure="present"))
    assert (check.error, check.result) == (None, Result.OK)
    assert FSTAB.read_text() == line


async def test_other_lines_of_swap_stay(path):
    FSTAB.write_text("UUID=1-2 none swap sw 0 0\n/other none swap sw 0 0\n")
    await checked(swap(path, ensure="present"))
    assert FSTAB.read_text().startswith("UUID=1-2 none swap sw 0 0\n/other none swap sw 0 0\n")
    assert len(entries_at(FSTAB.read_text(), SwapArea(str(path)))) == 1


@pytest.mark.parametrize("noop", [True, False])
async def test_a_file_that_others_can_read_is_refused(path, noop):
    path.chmod(0o644)
    check = await checked(swap(path), noop=noop)
    assert check.error == f"users other than root may read or write the swap file {path}"
    assert not areas_at(str(path))
    assert "swap" not in FSTAB.read_text()


@pytest.mark.parametrize("noop", [True, False])
async def test_a_file_of_another_user_is_refused(path, noop):
    os.chown(path, 12345, 12345)
    check = await checked(swap(path), noop=noop)
    assert check.error.startswith(f"another user can change what is mounted: {path} belongs to 12345")
    assert not areas_at(str(path))


@pytest.mark.parametrize("ensure", ["mounted", "present"])
async def test_a_file_that_another_user_can_exchange_is_refused(path, ensure):
    """At boot, swapon(8) takes what is there then: the owner of the directory would get the memory of all programs."""
    before = world(path)
    os.chown(path.parent, 12345, 12345)
    for noop in (True, False):
        check = await checked(swap(path, ensure=ensure), noop=noop)
        assert (check.result, "another user can change what is mounted" in check.error) == (
            Result.FAILED,
            True,
        )
    assert world(path) == before


async def test_swap_to_which_a_stranger_leads_is_not_turned_off(path, tmp_path):
    await checked(swap(path))
    (tmp_path / "home").mkdir()
    (tmp_path / "home/swap").symlink_to(path)
    for name in ("home", "home/swap"):
        os.chown(tmp_path / name, 12345, 12345, follow_symlinks=False)
    check = await checked(swap(tmp_path / "home/swap", ensure="absent"))
    assert "refusing to follow it" in check.error
    assert areas_at(str(path))


@pytest.mark.parametrize("noop", [True, False])
async def test_a_file_that_is_not_prepared_is_refused(path, noop):
    path.write_bytes(bytes(1 << 20))
    check = await checked(swap(path), noop=noop)
    assert check.error == f"{path} holds no swap area"
    assert check.hint == f"prepare it in an exec before: mkswap {path}"


@pytest.mark.parametrize("noop", [True, False])
async def test_a_file_with_holes_is_refused(path, noop):
    """The kernel says of it only that an argument is invalid."""
    os.truncate(path, 0)
    os.truncate(path, 1 << 20)
    shell('mkswap -q "$1"', path)
    check = await checked(swap(path), noop=noop)
    assert check.error == f"the swap file {path} has holes, as truncate makes them"
    assert "filesystem" in check.hint


async def test_a_file_that_is_missing_is_named(path):
    check = await checked(swap(path.parent / "none"))
    assert check.error == f"the swap {path.parent}/none does not exist"


def test_its_file_goes_first_when_it_comes_and_last_when_it_goes():
    owned = {"owner": "root", "group": "root", "mode": "0600"}
    mount, file = swap("/swap"), File(name="/swap", ensure="present", **owned)
    assert (file.ref, mount.ref) in graph_of([mount, file]).dag.edges
    mount, file = swap("/swap", ensure="absent"), File(name="/swap", ensure="absent", **owned)
    assert (mount.ref, file.ref) in graph_of([file, mount]).dag.edges


@pytest.mark.parametrize("ensure", ["mounted", "unmounted", "absent"])
async def test_it_is_undone_by_what_was_there(ensure, path):
    await checked(swap(path, ensure="unmounted" if ensure == "mounted" else "mounted"))
    await assert_undone(swap(path, ensure=ensure), lambda: (FSTAB.read_text(), bool(areas_at(str(path)))))


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"device": "/dev/sdb1"}, "so device must not be another"),
        ({"options": "pri=99999"}, "not a priority of swap"),
    ],
)
def test_what_can_not_be_meant_is_refused(properties, message):
    with pytest.raises(ValueError, match=message):
        swap("/swap", **properties)


def test_the_service_may_turn_swap_on_only_where_the_manifest_has_some():
    closed = "SystemCallFilter=~@swap"
    assert closed not in list(sandbox([swap("/swap")]))
    assert closed in list(sandbox([Mount(name="/srv", device="tmpfs", fstype="tmpfs")]))
