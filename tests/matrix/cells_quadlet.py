"""Cells of the kind quadlet on a host without podman: nothing is written, and what is to be absent is removed.

``tests/container/run_quadlet.py`` plays the kind with podman's generator.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cell import Cell, differs
from programs import said

NAME = "matrixquadlet"
FILE = Path(f"/etc/containers/systemd/{NAME}.container")
STATES = {"nothing": None, "another file": "[Container]\nImage=localhost/other:1\n"}
WANTED: dict[str, dict[str, object]] = {
    "running": {"image": "localhost/wait:1"},
    "stopped": {"image": "localhost/wait:1", "ensure": "stopped", "enable": False},
    "absent": {"ensure": "absent"},
}


def cells() -> Iterator[Cell]:
    """Every state by everything wanted."""
    for wanted, properties in WANTED.items():
        for state, text in STATES.items():
            yield Cell(
                "quadlet",
                f"{state} / {wanted}",
                partial(_resources, properties),
                partial(_wrong, None if wanted == "absent" else text),
                partial(_make, text),
                fails=wanted != "absent",
                look=_look,
                clean=partial(_make, None),
            )


def _resources(properties: dict[str, object], _place: Path) -> list[dict[str, object]]:
    return [{"quadlet": [{NAME: properties}]}]


def _make(text: str | None, _place: Path) -> None:
    FILE.unlink(missing_ok=True)
    if text is not None:
        FILE.parent.mkdir(parents=True, exist_ok=True)
        FILE.write_text(text)


def _look(_place: Path) -> object:
    return FILE.read_text() if FILE.exists() else None, said("systemctl", "is-active", f"{NAME}.service")


def _wrong(wanted: str | None, place: Path) -> str | None:
    found = FILE.read_text() if FILE.exists() else None
    return differs("the file", found, wanted)
