"""Cells of the kind timer: what systemd knows of it, by what is wanted, by what is done afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cell import Cell, differs, first
from programs import said

NAME = "matrixtimer"
SERVICE, TIMER = (Path(f"/etc/systemd/system/{NAME}.{kind}") for kind in ("service", "timer"))
UNITS = {
    "service": "[Service]\nExecStart=/bin/false\n",
    "timer": "[Timer]\nOnCalendar=hourly\n[Install]\nWantedBy=timers.target\n",
}
STATES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "nothing": ((), ()),
    "another timer": (("service", "timer"), ()),
    "another timer that runs": (("service", "timer"), ("start",)),
    "another timer, enabled": (("service", "timer"), ("enable", "--now")),
    "the service alone": (("service",), ()),
    "the timer alone": (("timer",), ("enable",)),
    "masked": ((), ("mask",)),
}
"""By state: the units that are there, and what systemctl does to the timer."""
WANTED: dict[str, dict[str, object]] = {
    "daily": {"command": "/bin/true", "on_calendar": "daily"},
    "after boot": {"command": "/bin/true", "after_boot": "1000h", "every": "1000h"},
    "a shell": {"command": "true | true", "shell": True, "on_calendar": ["Mon 03:00", "Tue 04:00"]},
    "never": {"command": "/bin/true", "on_calendar": "2001-01-01"},
    "refused": {"command": "/bin/true", "on_calendar": "*-13-01"},
    "absent": {"ensure": "absent"},
}
DRIFTS: dict[str, tuple[str, ...]] = {
    "stopped": ("systemctl", "stop", TIMER.name),
    "disabled": ("systemctl", "disable", TIMER.name),
    "disabled and stopped": ("systemctl", "disable", "--now", TIMER.name),
    "timer changed": ("sed", "-i", "s/^On.*/OnCalendar=hourly/", str(TIMER)),
    "service removed": ("rm", str(SERVICE)),
    "both removed": ("rm", str(SERVICE), str(TIMER)),
    "mode": ("chmod", "0666", str(TIMER)),
}


def cells() -> Iterator[Cell]:
    """Every state by everything wanted, and every drift from what was reached."""
    for wanted, properties in WANTED.items():
        fails = wanted in ("never", "refused")
        for state in STATES:
            is_masked = state == "masked" and wanted != "absent"
            yield _cell(state, wanted, properties, fails=fails or is_masked)
        for drift in () if fails or wanted == "absent" else DRIFTS:
            yield _cell("nothing", wanted, properties, drift)


def _cell(state, wanted, properties, drift=None, *, fails=False) -> Cell:
    name = " / ".join(filter(None, (state, wanted, drift)))

    def resources(place: Path) -> list[dict[str, object]]:
        return [{"timer": [{NAME: properties}]}]

    acts = None if drift is None else lambda place: said(*DRIFTS[drift])
    make, judge = partial(_make, state), partial(_wrong, state, wanted)
    return Cell("timer", name, resources, judge, make, acts, fails, "", _look, _clean)


def _make(state: str, place: Path) -> None:
    units, acts = STATES[state]
    for unit in units:
        Path(f"/etc/systemd/system/{NAME}.{unit}").write_text(UNITS[unit])
    said("systemctl", "daemon-reload")
    if acts:
        said("systemctl", *acts, TIMER.name)


def _look(place: Path) -> object:
    texts = [path.read_text() if path.exists() else None for path in (SERVICE, TIMER)]
    return texts, said("systemctl", "is-active", TIMER.name), said("systemctl", "is-enabled", TIMER.name)


def _clean(place: Path) -> None:
    said("systemctl", "disable", "--now", TIMER.name)
    for path in (SERVICE, TIMER):
        path.unlink(missing_ok=True)
    said("systemctl", "daemon-reload")


def _wrong(state: str, wanted: str, place: Path) -> str | None:
    if wanted == "absent":
        files = [path for path in (SERVICE, TIMER) if path.is_file()]
        return first(
            differs("the files", files, []),
            differs("that it runs", said("systemctl", "is-active", TIMER.name), "inactive"),
        )
    shown = said(
        "systemctl", "show", "--property=NeedDaemonReload,TimersCalendar,TimersMonotonic", TIMER.name
    )
    events = {"daily": ["*-*-* 00:00:00"], "a shell": ["Mon *-*-* 03:00:00", "Tue *-*-* 04:00:00"]}
    missing = [
        event for event in events.get(wanted, ["OnBootUSec=", "OnUnitActiveUSec="]) if event not in shown
    ]
    command = said("systemctl", "show", "--property=ExecStart", "--value", SERVICE.name)
    return first(
        differs("that it runs", said("systemctl", "is-active", TIMER.name), "active"),
        differs("that it is enabled", said("systemctl", "is-enabled", TIMER.name), "enabled"),
        differs("what systemd does not know", missing, []),
        differs("that systemd has read it", "NeedDaemonReload=no" in shown, True),
        differs("the command", "true" in command, True),
        differs("the mode", TIMER.stat().st_mode & 0o777, 0o644),
    )
