"""Cells of the kind mount: what is mounted and listed, by what is to be, by what is done afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cell import Cell, differs, first
from programs import must, said

KIND = "mount"
FSTAB = Path("/etc/fstab")
LINE = "tmpfs {point} tmpfs size=1m,noexec 0 0\n"
OTHERS = "# of the installer\n/dev/vda1 / ext4 defaults 0 1\n"

STATES = {
    "nothing": "mkdir",
    "mounted": "mkdir mount",
    "listed": "mkdir list",
    "mounted and listed": "mkdir mount list",
    "mounted with other options": "mkdir mount-ro list",
    "listed with other options": "mkdir mount list-other",
    "something else mounted": "mkdir mount-else",
    "two mounted": "mkdir mount mount-else",
    "listed twice": "mkdir list list-other",
    "files below": "mkdir file",
    "no mount point": "",
    "no way to the mount point": "deep",
    "a file for a mount point": "touch",
    "a link for a mount point": "link",
}
WANTED: dict[str, dict[str, object]] = {
    "mounted": {"device": "tmpfs", "fstype": "tmpfs", "options": ["size=1m", "noexec"]},
    "read only": {"device": "tmpfs", "fstype": "tmpfs", "options": ["size=1m", "noexec", "ro"]},
    "bound": {"device": "{place}/source", "fstype": "none", "options": ["bind"]},
    "bound from nowhere": {"device": "{place}/nowhere", "fstype": "none", "options": ["bind"]},
    "no such device": {"device": "/dev/no-such-device", "fstype": "ext4"},
    "no such file system": {"device": "tmpfs", "fstype": "nosuchfs"},
    "listed": {"ensure": "present", "device": "tmpfs", "fstype": "tmpfs", "options": ["size=1m", "noexec"]},
    "unmounted": {
        "ensure": "unmounted",
        "device": "tmpfs",
        "fstype": "tmpfs",
        "options": ["size=1m", "noexec"],
    },
    "absent": {"ensure": "absent"},
}
DRIFTS = {
    "unmounted": "umount",
    "remounted read only": "remount-ro",
    "line removed": "unlist",
    "line changed": "unlist list-other",
    "something mounted over it": "mount-else",
    "line of another added": "list-stranger",
}


def cells() -> Iterator[Cell]:
    """Every state by everything wanted, and every drift from what was reached."""
    for wanted in WANTED:
        for state in STATES:
            yield _cell(state, wanted)
        if wanted in ("mounted", "read only", "bound", "listed", "unmounted", "absent"):
            for drift in DRIFTS:
                yield _cell("nothing", wanted, drift)
    for wanted in ("mounted", "bound"):
        for state in ("no mount point", "no way to the mount point", "nothing"):
            yield _brought(state, wanted)


def _cell(state: str, wanted: str, drift: str | None = None) -> Cell:
    def resources(place: Path) -> list[dict[str, object]]:
        return [{"mount": [{str(_point(place, state)): _filled(wanted, place)}]}]

    acts = None if drift is None else partial(_act, state, DRIFTS[drift])
    name = " / ".join(filter(None, (state, wanted, drift)))
    make, judge = partial(_make, state), partial(_wrong, state, wanted)
    reason = (
        "which modules the kernel may load for it can't be known everywhere"
        if wanted == "no such file system"
        else ""
    )
    return Cell(
        KIND, name, resources, judge, make, acts, _fails(state, wanted), reason, partial(_look, state), _clean
    )


def _brought(state: str, wanted: str) -> Cell:
    """With the directory as a resource of the same manifest."""

    def resources(place: Path) -> list[dict[str, object]]:
        folder = {"ensure": "directory", "owner": "root", "group": "root", "mode": "0755"}
        point = _point(place, state)
        mount = _filled(wanted, place)
        if wanted == "mounted":  # what is mounted has a root of its own
            mount["options"] = ["size=1m", "noexec", "mode=0755"]
        return [{"file": [{str(point): folder}]}, {"mount": [{str(point): mount}]}]

    make, judge = partial(_make, state), partial(_wrong, state, wanted)
    look = partial(_look, state)
    return Cell(KIND, f"{state}, brought / {wanted}", resources, judge, make, look=look, clean=_clean)


def _fails(state: str, wanted: str) -> bool:
    if wanted in ("absent", "unmounted", "listed"):
        return False
    if wanted == "bound" and state == "a file for a mount point":
        return True
    if wanted in ("bound from nowhere", "no such device", "no such file system"):
        return True
    return state in (
        "no mount point",
        "no way to the mount point",
        "a file for a mount point",
        "a link for a mount point",
    )


def _point(place: Path, state: str) -> Path:
    return place / ("way/to/point" if state == "no way to the mount point" else "point")


def _filled(wanted: str, place: Path) -> dict[str, object]:
    filled = dict(WANTED[wanted])
    if "device" in filled:
        filled["device"] = str(filled["device"]).replace("{place}", str(place))
    return filled


def _make(state: str, place: Path) -> None:
    FSTAB.write_text(OTHERS)
    (place / "source").mkdir()
    _act(state, STATES[state], place)


def _act(state: str, acts: str, place: Path) -> None:
    point = _point(place, state)
    for act in acts.split():
        match act:
            case "mkdir":
                point.mkdir()
            case "touch":
                point.touch()
            case "link":
                point.symlink_to(place / "source")
            case "file":
                (point / "below").write_text("below")
            case "mount":
                must("mount", "-t", "tmpfs", "-o", "size=1m,noexec", "tmpfs", point)
            case "mount-ro":
                must("mount", "-t", "tmpfs", "-o", "size=1m,ro", "tmpfs", point)
            case "mount-else":
                must("mount", "-t", "tmpfs", "else", point)
            case "remount-ro":
                said("mount", "-o", "remount,bind,ro", point)
            case "umount":
                said("umount", point)
            case "list":
                FSTAB.write_text(FSTAB.read_text() + LINE.format(point=point))
            case "list-other":
                FSTAB.write_text(FSTAB.read_text() + LINE.format(point=point).replace("1m", "2m"))
            case "list-stranger":
                FSTAB.write_text(FSTAB.read_text() + "tmpfs /srv/else tmpfs defaults 0 0\n")
            case "unlist":
                lines = FSTAB.read_text().splitlines(keepends=True)
                FSTAB.write_text("".join(line for line in lines if str(point) not in line.split()))


def _mounted(point: Path) -> list[dict[str, str]]:
    found = said("findmnt", "--json", "--output", "TARGET,SOURCE,FSTYPE,OPTIONS", "--list")
    return [each for each in json.loads(found)["filesystems"] if each["target"] == str(point)]


def _look(state: str, place: Path) -> object:
    return FSTAB.read_text(), _mounted(_point(place, state)), sorted(map(str, place.rglob("*")))


def _wrong(state: str, wanted: str, place: Path) -> str | None:
    point, ensure = _point(place, state), WANTED[wanted].get("ensure", "mounted")
    lines = [line.split() for line in FSTAB.read_text().splitlines() if not line.startswith("#")]
    listed, mounted = [line for line in lines if line[1] == str(point)], _mounted(point)
    faults = [differs("what the installer wrote", FSTAB.read_text().startswith(OTHERS), True)]
    faults.append(differs("how often it is listed", len(listed), 0 if ensure == "absent" else 1))
    if ensure in ("absent", "unmounted"):
        faults.append(differs("what is mounted", mounted, []))
    if listed and ensure != "absent":
        options = set(WANTED[wanted]["options"])
        faults.append(
            differs("its options in the table", set(listed[0][3].split(",")) - {"mode=0755"}, options)
        )
    if ensure == "mounted":
        if not mounted:
            return "nothing is mounted"
        options = mounted[-1]["options"].split(",")
        if wanted == "bound":  # of which only what is mentioned counts
            faults.append(differs("what is bound", point.stat().st_ino, (place / "source").stat().st_ino))
        else:
            faults.append(differs("what is mounted", mounted[-1]["fstype"], "tmpfs"))
            faults.append(differs("noexec", "noexec" in options, True))
            faults.append(differs("that it is read only", "ro" in options, wanted == "read only"))
    return first(*faults)


def _clean(place: Path) -> None:
    for each in reversed(
        json.loads(said("findmnt", "--json", "--output", "TARGET", "--list"))["filesystems"]
    ):
        if each["target"].startswith(str(place)):
            said("umount", "--lazy", each["target"])
    FSTAB.unlink(missing_ok=True)
