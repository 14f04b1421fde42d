"""Cells of the kind container, with a real docker: which container is there, by what is wanted of it."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import Any

from cell import Cell, differs, first, tree

sys.path += [str(Path(__file__).parents[1] / each) for each in ("container", "cli")]
from container_worlds import world

ONE, TWO = "localhost/wait:1", "localhost/wait:2"
USUAL = {"image": ONE, "command": ["/wait"], "networks": ["none"], "stop_timeout": "1s"}
WANTED: dict[str, dict[str, object]] = {
    "running": {},
    "stopped": {"ensure": "stopped"},
    "of another image": {"image": TWO},
    "absent": {"ensure": "absent"},
    "of no image": {"image": "localhost/none:1", "pull": "never"},
}
DRIFTS = {
    "stopped": [("POST", "/containers/web/stop?t=1")],
    "killed": [("POST", "/containers/web/kill")],
    "paused": [("POST", "/containers/web/pause")],
    "removed": [("DELETE", "/containers/web?force=true")],
    "renamed": [("POST", "/containers/web/rename?name=other")],
}


@cache
def _daemon() -> Any:
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(world("docker"))


def cells() -> Iterator[Cell]:
    """Nothing and the container of another, by everything wanted; and every drift from what was reached."""
    for wanted in WANTED:
        for state in ("nothing", "of another"):
            yield _cell(state, wanted)
    for drift in DRIFTS:
        yield _cell(drift, "running", drift)


def _cell(state: str, wanted: str, drift: str = "") -> Cell:
    def resources(place: Path) -> list[dict[str, object]]:
        return [{"container": [{"web": {"socket": _daemon().socket, **USUAL, **WANTED[wanted]}}]}]

    return Cell(
        "container",
        f"{state} / {wanted}" if not drift else f"{drift} since / {wanted}",
        resources,
        partial(_wrong, wanted),
        _make if state == "of another" else _nothing,
        partial(_spoil, drift) if drift else None,
        fails=wanted == "of no image",
        look=_look,
        clean=lambda _place: _daemon().remove_all(),
    )


def _nothing(_place: Path) -> None:
    """Leave the daemon without containers."""


def _make(_place: Path) -> None:
    _daemon().ask("POST", "/containers/create?name=web", {"Image": ONE, "Cmd": ["/wait"]})


def _spoil(drift: str, _place: Path) -> None:
    for method, target in DRIFTS[drift]:
        _daemon().ask(method, target)


def _look(place: Path) -> object:
    found = _daemon().ask("GET", "/containers/json?all=true")
    return tree(place), [(each["Id"], each["State"], each["Names"]) for each in found]


def _wrong(wanted: str, _place: Path) -> str | None:
    found = _daemon().inspect("web")
    if found is None or wanted == "absent":
        return differs("that it is there", found is not None, wanted != "absent")
    return first(
        differs("that it runs", found["State"]["Running"], wanted != "stopped"),
        differs("that it is paused", found["State"]["Paused"], False),
        differs("its image", found["Config"]["Image"], TWO if wanted == "of another image" else ONE),
    )
