"""Cells of the kind filesystem: what a disk holds, by what is wanted, by what is done afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cell import Cell, differs
from programs import must, said

STATES = {
    "nothing": "",
    "blank": "blank",
    "ext4": "blank mkfs.ext4",
    "ext4 with a label": "blank mkfs.ext4 label",
    "ext4 on a part of it": "blank mkfs.ext4 larger",
    "swap": "blank mkswap",
    "vfat": "blank mkfs.vfat",
    "partitions": "blank partitions",
    "open to others": "blank open",
    "a directory": "mkdir",
}
WANTED: dict[str, dict[str, object]] = {
    "ext4": {},
    "ext4 with a label": {"label": "data"},
    "ext4 with a size": {"size": "8M"},
    "ext4, grown": {"resize": True},
    "swap": {"fstype": "swap"},
    "vfat by force": {"fstype": "vfat", "force": True},
}
DRIFTS = {"other label": "label-other", "wiped": "wipe"}


def cells() -> Iterator[Cell]:
    """Every state by everything wanted, and every drift from what was reached."""
    for wanted in WANTED:
        for state in STATES:
            yield _cell(state, wanted)
    for wanted in ("ext4", "ext4 with a label"):
        for drift in DRIFTS:
            yield _cell("blank", wanted, drift)


def _cell(state: str, wanted: str, drift: str | None = None) -> Cell:
    def resources(place: Path) -> list[dict[str, object]]:
        return [{"filesystem": [{str(place / "disk"): WANTED[wanted]}]}]

    name = " / ".join(filter(None, (state, wanted, drift)))
    acts = None if drift is None else partial(_act, DRIFTS[drift])
    judge, make = partial(_wrong, wanted), partial(_act, STATES[state])
    return Cell("filesystem", name, resources, judge, make, acts, _fails(state, wanted), look=_look)


def _fails(state: str, wanted: str) -> bool:
    if state in ("open to others", "a directory"):
        return True
    if state == "nothing":
        return wanted != "ext4 with a size"
    if state == "blank" or "force" in wanted:
        return False
    return state.split(maxsplit=1)[0] != wanted.split(maxsplit=1)[0].rstrip(",")


def _act(acts: str, place: Path) -> None:
    disk = place / "disk"
    for act in acts.split():
        match act:
            case "blank" | "larger":
                with disk.open("ab") as file:
                    file.truncate((8 if act == "blank" else 24) << 20)
                disk.chmod(0o600)
            case "label":
                must("tune2fs", "-L", "data", disk)
            case "label-other":
                must("tune2fs", "-L", "other", disk)
            case "wipe":
                must("wipefs", "--all", disk)
            case "open":
                disk.chmod(0o666)
            case "mkdir":
                disk.mkdir()
            case "partitions":
                with disk.open("r+b") as file:
                    entry = (
                        b"\0\0\2\0\x83\0\0\0" + (2048).to_bytes(4, "little") + (8192).to_bytes(4, "little")
                    )
                    file.write(bytes(446) + entry + bytes(48) + b"\x55\xaa")
            case program:
                must(program, disk)


def _wrong(wanted: str, place: Path) -> str | None:
    disk, fstype = place / "disk", wanted.split(maxsplit=1)[0].rstrip(",")
    label = "data" if "label" in wanted else None
    return differs("the type", _value(disk, "TYPE"), fstype) or (
        differs("the label", _value(disk, "LABEL"), label) if label else None
    )


def _value(disk: Path, key: str) -> str:
    return said("sh", "-c", 'blkid -p -o value -s "$1" "$2" || true', "sh", key, disk).strip()


def _look(place: Path) -> object:
    disk = place / "disk"
    return disk.read_bytes() if disk.is_file() else disk.is_dir()
