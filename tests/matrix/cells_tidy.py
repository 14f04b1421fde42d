"""Cells of the kind tidy: what one entry of a directory is, by what is to go."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cell import Cell, differs, first
from programs import must

KIND = "tidy"
OLD, NEW = 40, 1
"""Days."""
LIMIT = 30 * 86400


def _age(path: Path, days: float) -> None:
    moment = time.time() - days * 86400
    os.utime(path, (moment, moment), follow_symlinks=False)


def _file(days: float, size: int = 1, owner: int = 0):
    def make(path: Path) -> None:
        path.write_bytes(b"x" * size)
        os.chown(path, owner, owner)
        _age(path, days)

    return make


def _directory(days: float, *inside: float):
    def make(path: Path) -> None:
        path.mkdir()
        for number, age in enumerate(inside):
            _file(age)(path / f"in{number}.log")
        _age(path, days)

    return make


def _made(days: float, make):
    def both(path: Path) -> None:
        make(path)
        _age(path, days)

    return both


STATES = {
    "nothing": lambda path: None,
    "old": _file(OLD),
    "old, of another": _file(OLD, owner=1234),
    "new": _file(NEW),
    "old and large": _file(OLD, 4096),
    "new and large": _file(NEW, 4096),
    "old empty directory": _directory(OLD),
    "new empty directory": _directory(NEW),
    "old directory, old file": _directory(OLD, OLD),
    "old directory, new file": _directory(OLD, NEW),
    "old directory, both": _directory(OLD, OLD, NEW),
    "old link": _made(OLD, lambda path: path.symlink_to("/etc/passwd")),
    "old link to a directory": _made(OLD, lambda path: path.symlink_to("/etc")),
    "old fifo": _made(OLD, os.mkfifo),
}
WANTED: dict[str, dict[str, object]] = {
    "age": {"age": "30d"},
    "size": {"size": "2k"},
    "age and size": {"age": "30d", "size": "2k"},
    "other names": {"age": "30d", "matches": "*.tmp"},
    "names": {"age": "30d", "matches": ["*.log"]},
    "recurse": {"age": "30d", "recurse": True},
    "directories": {"age": "30d", "recurse": True, "rmdirs": True},
}
DRIFTS = {
    "an old file comes": lambda place: _file(OLD, 4096)(place / "other.log"),
    "an old tree comes": lambda place: _directory(OLD, OLD)(place / "tree"),
    "a file becomes old": lambda place: _age(place / "new.log", OLD),
}


def cells() -> Iterator[Cell]:
    """Every state by everything wanted, drifts, and a directory that can't be tidied."""
    for wanted, properties in WANTED.items():
        for state, make in STATES.items():
            for name in ("p.log", "p"):
                yield _cell(f"{state}, {name} / {wanted}", make, name, properties)
        for drift, act in DRIFTS.items():
            yield _cell(f"new / {wanted} / {drift}", STATES["new"], "new.log", properties, drift=act)
    yield _read_only()


def _cell(name, make, base, properties, *, drift=None) -> Cell:
    def state(place: Path) -> None:
        (place / "d").mkdir()
        make(place / "d" / base)
        new = (path for path in (place / "d").rglob("*") if time.time() - os.lstat(path).st_mtime < LIMIT)
        _MADE[place] = {path.name for path in new if drift is None}

    drifted = None if drift is None else lambda place: drift(place / "d")
    return Cell(KIND, name, partial(_resources, properties), partial(_wrong, properties), state, drifted)


def _resources(properties: dict[str, object], place: Path) -> list[dict[str, object]]:
    return [{"tidy": [{str(place / "d"): properties}]}]


def _read_only() -> Cell:
    def state(place: Path) -> None:
        (place / "d").mkdir()
        _file(OLD)(place / "d/old")
        must("mount", "--bind", place / "d", place / "d")
        must("mount", "-o", "remount,bind,ro", place / "d")

    clean = lambda place: must("umount", place / "d")  # noqa: E731
    resources = partial(_resources, WANTED["age"])
    return Cell(KIND, "old, read-only / age", resources, lambda place: None, state, fails=True, clean=clean)


def _wrong(properties: dict[str, object], place: Path) -> str | None:
    """What is still there and should not be, and what is gone and should not be."""
    root = place / "d"
    if not root.is_dir():
        return "the directory itself is gone"
    left = [path for path in root.rglob("*") if properties.get("recurse") or path.parent == root]
    kept = {path.name for path in root.rglob("*")}
    return first(
        *(f"{path.name} is still there" for path in left if _goes(path, properties)),
        *(
            f"{name} is gone"
            for name in _must_stay(properties)
            if name in _MADE.get(place, ()) and name not in kept
        ),
        differs("/etc/passwd", os.path.exists("/etc/passwd"), True),
    )


_MADE: dict[Path, set[str]] = {}
"""By the place of a cell: the names that its state has made and that are new or no files."""


def _must_stay(properties: dict[str, object]) -> set[str]:
    return set() if "age" not in properties else {"p", "p.log", "in0.log", "in1.log", "new.log"}


def _goes(path: Path, properties: dict[str, object]) -> bool:
    seen = os.lstat(path)
    is_file, is_link = path.is_file() and not path.is_symlink(), path.is_symlink()
    if not (is_file or is_link):
        return False
    is_old = "age" not in properties or time.time() - seen.st_mtime > LIMIT
    is_large = "size" not in properties or (is_file and seen.st_size >= 2048)
    wanted = {"other names": ".tmp", "names": ".log"}
    ends = next((wanted[name] for name in wanted if WANTED[name] is properties), "")
    return is_old and is_large and path.name.endswith(ends)
