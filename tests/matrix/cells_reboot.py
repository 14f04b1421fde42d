"""Cells of the kind reboot: whether the host needs it, by when it may be. The reboot is too far away to happen."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cell import Cell, differs
from programs import said

REQUIRED = Path("/run/reboot-required")
_DAY = 86400
NEVER = time.strftime("%a", time.localtime(time.time() + 3 * _DAY)) + " 03:00-03:01"
WINDOWS: dict[str, list[str]] = {
    "any time": [],
    "now": ["00:00-24:00"],
    "later": [NEVER],
    "one of two": [NEVER, "00:00-24:00"],
}
WHEN = ("required", "changed")
STATES = ("nothing to do", "required", "its file changes")


def cells() -> Iterator[Cell]:
    """Every state by everything wanted."""
    for state in STATES:
        for when in WHEN:
            for window, times in WINDOWS.items():
                yield _cell(state, {"when": when, "windows": times}, f"{when}, {window}")
        yield _cell(state, {"ensure": "absent"}, "absent")


def _cell(state: str, wanted: dict[str, object], name: str) -> Cell:
    def resources(place: Path) -> list[dict[str, object]]:
        owners = {"owner": "root", "group": "root", "mode": "0644"}
        content = "new" if state == "its file changes" else "old"
        file = {str(place / "file"): {"ensure": "present", "content": content, **owners}}
        subscribe = {"subscribe": [f"file#{place / 'file'}"]}
        return [{"file": [file]}, {"reboot": [{"x": {"grace": "1000h", **wanted, **subscribe}}]}]

    def make(place: Path) -> None:
        (place / "file").write_text("old")
        (place / "file").chmod(0o644)
        if state == "required":
            REQUIRED.touch()

    is_due = state == "its file changes" or (state == "required" and wanted.get("when") == "required")
    is_ordered = is_due and wanted.get("windows") != [NEVER] and "ensure" not in wanted
    wrong = partial(_wrong, 1 if is_ordered else 0)
    return Cell("reboot", f"{state} / {name}", resources, wrong, make, look=_look, clean=_clean)


def _timers() -> list[str]:
    lines = said("systemctl", "list-units", "--plain", "--no-legend", "run-*.timer").splitlines()
    return [line.split(maxsplit=1)[0] for line in lines]


def _wrong(ordered: int, place: Path) -> str | None:
    return differs("the number of reboots that are ordered", len(_timers()), ordered)


def _look(place: Path) -> object:
    return _timers(), (place / "file").read_text()


def _clean(place: Path) -> None:
    REQUIRED.unlink(missing_ok=True)
    for timer in _timers():
        said("systemctl", "stop", timer)
