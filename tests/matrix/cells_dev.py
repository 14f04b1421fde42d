"""Cells of the kinds alternatives and kernel_module: what is chosen or loaded, by what is wanted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cell import Cell, differs, first
from programs import must, said

NAME = "reactor-cell"
DATABASE = Path("/var/lib/dpkg/alternatives", NAME)
CHOICE = Path("/etc/alternatives", NAME)
GROUPS = {
    "no group": "",
    "auto": "one two",
    "by hand, the best": "one two set-two",
    "by hand, another": "one two set-one",
    "one alternative": "one",
    "the choice missing": "one two rm-choice",
    "the choice elsewhere": "one two wrong-choice",
    "the name missing": "one two rm-link",
    "the name elsewhere": "one two wrong-link",
    "a file for the name": "one two file-link",
    "a damaged database": "damaged",
}
CHOSEN: dict[str, dict[str, object]] = {
    "one": {"path": "{place}/one"},
    "two": {"path": "{place}/two"},
    "auto": {"mode": "auto"},
    "three added": {"path": "{place}/three", "link": "{place}/link", "priority": 5},
    "three added, auto": {"path": "{place}/three", "link": "{place}/link", "priority": 500, "mode": "auto"},
    "one removed": {"path": "{place}/one", "ensure": "absent"},
    "all removed": {"ensure": "absent"},
    "no program": {"path": "{place}/none"},
}
DRIFTS = ("set-one", "set-two", "rm-choice", "wrong-choice", "rm-link", "wrong-link")
MODULE = "reactor_cell_module"
FILES = (
    Path(f"/etc/modules-load.d/reactor-{MODULE}.conf"),
    Path(f"/etc/modprobe.d/reactor-{MODULE}.conf"),
)


def cells() -> Iterator[Cell]:
    """Every state by everything wanted, and every drift from what was reached."""
    for wanted in CHOSEN:
        for state in GROUPS:
            yield _alternatives(state, wanted)
    for wanted in ("one", "two", "auto"):
        for drift in DRIFTS:
            yield _alternatives("auto", wanted, drift)
    for wanted in ({}, {"options": {"a": 1}}, {"persist": False}):
        resources = partial(_same, [{"kernel_module": [{MODULE: wanted}]}])
        name = f"one that is not there, {wanted}"
        yield Cell(
            "kernel_module", name, resources, _no_fault, fails=True, look=_module_files, clean=_no_files
        )
    for blacklist in (True, False):
        for state in (False, True):
            yield _forbidden(blacklist, state)


def _forbidden(blacklist: bool, state: bool) -> Cell:
    resources = partial(_same, [{"kernel_module": [{MODULE: {"ensure": "absent", "blacklist": blacklist}}]}])

    def make(place: Path) -> None:
        for path in FILES:
            path.parent.mkdir(exist_ok=True)
            if state:
                path.write_text(f"{MODULE}\n")

    def wrong(place: Path) -> str | None:
        text = FILES[1].read_text() if FILES[1].exists() else ""
        return first(
            differs("that it is loaded at boot", FILES[0].exists(), False),
            differs("that it is forbidden", f"blacklist {MODULE}\n" in text, blacklist),
        )

    name = f"absent, {blacklist=}, files {state}"
    return Cell("kernel_module", name, resources, wrong, make, look=_module_files, clean=_no_files)


def _same(manifest: list[dict[str, object]], place: Path) -> list[dict[str, object]]:
    return manifest


def _no_fault(place: Path) -> None:
    return None


def _module_files(place: Path) -> object:
    return [path.exists() and path.read_text() for path in FILES]


def _no_files(place: Path) -> None:
    for path in FILES:
        path.unlink(missing_ok=True)


def _alternatives(state: str, wanted: str, drift: str | None = None) -> Cell:
    def resources(place: Path) -> list[dict[str, object]]:
        filled = {
            key: value.replace("{place}", str(place)) if isinstance(value, str) else value
            for key, value in CHOSEN[wanted].items()
        }
        return [{"alternatives": [{NAME: filled}]}]

    def make(place: Path) -> None:
        for name in ("one", "two", "three"):
            (place / name).write_text(name)
        _act(GROUPS[state], place)

    acts = None if drift is None else partial(_act, drift)
    name = " / ".join(filter(None, (state, wanted, drift)))
    fails = _fails(state, wanted)
    return Cell(
        "alternatives", name, resources, partial(_wrong, wanted), make, acts, fails, look=_look, clean=_clean
    )


def _fails(state: str, wanted: str) -> bool:
    if state == "a damaged database" or wanted == "no program":
        return True
    if state == "no group":
        return wanted in ("one", "two", "auto")
    if state == "a file for the name":
        return "removed" not in wanted
    return state == "one alternative" and wanted == "two"


def _act(acts: str, place: Path) -> None:
    link = place / "link"
    for act in acts.split():
        match act:
            case "one" | "two":
                must("update-alternatives", "--install", link, NAME, place / act, 10 if act == "one" else 90)
            case "set-one" | "set-two":
                must("update-alternatives", "--set", NAME, place / act[4:])
            case "damaged":
                DATABASE.write_text("sometimes\n")
            case "file-link":
                link.unlink()
                link.write_text("mine")
            case _:
                path = CHOICE if "choice" in act else link
                path.unlink(missing_ok=True)
                if act.startswith("wrong"):
                    path.symlink_to("/bin/true")


def _wrong(wanted: str, place: Path) -> str | None:
    query = said("update-alternatives", "--query", NAME)
    fields = dict(line.split(": ", 1) for line in query.splitlines() if ": " in line)
    if wanted == "all removed":
        return differs("the group", query, "")
    if wanted == "one removed":
        return differs("that it is there", f"{place}/one" in query, False)
    mode = "auto" if "auto" in wanted else "manual"
    name = (
        "two"
        if wanted == "auto" and f"{place}/two" in query
        else "one"
        if wanted == "auto"
        else wanted.split(maxsplit=1)[0]
    )
    return first(
        differs("the mode", fields.get("Status"), mode),
        differs("where the name leads", os.path.realpath(place / "link"), f"{place}/{name}"),
    )


def _look(place: Path) -> object:
    names = (DATABASE, CHOICE, place / "link")
    return [
        os.path.lexists(path) and (os.readlink(path) if path.is_symlink() else path.read_text())
        for path in names
    ]


def _clean(place: Path) -> None:
    for path in (DATABASE, CHOICE):
        path.unlink(missing_ok=True)
