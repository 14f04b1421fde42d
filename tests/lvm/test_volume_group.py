"""The kind volume_group, by the real LVM on loop devices."""

from __future__ import annotations

import subprocess

import pytest
from lvm_runs import lvm, must_change, must_fail
from one_shot import converged
from property_problems import the_problem

from reactor import ResourceError
from reactor.engine.events import Result
from reactor.resources.lvm.devices import Device, Member
from reactor.resources.lvm.volume_group import GroupState, VolumeGroup
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import running


def group(disks, *devices, **properties):
    return lambda: VolumeGroup(name=disks.group, devices=devices, **properties)


def member(of):
    return Member("/dev/sdb", of, 0, can_grow=False, is_missing=False)


def gone(disks):
    return lambda: VolumeGroup(name=disks.group, ensure="absent", force=True)


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_it_keeps_the_contract(promise, disks):
    one, two = disks.add(), disks.add()
    await promise(Case(group(disks, one, two), disks.world, lambda: lvm("vgreduce", disks.group, two)))


async def test_it_is_made_of_blank_devices_and_gets_more(disks):
    one, two = disks.add(), disks.add()
    assert await must_change(group(disks, one)) == f"made the volume group of {one}"
    assert await must_change(group(disks, one, two)) == f"added {two}"
    assert disks.members == sorted([one, two])


async def test_a_device_may_be_named_by_a_link(disks, tmp_path):
    one, link = disks.add(), tmp_path / "by-id"
    link.symlink_to(one)
    await must_change(group(disks, str(link)))
    assert disks.members == [one]


async def test_what_is_not_blank_is_left_alone_without_force(disks):
    one = disks.add()
    subprocess.run(["mkfs.ext4", "-q", one], check=True)
    assert "is not blank: it holds ext4" in await must_fail(group(disks, one), disks.world)
    await must_change(group(disks, one, force=True))
    assert disks.members == [one]


async def test_a_device_in_use_is_refused_also_with_force(disks, tmp_path):
    one, point = disks.add(), tmp_path / "point"
    point.mkdir()
    subprocess.run(["mkfs.ext4", "-q", one], check=True)
    subprocess.run(["mount", one, point], check=True)
    try:
        assert "is mounted at" in await must_fail(group(disks, one, force=True), lambda: disks.members)
    finally:
        subprocess.run(["umount", point], check=True)


async def test_a_device_of_another_group_is_refused_also_with_force(disks):
    one = disks.add()
    await must_change(group(disks, one))
    other = lambda: VolumeGroup(name=f"{disks.group}x", devices=(one,), force=True)  # noqa: E731
    assert f"is in the volume group {disks.group}" in await must_fail(other, disks.world)


async def test_a_device_that_is_not_declared_stays_without_force(disks):
    one, two = disks.add(), disks.add()
    await must_change(group(disks, one, two))
    assert f"also has {two}" in await must_fail(group(disks, one), disks.world)
    lvm("lvcreate", "-an", "-Zn", "-Wn", "-l100%FREE", "-n", "all", disks.group)
    assert "parts of volumes are on it" in await must_fail(group(disks, one, force=True), disks.world)
    lvm("lvremove", "-y", f"{disks.group}/all")
    assert await must_change(group(disks, one, force=True)) == f"removed {two} from the group"
    assert disks.members == [one]
    await must_change(lambda: VolumeGroup(name=f"{disks.group}x", devices=(two,)))
    lvm("vgremove", "-y", f"{disks.group}x")


async def test_it_grows_with_its_device(disks):
    one = disks.add()
    await must_change(group(disks, one))
    disks.grow(one, 64)
    assert await converged(group(disks, one)()) == (Result.OK, "")
    assert await must_change(group(disks, one, resize=True)) == f"grew {one} to the size of its device"
    assert disks.rows("pvs", "pv_size") == [("60.00",)]


async def test_it_is_removed_with_its_volumes_and_leaves_blank_devices(disks):
    one = disks.add()
    await must_change(group(disks, one))
    lvm("lvcreate", "-an", "-Zn", "-Wn", "-L8M", "-n", "data", disks.group)
    kept = lambda: VolumeGroup(name=disks.group, ensure="absent")  # noqa: E731
    assert "with data is not removed without force" in await must_fail(kept, disks.world)
    assert await must_change(gone(disks)) == "removed the volume group with data"
    assert disks.members == []
    await must_change(group(disks, one))


async def test_a_lost_device_is_named_and_nothing_is_done(disks):
    one, two = disks.add(), disks.add()
    await must_change(group(disks, one, two))
    subprocess.run(["wipefs", "--all", "--quiet", two], check=True)
    words = await must_fail(group(disks, one, two), disks.world)
    assert words == f"1 of the devices of {disks.group} is missing"


async def test_what_is_no_disk_is_refused(disks, tmp_path):
    (tmp_path / "file").touch(0o600)
    assert "does not exist" in await must_fail(group(disks, "/dev/none"), disks.world)
    assert "is not a block device" in await must_fail(group(disks, str(tmp_path / "file")), disks.world)


async def test_a_volume_in_use_keeps_its_group():
    state = GroupState(True, (member("vg0"),), (), ("data", "root"), ("root",))
    with pytest.raises(ResourceError, match="root is in use"):
        VolumeGroup(name="vg0", ensure="absent", force=True).plan(state, refresh=False)


async def test_a_volume_without_a_group_is_taken():
    free = Device("/dev/sdb", "/dev/sdb", member(""), None)
    wanted = VolumeGroup(name="vg0", devices=("/dev/sdb",))
    (step,) = wanted.plan(GroupState(True, (), (free,)), refresh=False)
    assert step.did == "made the volume group of /dev/sdb"


async def test_drift_is_noticed_by_the_backup_that_lvm_writes(disks):
    one, two = disks.add(), disks.add()
    async with running(group(disks, one, two)()) as story:
        await story.converged()
        await story.rest()
        lvm("vgreduce", disks.group, two)
        await story.until(lambda: disks.members == sorted([one, two]))


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({}, "devices is missing"),
        ({"ensure": "absent", "devices": ("/dev/sdb",)}, "only valid with 'ensure: present'"),
        ({"name": "-x", "devices": ("/dev/sdb",)}, "is not a name"),
    ],
)
def test_a_contradictory_declaration_is_an_error(properties, words):
    assert words in the_problem(VolumeGroup, **{"name": "vg0", **properties}).message
