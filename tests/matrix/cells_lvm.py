"""Cells of the kinds volume_group and logical_volume: what two disks hold, by what is wanted, by what is done afterwards.

No volume is active: that works on a kernel without the device mapper, too.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cell import Cell, differs, first
from programs import must, said

LVM = ("--driverloaded", "n")
MIB = 1 << 20
STATES = {
    "blank": "",
    "ext4 on one": "ext4",
    "a volume without a group": "pvcreate",
    "the group": "group",
    "the group with both": "group extend",
    "the group with a volume": "group volume",
    "the group with a larger volume": "group larger",
    "another group": "other",
}
WANTED: dict[str, list[dict[str, object]]] = {
    "one": [{"volume_group": [{"GROUP": {"devices": ["ONE"]}}]}],
    "both by force": [{"volume_group": [{"GROUP": {"devices": ["ONE", "TWO"], "force": True}}]}],
    "no group": [{"volume_group": [{"GROUP": {"ensure": "absent"}}]}],
    "no group by force": [{"volume_group": [{"GROUP": {"ensure": "absent", "force": True}}]}],
    "a volume": [
        {"volume_group": [{"GROUP": {"devices": ["ONE"]}}]},
        {"logical_volume": [{"GROUP/data": {"size": "8M", "active": False}}]},
    ],
    "a volume with all": [
        {"logical_volume": [{"GROUP/data": {"size": "100%FREE", "active": False}}]},
        {"volume_group": [{"GROUP": {"devices": ["ONE", "TWO"]}}]},
    ],
}
DRIFTS = {"volume removed": "remove", "volume made smaller": "smaller", "disk larger": "grow"}


def cells() -> Iterator[Cell]:
    """Every state by everything wanted, and every drift of a volume."""
    for wanted in WANTED:
        for state in STATES:
            yield _cell(state, wanted)
    for drift in DRIFTS:
        yield _cell("blank", "a volume", drift)


def _cell(state: str, wanted: str, drift: str | None = None) -> Cell:
    name = " / ".join(filter(None, (state, wanted, drift)))
    acts = None if drift is None else partial(_act, DRIFTS[drift])
    make, judge = partial(_make, STATES[state]), partial(_wrong, wanted)
    resources = partial(_resources, wanted)
    fails = _fails(state, wanted)
    return Cell("lvm", name, resources, judge, make, acts, fails, look=_look, clean=_clean)


def _fails(state: str, wanted: str) -> bool:
    if wanted == "no group":
        return state.startswith("the group")
    if wanted == "no group by force":
        return False
    if state == "another group":
        return True
    if state == "ext4 on one":
        return wanted != "both by force"
    if state == "the group with both":
        return wanted in ("one", "a volume")
    return state == "the group with a larger volume" and wanted == "a volume"


def _group(place: Path) -> str:
    return f"{place.parent.parent.name}-{place.parent.name}"


def _resources(wanted: str, place: Path) -> list[dict[str, object]]:
    text = json.dumps(WANTED[wanted]).replace("GROUP", _group(place))
    for name in ("one", "two"):
        text = text.replace(f'"{name.upper()}"', json.dumps(str(place / name)))
    return list(json.loads(text))


def _make(acts: str, place: Path) -> None:
    for name in ("one", "two"):
        with (place / f"{name}.img").open("wb") as file:
            file.truncate(32 * MIB)
        _attach(place / name)
    _act(acts, place)


def _attach(link: Path) -> None:
    """Make ``link`` lead to a loop device of the disk beside it. The world of the cells has no such devices in /dev."""
    if not os.path.exists("/dev/loop-control"):
        os.mknod("/dev/loop-control", stat.S_IFCHR | 0o600, os.makedev(10, 237))
    for _ in range(20):  # another process may take the free one meanwhile
        device = must("losetup", "--find").strip()
        if not os.path.exists(device):
            os.mknod(device, stat.S_IFBLK | 0o600, os.makedev(7, int(device.removeprefix("/dev/loop"))))
        said("losetup", device, f"{link}.img")
        if said("losetup", "--noheadings", "--output", "BACK-FILE", device).startswith(f"{link}.img"):
            link.symlink_to(device)
            return
    raise AssertionError("no loop device is free")


def _act(acts: str, place: Path) -> None:
    group, one, two = _group(place), os.path.realpath(place / "one"), os.path.realpath(place / "two")
    volume = ("--activate", "n", "--zero", "n", "--wipesignatures", "n", "--name", "data", group)
    for act in acts.split():
        match act:
            case "ext4":
                must("mkfs.ext4", "-q", one)
            case "pvcreate":
                must("pvcreate", *LVM, one)
            case "group" | "other":
                must("vgcreate", *LVM, group if act == "group" else f"{group}.x", one)
            case "extend":
                must("vgextend", *LVM, group, two)
            case "volume" | "larger":
                must("lvcreate", *LVM, "--size", "8M" if act == "volume" else "16M", *volume)
            case "remove":
                must("lvremove", *LVM, "--yes", f"{group}/data")
            case "smaller":
                must("lvreduce", *LVM, "--yes", "--force", "--size", "4M", f"{group}/data")
            case "grow":
                os.truncate(place / "one.img", 64 * MIB)
                must("losetup", "--set-capacity", one)


def _rows(program: str, *fields: str) -> list[list[str]]:
    words = ("--noheadings", "--separator", " ", "--units", "m", "--nosuffix", "-o", ",".join(fields))
    return [line.split() for line in must(program, *LVM, *words).splitlines()]


def _wrong(wanted: str, place: Path) -> str | None:
    group = _group(place)
    found = [device for device, *of in _rows("pvs", "pv_name", "vg_name") if of == [group]]
    volumes = [row[1:] for row in _rows("lvs", "vg_name", "lv_name", "lv_size") if row[0] == group]
    if wanted.startswith("no group"):
        return differs("the devices", found, [])
    names = ["one"] if wanted in ("one", "a volume") else ["one", "two"]
    fault = differs("the devices", sorted(found), sorted(os.path.realpath(place / name) for name in names))
    if wanted.startswith("a volume"):
        size = "8.00" if wanted == "a volume" else "56.00"
        return first(fault, differs("the volumes", volumes, [["data", size]]))
    return fault


def _look(place: Path) -> object:
    return [(place / f"{name}.img").read_bytes() for name in ("one", "two")]


def _clean(place: Path) -> None:
    for group in (_group(place), f"{_group(place)}.x"):
        said("vgremove", *LVM, "--force", "--force", "--yes", group)
    for name in ("one", "two"):
        said("losetup", "--detach", os.path.realpath(place / name))
