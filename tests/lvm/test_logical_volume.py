"""The kind logical_volume, by the real LVM on loop devices. Where the kernel has no device mapper, none is active."""

from __future__ import annotations

import pytest
from lvm_runs import lvm, must_change, must_fail
from property_problems import the_problem

from reactor import ResourceError
from reactor.graph.build import build
from reactor.resources.filesystem import Filesystem
from reactor.resources.lvm import logical_volume
from reactor.resources.lvm.logical_volume import LogicalVolume, VolumeState
from reactor.resources.lvm.size import Space, shown
from reactor.resources.lvm.volume_group import VolumeGroup
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import running

SPACE = Space(4 << 20, 100, 50)


@pytest.fixture
def made(disks):
    """A group of 28 MiB."""
    lvm("vgcreate", disks.group, disks.add())
    return disks


def volume(disks, size, name="data", **properties):
    return lambda: LogicalVolume(name=f"{disks.group}/{name}", size=size, active=False, **properties)


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_it_keeps_the_contract(promise, made):
    spoil = lambda: lvm("lvremove", "-y", f"{made.group}/data")  # noqa: E731
    await promise(Case(volume(made, "8M"), made.world, spoil))


async def test_it_is_made_and_grows(made):
    assert await must_change(volume(made, "5M")) == "made the volume with 8 MiB"
    assert await must_change(volume(made, "10M")) == "grew it from 8 MiB to 12 MiB"
    assert made.volumes == {"data": 12.0}


async def test_it_takes_a_share_of_the_group_or_all_that_is_free(made):
    await must_change(volume(made, "50%VG"))
    assert await must_change(volume(made, "100%FREE", "rest")) == "made the volume with 16 MiB"
    assert made.volumes == {"data": 12.0, "rest": 16.0}
    lvm("vgextend", made.group, made.add())
    assert await must_change(volume(made, "100%FREE", "rest")) == "grew it from 16 MiB to 44 MiB"


async def test_it_is_made_smaller_and_removed_only_with_force(made):
    await must_change(volume(made, "16M"))
    assert "would be made smaller, from 16 MiB to 8 MiB" in await must_fail(volume(made, "8M"), made.world)
    assert await must_change(volume(made, "8M", force=True)) == "made it smaller, from 16 MiB to 8 MiB"
    kept = lambda: LogicalVolume(name=f"{made.group}/data", ensure="absent")  # noqa: E731
    assert "is not removed without force" in await must_fail(kept, made.world)
    gone = lambda: LogicalVolume(name=f"{made.group}/data", ensure="absent", force=True)  # noqa: E731
    assert await must_change(gone) == "removed the volume"
    assert made.volumes == {}


async def test_what_does_not_fit_is_refused_before(made):
    assert f"{made.group} has 28 MiB left" in await must_fail(volume(made, "1G"), made.world)
    await must_change(volume(made, "100%FREE"))
    assert "has 0 bytes left" in await must_fail(volume(made, "4M", "more"), made.world)


async def test_a_missing_group_is_an_error(disks):
    assert "there is no volume group" in await must_fail(volume(disks, "4M"), disks.world)


async def test_without_the_device_mapper_an_active_one_is_refused_before_anything_is_made(made, monkeypatch):
    async def lacks():
        return False

    monkeypatch.setattr(logical_volume, "has_device_mapper", lacks)
    active = lambda: LogicalVolume(name=f"{made.group}/data", size="8M")  # noqa: E731
    assert "the kernel has no device mapper" in await must_fail(active, made.world)
    assert made.volumes == {}


async def test_drift_is_noticed_by_the_backup_that_lvm_writes(made):
    async with running(volume(made, "8M")()) as story:
        await story.converged()
        await story.rest()
        lvm("lvremove", "-y", f"{made.group}/data")
        await story.until(lambda: made.volumes == {"data": 8.0})


@pytest.mark.parametrize(
    ("properties", "state", "words"),
    [
        ({"size": "40M"}, VolumeState(True, SPACE), ["made the volume with 40 MiB"]),
        ({"size": "40M"}, VolumeState(True, SPACE, 40 << 20), ["activated it"]),
        ({"size": "40M"}, VolumeState(True, SPACE, 40 << 20, True), []),
        ({"size": "40M", "active": False}, VolumeState(True, SPACE, 40 << 20, True), ["deactivated it"]),
        (
            {"size": "60M"},
            VolumeState(True, SPACE, 40 << 20),
            ["activated it", "grew it from 40 MiB to 60 MiB"],
        ),
        ({"size": "100%FREE"}, VolumeState(True, Space(4 << 20, 100, 0), 400 << 20, True), []),
        ({"ensure": "absent", "force": True}, VolumeState(True), []),
    ],
)
def test_what_is_found_decides_what_is_done(properties, state, words):
    plan = LogicalVolume(name="vg0/data", **properties).plan(state, refresh=False)
    assert [step.did for step in plan] == words


def test_one_in_use_is_not_removed():
    state = VolumeState(True, SPACE, 4 << 20, True, True)
    with pytest.raises(ResourceError, match="in use"):
        LogicalVolume(name="vg0/data", ensure="absent", force=True).plan(state, refresh=False)


def test_a_file_system_goes_after_its_volume_and_that_after_its_group():
    wanted = [
        Filesystem(name="/dev/vg-0/data", resize=True),
        LogicalVolume(name="vg-0/rest", size="100%FREE"),
        LogicalVolume(name="vg-0/data", size="10G"),
        VolumeGroup(name="vg-0", devices=("/dev/sdb",)),
    ]
    graph, _ = build(wanted)
    edges = {(before, after) for before, after in graph.dag.edges}
    assert ("logical_volume#vg-0/data", "filesystem#/dev/vg-0/data") in edges
    assert ("logical_volume#vg-0/data", "logical_volume#vg-0/rest") in edges
    assert ("volume_group#vg-0", "logical_volume#vg-0/data") in edges
    assert "/dev/mapper/vg--0-data" in wanted[2].relations().provides


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({}, "size is missing"),
        ({"ensure": "absent", "size": "1G"}, "only valid with 'ensure: present'"),
        ({"size": "50%FREE"}, "a share is written as"),
        ({"size": 0}, "more than 0"),
        ({"name": "data", "size": "1G"}, "is not a volume"),
        ({"name": "vg0/a_rimage_0", "size": "1G"}, "for its own volumes"),
        ({"name": "vg0/../x", "size": "1G"}, "is not a name"),
    ],
)
def test_a_contradictory_declaration_is_an_error(properties, words):
    assert words in the_problem(LogicalVolume, **{"name": "vg0/data", **properties}).message


def test_sizes_are_shown_without_fractions():
    assert [shown(size) for size in (0, 512, 1536, 3 << 29, 4 << 30)] == [
        "0 bytes",
        "512 bytes",
        "1536 bytes",
        "1536 MiB",
        "4 GiB",
    ]
