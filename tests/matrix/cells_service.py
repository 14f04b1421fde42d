"""Cells of the kind service: units of a real systemd, by what they are to be, by what is done to them afterwards."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cell import Cell, differs, first
from programs import said

KIND = "service"
ETC = Path("/etc/systemd/system")
VENDOR = Path("/usr/lib/systemd/system")
INSTALL = "[Install]\nWantedBy=multi-user.target\n"
STAYS = "[Unit]\nDefaultDependencies=no\nDescription={number}\n[Service]\nExecStart=/bin/sleep 1000\n"
FAILS = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/false\n" + INSTALL
ENDS = "[Service]\nType=oneshot\nExecStart=/bin/true\n" + INSTALL

STATES: dict[str, tuple[str | None, str]] = {
    "not there": (None, ""),
    "stopped, disabled": (STAYS + INSTALL, ""),
    "stopped, enabled": (STAYS + INSTALL, "enable"),
    "running, disabled": (STAYS + INSTALL, "start"),
    "running, enabled": (STAYS + INSTALL, "enable start"),
    "enabled until the next boot": (STAYS + INSTALL, "enable--runtime start"),
    "masked": (STAYS + INSTALL, "mask"),
    "masked, running": (STAYS + INSTALL, "start mask"),
    "masked until the next boot": (STAYS + INSTALL, "mask--runtime"),
    "static": (STAYS, ""),
    "static, running": (STAYS, "start"),
    "static, masked": (STAYS, "mask"),
    "unread": (STAYS + INSTALL, "unread"),
    "changed, running": (STAYS + INSTALL, "start changed"),
    "changed, enabled, running": (STAYS + INSTALL, "enable start changed"),
    "its file is in /etc": (STAYS + INSTALL, "etc"),
    "its file is in /etc, running": (STAYS + INSTALL, "etc start"),
    "without a command": ("[Service]\n" + INSTALL, ""),
    "fails": (FAILS, ""),
    "failed": (FAILS, "start"),
    "ends": (ENDS, ""),
    "requires what is not there": (STAYS.replace("[Service]", "Requires=gone.service\n[Service]") + INSTALL, ""),
    "refuses to be started by hand": (
        STAYS.replace("[Service]", "RefuseManualStart=yes\n[Service]") + INSTALL, "",
    ),
    "refuses to be stopped by hand": (
        STAYS.replace("[Service]", "RefuseManualStop=yes\n[Service]") + INSTALL, "start",
    ),
    "a condition is not met": (
        STAYS.replace("[Service]", "ConditionPathExists=/nowhere\n[Service]") + INSTALL, "",
    ),
    "an assertion is not met": (
        STAYS.replace("[Service]", "AssertPathExists=/nowhere\n[Service]") + INSTALL, "",
    ),
    "of a missing program": (STAYS.replace("/bin/sleep", "/nowhere/sleep") + INSTALL, ""),
}  # fmt: skip
CANT_START = {
    "without a command", "fails", "failed", "ends", "requires what is not there",
    "refuses to be started by hand", "a condition is not met", "an assertion is not met", "of a missing program",
}  # fmt: skip
SEEN_BY_STARTING = {
    "fails": "its program ends with an error",
    "failed": "its program ends with an error",
    "of a missing program": "systemd looks for it when it starts it",
    "a condition is not met": "systemd asks its conditions when it starts it",
    "an assertion is not met": "systemd asks its assertions when it starts it",
}
WANTED: dict[str, dict[str, object]] = {
    "running": {},
    "stopped": {"ensure": "stopped"},
    "running, enabled": {"enable": True},
    "running, disabled": {"enable": False},
    "stopped, enabled": {"ensure": "stopped", "enable": True},
    "stopped, disabled": {"ensure": "stopped", "enable": False},
    "masked": {"ensure": "stopped", "masked": True},
    "unmasked": {"masked": False},
    "unmasked, enabled": {"masked": False, "enable": True},
    "unmasked, stopped": {"masked": False, "ensure": "stopped"},
}
DRIFTS = {
    "stopped": "stop", "killed": "kill --signal=KILL", "disabled": "disable", "enabled": "enable", "started": "start",
    "masked": "mask", "file changed": "changed",
}  # fmt: skip


def cells() -> Iterator[Cell]:
    """Every state by everything wanted, and every drift from what was reached."""
    for wanted, properties in WANTED.items():
        for state in STATES:
            yield _cell(state, wanted, properties)
        for drift in DRIFTS:
            yield _cell("stopped, disabled", wanted, properties, drift)
    yield from _brought()


def _brought() -> Iterator[Cell]:
    """With the files of the unit as resources of the same manifest."""
    for state in FILE_STATES:
        for file in FILES:
            for subscribed in (False, True):
                yield _with_file(state, file, subscribed=subscribed)


FILES = {
    "its unit file": ("{vendor}/{unit}", STAYS.replace("{number}", "2") + INSTALL),
    "a unit file over it": ("{etc}/{unit}", STAYS.replace("{number}", "2") + INSTALL),
    "a drop-in": ("{etc}/{unit}.d/more.conf", "[Unit]\nDescription=2\n"),
}
FILE_STATES = {
    "not there": None,
    "stopped": "",
    "running": "start",
    "running, enabled": "enable start",
    "masked": "mask",
}


def _with_file(state: str, file: str, *, subscribed: bool) -> Cell:
    path, text = FILES[file]
    acts = FILE_STATES[state]

    def resources(place: Path) -> list[dict[str, object]]:
        unit = f"{_unit(place)}.service"
        name = path.format(vendor=VENDOR, etc=ETC, unit=unit)
        folder = {"ensure": "directory", "owner": "root", "group": "root", "mode": "0755"}
        content = {"ensure": "present", "content": text, "owner": "root", "group": "root", "mode": "0644"}
        above = [{str(Path(name).parent): folder}] if file == "a drop-in" else []
        service = {"subscribe": [f"file#{name}"]} if subscribed else {}
        return [{"file": [*above, {name: content}]}, {"service": [{_unit(place): service}]}]

    def make(place: Path) -> None:
        if acts is not None:
            (VENDOR / f"{_unit(place)}.service").write_text(STAYS.replace("{number}", "1") + INSTALL)
            _act(place, acts)

    def wrong(place: Path) -> str | None:
        read = _property(f"{_unit(place)}.service", "Description")
        return _wrong({}, place) or differs("the description that systemd has read", read, "2")

    fails = state == "masked" or (state == "not there" and file == "a drop-in")
    fails &= (state, file) != ("masked", "a unit file over it")  # it takes the place of the mask
    name = f"{state}, {file} brought{' and subscribed to' if subscribed else ''}"
    return Cell(KIND, name, resources, wrong, make, None, fails, "", _look, _clean)


def _cell(state: str, wanted: str, properties: dict[str, object], drift: str | None = None) -> Cell:
    text, acts = STATES[state]

    def resources(place: Path) -> list[dict[str, object]]:
        return [{"service": [{_unit(place): properties}]}]

    def make(place: Path) -> None:
        if text is None:
            return
        path = (ETC if acts.startswith("etc") else VENDOR) / f"{_unit(place)}.service"
        if acts == "unread":
            said("systemctl", "show", path.name)
        path.write_text(text.replace("{number}", "1"))
        if acts != "unread":
            _act(place, acts.removeprefix("etc"))

    fails = _fails(state, wanted) if drift is None else _drift_fails(drift, wanted)
    drifted = None if drift is None else partial(_drifted, DRIFTS[drift])
    judge = partial(_wrong, properties)
    reason = SEEN_BY_STARTING.get(state, "") if drift is None else ""
    name = " / ".join(filter(None, (state, wanted, drift)))
    return Cell(KIND, name, resources, judge, make, drifted, fails, reason, _look, _clean)


def _fails(state: str, wanted: str) -> bool:
    """By docs/kinds/service.md."""
    if state == "not there":
        return wanted != "masked"
    runs = not wanted.startswith(("stopped", "masked", "unmasked, stopped"))
    if wanted == "masked" and state.startswith("its file is in /etc"):
        return True
    if state in CANT_START and runs:
        return True
    if wanted in ("stopped, disabled", "running, disabled") and state.startswith("static"):
        return state != "static, masked" or runs
    if state == "refuses to be stopped by hand" and not runs:
        return True
    masked = state in ("masked", "static, masked", "masked until the next boot", "masked, running")
    if masked and "unmasked" not in wanted and wanted != "masked":
        enables = wanted in ("running, enabled", "stopped, enabled")
        return enables or (runs and state != "masked, running")
    return False


def _drift_fails(drift: str, wanted: str) -> bool:
    if drift != "masked":
        return False
    return wanted in ("running, enabled", "stopped, enabled")  # the mask does not stop what runs


def _drifted(acts: str, place: Path) -> None:
    _act(place, acts)


def _act(place: Path, acts: str) -> None:
    unit = f"{_unit(place)}.service"
    words = [acts] if "--signal" in acts else acts.split()
    for act in words:
        if act == "changed":
            path = VENDOR / unit
            path.write_text(path.read_text().replace("Description=1", "Description=2"))
        else:
            said("systemctl", *act.replace("--runtime", " --runtime").split(), unit)
        if "--signal" in act:
            _wait_until_it_has_ended(unit)


def _wait_until_it_has_ended(unit: str) -> None:
    """systemd knows that a process has ended some time after it has sent the signal."""
    deadline = time.monotonic() + 60
    while said("systemctl", "is-active", unit) == "active":
        assert time.monotonic() < deadline, f"{unit} still runs"


def _unit(place: Path) -> str:
    return f"m{place.parent.name}"


def _look(place: Path) -> object:
    unit = f"{_unit(place)}.service"
    facts = "ActiveState,SubState,UnitFileState,MainPID,NeedDaemonReload,InvocationID"
    return said("systemctl", "show", f"--property={facts}", unit), said("systemctl", "is-enabled", unit)


def _wrong(properties: dict[str, object], place: Path) -> str | None:
    unit = f"{_unit(place)}.service"
    active, enabled = said("systemctl", "is-active", unit), said("systemctl", "is-enabled", unit)
    runs = properties.get("ensure", "running") == "running"
    faults = [None if (active == "active") is runs else f"it is {active}"]
    if (wish := properties.get("enable")) is not None and enabled != "static":
        faults.append(differs("that it is enabled", enabled == "enabled", wish))
    if (wish := properties.get("masked")) is not None:
        faults.append(differs("that it is masked", enabled.startswith("masked"), wish))
    if runs:
        faults.append(differs("systemd's need to read its file", _property(unit, "NeedDaemonReload"), "no"))
    return first(*faults)


def _property(unit: str, name: str) -> str:
    return said("systemctl", "show", "--value", f"--property={name}", unit)


def _clean(place: Path) -> None:
    """No reload: no other cell has a unit of this name."""
    unit = f"{_unit(place)}.service"
    for directory in ("/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system"):
        Path(directory, unit).unlink(missing_ok=True)
        Path(directory, "multi-user.target.wants", unit).unlink(missing_ok=True)
    shutil.rmtree(ETC / f"{unit}.d", ignore_errors=True)
    said("systemctl", "kill", "--signal=KILL", unit)
    said("systemctl", "reset-failed", unit)
