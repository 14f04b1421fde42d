"""Cells of directories with ``recurse``: what one entry below is, by the owner and modes that all are to have."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cell import Cell, differs, first

KIND = "file"


def _file(mode: int, owner: int = 0):
    def make(path: Path) -> None:
        path.write_text("x")
        os.chown(path, owner, owner)
        path.chmod(mode)

    return make


def _directory(mode: int, owner: int = 0):
    def make(path: Path) -> None:
        path.mkdir()
        _file(0o600, owner)(path / "in")
        os.chown(path, owner, owner)
        path.chmod(mode)

    return make


def _hard_link(path: Path) -> None:
    """A second name of a file of root, in a directory that others may write to."""
    twin = path.parent.parent / "twin"
    twin.write_text("x")
    twin.chmod(0o600)
    path.parent.chmod(0o777)
    os.link(twin, path)


STATES = {
    "nothing": lambda path: None,
    "a file": _file(0o644),
    "a file of another": _file(0o600, 1234),
    "a program": _file(0o755),
    "a setuid program of another": _file(0o4755, 1234),
    "a directory": _directory(0o755),
    "a directory of another": _directory(0o700, 1234),
    "a setgid directory": _directory(0o2700),
    "a link": lambda path: path.symlink_to("/etc/passwd"),
    "a link of another to a directory": lambda path: (path.symlink_to("/etc"), os.lchown(path, 7, 7)),
    "a fifo": os.mkfifo,
    "a hard link of a stranger": _hard_link,
}
WANTED: dict[str, dict[str, object]] = {
    "owner": {"owner": "4321", "group": "4321", "mode": "0755"},
    "owner and modes": {"owner": "4321", "group": "4321", "mode": "0750", "file_mode": "0640"},
    "root's": {"owner": "root", "group": "root", "mode": "0777", "file_mode": "0600"},
    "executable": {"owner": "root", "group": "4321", "mode": "0777", "file_mode": "0755"},
}
DRIFTS = {
    "chown": lambda path: os.chown(path, 4, 4),
    "chmod": lambda path: path.chmod(0o777),
    "another file": lambda path: _file(0o666, 4)(path.with_name("new")),
    "another directory": lambda path: _directory(0o700, 4)(path.with_name("new")),
}


def cells() -> Iterator[Cell]:
    """Every state by everything wanted, and drifts."""
    for wanted, properties in WANTED.items():
        for state, make in STATES.items():
            is_foreign = state.startswith("a hard link") and properties["owner"] != "root"
            is_foreign |= state.startswith("a hard link") and wanted == "executable"
            yield _cell(f"{state} / {wanted}", make, properties, fails=is_foreign)
        for drift, act in DRIFTS.items():
            yield _cell(f"a file / {wanted} / {drift}", STATES["a file"], properties, drift=act)


def _cell(name, make, properties, *, drift=None, fails=False) -> Cell:
    def state(place: Path) -> None:
        (place / "tree").mkdir()
        make(place / "tree/p")

    def resources(place: Path) -> list[dict[str, object]]:
        return [{"file": [{str(place / "tree"): {"ensure": "directory", "recurse": True} | properties}]}]

    drifted = None if drift is None else lambda place: drift(place / "tree/p")
    return Cell(KIND, f"recurse, {name}", resources, partial(_wrong, properties), state, drifted, fails)


def _wrong(properties: dict[str, object], place: Path) -> str | None:
    passwd = os.stat("/etc/passwd")
    faults = [_wrong_entry(path, properties) for path in (place / "tree", *(place / "tree").rglob("*"))]
    return first(*faults, differs("the owner of /etc/passwd", passwd.st_uid, 0))


def _wrong_entry(path: Path, properties: dict[str, object]) -> str | None:
    seen = os.lstat(path)
    if not (stat.S_ISREG(seen.st_mode) or stat.S_ISDIR(seen.st_mode)):
        return None
    ids = {"root": 0}
    owner, group = (ids.get(str(properties[name]), properties[name]) for name in ("owner", "group"))
    is_directory = stat.S_ISDIR(seen.st_mode)
    mode = (
        int(str(properties["mode" if is_directory else "file_mode"]), 8)
        if is_directory or "file_mode" in properties
        else None
    )
    may_differ = 0o111 if not is_directory else 0
    return first(
        differs(f"the owner of {path.name}", f"{seen.st_uid}", f"{owner}"),
        differs(f"the group of {path.name}", f"{seen.st_gid}", f"{group}"),
        None
        if mode is None
        else differs(f"the mode of {path.name}", seen.st_mode & 0o777 & ~may_differ, mode & ~may_differ),
        differs("setuid", bool(seen.st_mode & stat.S_ISUID), False),
    )
