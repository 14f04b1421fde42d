"""Cells of the kinds container and container_network, with a real docker: what is there, by what is wanted."""

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

NETWORKS: dict[str, dict[str, object]] = {
    "present": {"subnet": "10.213.7.0/24"},
    "internal": {"subnet": "10.213.7.0/24", "internal": True},
    "absent": {"ensure": "absent"},
}
USED = {"Image": ONE, "Cmd": ["/wait"], "HostConfig": {"NetworkMode": "backend"}}


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
    for wanted in NETWORKS:
        for state in ("nothing", "another subnet", "another subnet with a container"):
            yield _network_cell(state, wanted)
    yield _network_cell("removed", "present", is_drift=True)


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


def _network_cell(state: str, wanted: str, *, is_drift: bool = False) -> Cell:
    def resources(place: Path) -> list[dict[str, object]]:
        return [{"container_network": [{"backend": {"socket": _daemon().socket, **NETWORKS[wanted]}}]}]

    return Cell(
        "container_network",
        f"{state}{' since' if is_drift else ''} / {wanted}",
        resources,
        partial(_wrong_network, wanted),
        _nothing if is_drift else partial(_make_network, state),
        (lambda _place: _daemon().ask("DELETE", "/networks/backend")) if is_drift else None,
        fails=state.endswith("container"),
        look=_look_at_networks,
        clean=lambda _place: _daemon().remove_all(),
    )


def _make_network(state: str, _place: Path) -> None:
    if state == "nothing":
        return
    pools = {"Config": [{"Subnet": "10.213.9.0/24"}]}
    _daemon().ask("POST", "/networks/create", {"Name": "backend", "IPAM": pools})
    if state.endswith("container"):
        _daemon().ask("POST", "/containers/create?name=web", USED)


def _look_at_networks(place: Path) -> object:
    return _look(place), sorted(each["Id"] for each in _daemon().ask("GET", "/networks"))


def _wrong_network(wanted: str, _place: Path) -> str | None:
    found = _daemon().network("backend")
    if found is None or wanted == "absent":
        return differs("that it is there", found is not None, wanted != "absent")
    return first(
        differs("its subnet", found["IPAM"]["Config"][0]["Subnet"], "10.213.7.0/24"),
        differs("that it is internal", found["Internal"], wanted == "internal"),
    )
