"""That systemd knows the mounts which are listed in /etc/fstab: it makes a unit of each, when it reloads."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit_worlds import counting, systemctl

from reactor.engine.events import Result
from reactor.resources.mount import Mount
from reactor.testing.story import converge_once


def unit_of(point):
    return f"{str(point).strip('/').replace('/', '-')}.mount"


def shown(point, name):
    return systemctl("show", "--value", f"--property={name}", unit_of(point))


async def test_a_line_that_is_added_changed_and_removed_is_known_to_systemd():
    point = Path("/mnt/listed")
    point.mkdir(parents=True)
    tmpfs = {"name": str(point), "device": "tmpfs", "fstype": "tmpfs"}
    await converge_once(Mount(**tmpfs, ensure="present", options="size=1m"))
    assert (shown(point, "LoadState"), shown(point, "Options")) == ("loaded", "size=1m")
    await converge_once(Mount(**tmpfs, ensure="mounted", options="size=2m"))
    assert (shown(point, "ActiveState"), shown(point, "NeedDaemonReload")) == ("active", "no")
    await converge_once(Mount(name=str(point), ensure="absent"))
    assert shown(point, "LoadState") == "not-found"
    assert not point.is_mount()


@pytest.mark.usefixtures("unhurried")
async def test_many_lines_at_once_are_few_reloads():
    points = [Path(f"/mnt/many{number}") for number in range(10)]
    mounts = [Mount(name=str(point), ensure="present", device="tmpfs", fstype="tmpfs") for point in points]
    async with counting("Reloading") as reloads:
        ended, _ = await converge_once(*mounts)
    assert ended.counts[Result.CHANGED] == 10
    assert {shown(point, "LoadState") for point in points} == {"loaded"}
    assert 1 <= [reload.body for reload in reloads].count([True]) <= 5
    await converge_once(*(Mount(name=mount.name, ensure="absent") for mount in mounts))
