"""Cells of the kind role: the file that a role writes, by its parameter."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cell import Cell, differs

ROLE = """
parameters: {word: string, path: string}
resources:
  - file:
      - "{{ Parameters.path }}":
          {ensure: present, content: "{{ Parameters.word }}\\n", owner: %d, group: %d, mode: "0644"}
"""
STATES = {"nothing": None, "as desired": "one\n", "another": "two\n", "empty": ""}


def cells() -> Iterator[Cell]:
    """Every state, each as what is found, and as drift; and a role that is not there."""
    for state, text in STATES.items():
        yield Cell("role", f"{state} / one", _resources, _wrong, partial(_make, text))
        yield Cell(
            "role", f"{state} since / one", _resources, _wrong, partial(_make, None), partial(_write, text)
        )


def _resources(place: Path) -> list[dict[str, object]]:
    parameters = {"word": "one", "path": str(place / "file")}
    return [{"role": [{"page": {"source": str(place / "role"), "parameters": parameters}}]}]


def _make(text: str | None, place: Path) -> None:
    (place / "role").mkdir()
    (place / "role/manifest.yaml").write_text(ROLE % (os.geteuid(), os.getegid()))
    _write(text, place)


def _write(text: str | None, place: Path) -> None:
    if text is None:
        (place / "file").unlink(missing_ok=True)
    else:
        (place / "file").write_text(text)


def _wrong(place: Path) -> str | None:
    return differs("the file", (place / "file").read_text(), "one\n")
