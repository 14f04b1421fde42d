"""Cells of the kind pip: which environment is there, by the packages that are wanted in it."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

from cell import Cell, differs

sys.path.append(str(Path(__file__).parents[1] / "pip"))
from pip_worlds import copy_template, make_index, make_template, packages_of, unpack

STATES = {
    "nothing": "",
    "an empty environment": "venv",
    "one 1.0": "venv one-1.0",
    "one 2.0, two": "venv one-2.0 two_words-1.5",
    "without a Python": "venv broken",
    "an empty directory": "mkdir",
    "another directory": "mkdir mine",
    "a file": "file",
}
WANTED: dict[str, dict[str, object]] = {
    "one": {"packages": ["one"]},
    "one 1.0": {"packages": ["one==1.0"]},
    "of a file": {"requirements": "{place}/requirements.txt"},
    "two unwanted": {"unwanted": ["two-words"]},
    "absent": {"ensure": "absent"},
    "no such package": {"packages": ["none==1"]},
    "no such file": {"requirements": "{place}/none.txt"},
}
RIGHT = {"one 1.0": {"one": "1.0"}, "of a file": {"one": "2.0", "two_words": "1.5"}}
NO_ENVIRONMENT = {"nothing", "without a Python", "an empty directory"}


@cache
def _prepared() -> Path:
    root = Path(tempfile.mkdtemp(prefix="matrix-pip-"))
    make_index(root / "index")
    make_template(root / "venv")
    return root


def cells() -> Iterator[Cell]:
    """Every state by everything wanted."""
    for wanted in WANTED:
        for state in STATES:
            yield _cell(state, wanted)


def _cell(state: str, wanted: str) -> Cell:
    def resources(place: Path) -> list[dict[str, object]]:
        properties = {"find_links": str(_prepared() / "index"), "no_index": True, **WANTED[wanted]}
        if isinstance(file := properties.get("requirements"), str):
            properties["requirements"] = file.replace("{place}", str(place))
        return [{"pip": [{str(place / "venv"): properties}]}]

    in_the_way = state in ("another directory", "a file")
    fails = in_the_way or wanted.startswith("no such")
    no_pip = wanted == "no such package" and state in NO_ENVIRONMENT
    reason = "there is no pip to ask before" if no_pip else ""
    make = partial(_make, STATES[state])
    return Cell("pip", f"{state} / {wanted}", resources, partial(_wrong, wanted), make, None, fails, reason)


def _make(acts: str, place: Path) -> None:
    venv = place / "venv"
    (place / "requirements.txt").write_text("one==2.0\ntwo-words\n")
    for act in acts.split():
        match act:
            case "venv":
                copy_template(_prepared() / "venv", venv)
            case "broken":
                (venv / "bin/python3").unlink()
            case "mkdir":
                venv.mkdir()
            case "mine":
                (venv / "mine").write_text("mine")
            case "file":
                venv.write_text("mine")
            case wheel:
                unpack(_prepared() / "index" / f"{wheel}-py3-none-any.whl", venv)


def _wrong(wanted: str, place: Path) -> str | None:
    venv = place / "venv"
    if wanted == "absent":
        return differs("that it is there", venv.exists(), False)
    found = packages_of(venv)
    if wanted == "one":
        return differs("that it is there", "one" in found, True)
    if wanted == "two unwanted":
        return differs("that it is there", "two_words" in found, False)
    return differs("the packages", {name: found.get(name) for name in RIGHT[wanted]}, RIGHT[wanted])
