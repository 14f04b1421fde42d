"""Cells of links, which are files with ``ensure: link``: what is at a path, by the link that is to be there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cell import Cell, differs, first
from cells_file import STATES
from programs import must

KIND = "file"
TARGET = "releases/2"


def _link(target: str, owner: int = 0) -> object:
    def make(path: Path) -> None:
        path.symlink_to(target)
        os.lchown(path, owner, owner)

    return make


LINKS = {
    "the link": _link(TARGET),
    "the link, of another": _link(TARGET, 1234),
    "another link": _link("releases/1"),
    "an absolute link": _link("/etc/hostname"),
}
WANTED: dict[str, dict[str, object]] = {
    "relative": {"target": TARGET},
    "absolute": {"target": "/etc"},
    "owned": {"target": TARGET, "owner": "root", "group": "root"},
    "of another": {"target": TARGET, "owner": "4321", "group": "4321"},
    "by force": {"target": TARGET, "force": True},
    "by force, of another": {"target": "/nowhere", "force": True, "owner": "4321"},
    "unknown owner": {"target": TARGET, "owner": "nobody-there"},
}
DRIFTS = {
    "pointed elsewhere": lambda path: (path.unlink(), path.symlink_to("/etc/passwd")),
    "chown": lambda path: os.lchown(path, 4, 4),
    "removed": Path.unlink,
    "renamed": lambda path: path.rename(path.with_name("elsewhere")),
    "replaced by a file": lambda path: (path.unlink(), path.write_text("x")),
    "replaced by a directory": lambda path: (path.unlink(), path.mkdir(), (path / "in").write_text("x")),
}


def cells() -> Iterator[Cell]:
    """Every state by every link, drifts, the ways there, and directories that cannot be replaced."""
    for wanted, properties in WANTED.items():
        for state, make in (STATES | LINKS).items():
            yield _cell(f"{state} / link {wanted}", make, properties, fails=_fails(state, wanted))
        if wanted == "unknown owner":
            continue
        for drift, act in DRIFTS.items():
            is_kept = drift.startswith("replaced") and "force" not in properties
            yield _cell(f"link {wanted} / {drift}", STATES["nothing"], properties, drift=act, fails=is_kept)
    yield _mounted()
    yield from _read_only()
    for above, fails in {
        "no parent": True,
        "a link of a stranger above": True,
        "a link above": False,
    }.items():
        yield _below(above, fails=fails)


def _cell(name, make, properties, *, drift=None, fails=False) -> Cell:
    def resources(place: Path) -> list[dict[str, object]]:
        return [{"file": [{str(place / "p"): {"ensure": "link"} | properties}]}]

    drifted = None if drift is None else lambda place: drift(place / "p")
    judge = partial(_wrong, "p", properties)
    return Cell(KIND, f"link, {name}", resources, judge, lambda place: make(place / "p"), drifted, fails)


def _mounted() -> Cell:
    """A directory with something mounted in it is part of nothing that a link replaces."""

    def make(place: Path) -> None:
        (place / "p/in").mkdir(parents=True)
        must("mount", "-t", "tmpfs", "none", place / "p/in")

    def resources(place: Path) -> list[dict[str, object]]:
        return [{"file": [{str(place / "p"): {"ensure": "link", "target": "x", "force": True}}]}]

    clean = lambda place: must("umount", place / "p/in")  # noqa: E731
    return Cell(
        KIND, "a mount inside / link by force", resources, lambda place: None, make, fails=True, clean=clean
    )


def _read_only() -> Iterator[Cell]:
    for state in ("nothing", "the link", "another link"):

        def make(place: Path, state: str = state) -> None:
            (place / "ro").mkdir()
            (STATES | LINKS)[state](place / "ro/p")
            must("mount", "--bind", place / "ro", place / "ro")
            must("mount", "-o", "remount,bind,ro", place / "ro")

        def resources(place: Path) -> list[dict[str, object]]:
            return [{"file": [{str(place / "ro/p"): {"ensure": "link", "target": TARGET}}]}]

        judge = partial(_wrong, "ro/p", WANTED["relative"])
        clean = lambda place: must("umount", place / "ro")  # noqa: E731
        name = f"{state}, read-only / link"
        yield Cell(KIND, name, resources, judge, make, fails=state != "the link", clean=clean)


def _below(above: str, *, fails: bool) -> Cell:
    def make(place: Path) -> None:
        (place / "real").mkdir()
        if above != "no parent":
            (place / "way").symlink_to("real")
        if above.startswith("a link of"):
            os.lchown(place / "way", 7, 7)

    def resources(place: Path) -> list[dict[str, object]]:
        return [{"file": [{str(place / "way/p"): {"ensure": "link", "target": TARGET}}]}]

    return Cell(
        KIND, f"{above} / link", resources, partial(_wrong, "way/p", WANTED["relative"]), make, fails=fails
    )


def _fails(state: str, wanted: str) -> bool:
    """By the table of docs/kinds/file.md."""
    if wanted == "unknown owner" or state == "device":
        return True
    is_link = state in LINKS or state.startswith("link to") or state == "dangling link"
    return not (is_link or state == "nothing" or wanted.startswith("by force"))


def _wrong(name: str, properties: dict[str, object], place: Path) -> str | None:
    path = place / name
    if not path.is_symlink():
        return "it is no link"
    seen = os.lstat(path)
    owner = {"root": "0"}.get(str(properties.get("owner")), properties.get("owner"))
    litter = [each.name for each in path.parent.iterdir() if ".reactor" in each.name]
    twin = place / "target"
    return first(
        differs("its target", os.readlink(path), properties["target"]),
        None if owner is None else differs("its owner", f"{seen.st_uid}", owner),
        differs("litter beside it", litter, []),
        differs(
            "the owner of what the old one led to",
            twin.exists() and twin.stat().st_uid,
            False if not twin.exists() else 0,
        ),
    )
