"""Cells of the kind git: what is at the path, by the revision that is wanted, by what somebody then did to it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

from cell import Cell, differs, first
from programs import must, said

KIND = "git"
_WHO = ("-c", "user.name=ada", "-c", "user.email=ada@example.com", "-c", "advice.detachedHead=false")
OLD, NEW = {"README": "one\n", "src/a": "a\n"}, {"README": "two\n", "src/b": "b\n"}
"""The files of the first commit, and of the second."""


def _git(directory: Path, *words: object) -> str:
    return must("git", *_WHO, "-C", directory, *words)


@cache
def _origin() -> Path:
    """A repository with two commits: the first is the tag v1, the second the branch main."""
    root = Path(tempfile.mkdtemp(prefix="matrix-git-"))
    path = root / "origin"
    subprocess.run(["git", "init", "-q", "-b", "main", path], check=True)
    for number, files in enumerate((OLD, NEW)):
        for entry in path.glob("[!.]*"):
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        for name, text in files.items():
            (path / name).parent.mkdir(exist_ok=True)
            (path / name).write_text(text)
        _git(path, "add", "--all")
        _git(path, "commit", "-q", "-m", str(number))
        if number == 0:
            _git(path, "tag", "v1")
    return path


def _first() -> str:
    return _git(_origin(), "rev-parse", "v1").strip()


STATES = {
    "nothing": "",
    "an empty directory": "mkdir",
    "a directory with files": "mkdir mine",
    "a file": "file",
    "a link": "link",
    "at the tag": "clone v1",
    "at the branch": "clone",
    "changed": "clone v1 change",
    "staged": "clone v1 stage",
    "a file deleted": "clone v1 rm",
    "with a commit": "clone commit",
    "with a file in the way": "clone v1 way",
    "with a file besides": "clone v1 mine",
    "of another repository": "clone v1 url",
}
WANTED: dict[str, dict[str, object]] = {
    "branch": {"revision": "main"},
    "preferred": {},
    "tag": {"revision": "v1"},
    "commit": {"revision": "FIRST"},
    "branch, force": {"revision": "main", "force": True},
    "absent": {"ensure": "absent"},
    "absent, force": {"ensure": "absent", "force": True},
    "no such branch": {"revision": "no-such"},
    "no such server": {"url": "/nonexistent.git"},
    "user who is not there": {"user": "nobody-there"},
}
DRIFTS = {
    "file deleted": ("rm", False),
    "file changed": ("change", True),
    "commit made": ("commit", True),
    "file besides": ("mine", False),
    "all removed": ("gone", False),
}
"""By drift: what is done, and whether that is a loss to undo it."""
IN_THE_WAY = {"a directory with files", "a file", "a link"}
LOSSES = {"changed", "staged", "with a commit"}


def cells() -> Iterator[Cell]:
    """Every state by everything wanted, and every drift from what was reached."""
    for wanted in WANTED:
        for state in STATES:
            yield _cell(state, wanted)
    for wanted in ("branch", "preferred", "tag", "commit", "branch, force"):
        for drift in DRIFTS:
            yield _cell("nothing", wanted, drift)


def _cell(state: str, wanted: str, drift: str | None = None) -> Cell:
    def resources(place: Path) -> list[dict[str, object]]:
        properties = {"url": str(_origin()), **WANTED[wanted]}
        if properties.get("revision") == "FIRST":
            properties["revision"] = _first()
        return [{"git": [{str(place / "app"): properties}]}]

    acts = None if drift is None else partial(_act, DRIFTS[drift][0])
    name = " / ".join(filter(None, (state, wanted, drift)))
    make = partial(_act, STATES[state])
    return Cell(KIND, name, resources, partial(_wrong, wanted), make, acts, _fails(state, wanted, drift))


def _fails(state: str, wanted: str, drift: str | None) -> bool:
    if drift is not None:
        return DRIFTS[drift][1] and "force" not in wanted
    if wanted == "user who is not there":
        return True
    if wanted.startswith("absent"):
        return state in (IN_THE_WAY if "force" in wanted else IN_THE_WAY | LOSSES | {"with a file in the way", "with a file besides"})  # fmt: skip
    if state in IN_THE_WAY or wanted in ("no such branch", "no such server"):
        return True
    if "force" in wanted:
        return False
    return state in LOSSES or (state == "with a file in the way" and wanted in ("branch", "preferred"))


def _act(acts: str, place: Path) -> None:
    app = place / "app"
    for act in acts.split():
        match act:
            case "mkdir":
                app.mkdir()
            case "file":
                app.write_text("mine\n")
            case "link":
                (place / "target").mkdir()
                app.symlink_to(place / "target")
            case "clone":
                must("git", "clone", "-q", _origin(), app)
            case "v1":
                _git(app, "checkout", "-q", "v1")
            case "change":
                (app / "README").write_text("mine\n")
            case "stage":
                (app / "README").write_text("mine\n")
                _git(app, "add", "README")
            case "rm":
                (app / "README").unlink()
            case "commit":
                _git(app, "commit", "-q", "--allow-empty", "-m", "mine")
            case "way":
                (app / "src/b").write_text("mine\n")
            case "mine":
                (app / "mine").write_text("mine\n")
            case "url":
                _git(app, "remote", "set-url", "origin", "/elsewhere")
            case "gone":
                shutil.rmtree(app)


def _wrong(wanted: str, place: Path) -> str | None:
    app = place / "app"
    if wanted.startswith("absent"):
        return differs("that it is there", os.path.lexists(app), False)
    files = OLD if wanted in ("tag", "commit") else NEW
    shown = said("git", "-C", app, "ls-files").split()
    found = {name: (app / name).read_text() for name in shown}
    branch = "" if files is OLD else "main"
    return first(
        differs("the files", found, files),
        differs("what git says", said("git", "-C", app, "status", "--porcelain", "-uno"), ""),
        differs("the branch", said("git", "-C", app, "branch", "--show-current"), branch),
        differs("the remote", said("git", "-C", app, "remote", "get-url", "origin"), str(_origin())),
    )
