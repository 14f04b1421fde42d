"""Cells of the kind file: what is at a path, by what it is to be, by what is done to it afterwards."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from cell import Cell, differs, first
from programs import must

KIND = "file"
TEXT = "as desired\n"
OWN = {"owner": "root", "group": "root", "mode": "0644"}


def _file(text: str = TEXT, mode: int = 0o644, owner: int = 0) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.write_text(text)
        os.chown(path, owner, owner)
        path.chmod(mode)

    return make


def _directory(mode: int = 0o755, *inside: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.mkdir()
        path.chmod(mode)
        for name in inside:
            (path / name).write_text("inside")

    return make


def _link_to(text: str, mode: int = 0o644) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        target = path.with_name("target")
        _file(text, mode)(target)
        path.symlink_to(target)

    return make


def _link_to_directory(path: Path) -> None:
    target = path.with_name("target")
    target.mkdir(mode=0o755)
    path.symlink_to(target)


def _hard_link(path: Path) -> None:
    _file("other")(path.with_name("twin"))
    os.link(path.with_name("twin"), path)


def _append(path: Path) -> None:
    with path.open("a") as file:
        file.write("more")


STATES = {
    "nothing": lambda path: None,
    "as desired": _file(),
    "other content": _file("other"),
    "longer": _file(TEXT * 1000),
    "empty": _file(""),
    "mode 0600": _file(mode=0o600),
    "mode 0666": _file(mode=0o666),
    "mode 0000": _file(mode=0),
    "setgid": _file(mode=0o2755),
    "of another": _file(owner=1234),
    "of another, other content": _file("other", owner=1234),
    "empty directory": _directory(),
    "directory 0700": _directory(0o700),
    "sticky directory": _directory(0o1755),
    "full directory": _directory(0o755, "a", "b"),
    "link to such a file": _link_to(TEXT),
    "link to another file": _link_to("other", 0o600),
    "link to a directory": _link_to_directory,
    "dangling link": lambda path: path.symlink_to(path.with_name("nowhere")),
    "link to itself": lambda path: path.symlink_to(path),
    "fifo": os.mkfifo,
    "socket": lambda path: os.mknod(path, stat.S_IFSOCK | 0o644),
    "device": lambda path: os.mknod(path, stat.S_IFCHR | 0o644, os.makedev(1, 3)),
    "hard link": _hard_link,
}
WANTED: dict[str, dict[str, object]] = {
    "content": {"ensure": "present", "content": TEXT, **OWN},
    "source": {"ensure": "present", "source": "{place}/source", **OWN},
    "template": {"ensure": "present", "template": "{place}/source", **OWN},
    "acl and capabilities": {
        "ensure": "present",
        "content": TEXT,
        **OWN,
        "mode": "0664",
        "acl": ["u:1234:rw"],
        "capabilities": "cap_net_raw=ep",
        "xattrs": {"user.a": "b"},
    },
    "directory with acl": {"ensure": "directory", "acl": ["g:7:rx", "d:u:7:rwx"], **OWN, "mode": "0775"},
    "attributes": {"ensure": "present", **OWN},
    "attributes of another": {"ensure": "present", "owner": "4321", "group": "4321", "mode": "0600"},
    "empty content": {"ensure": "present", "content": "", **OWN, "mode": "0400"},
    "validated": {"ensure": "present", "content": TEXT, "validate": "grep desired {path}", **OWN},
    "refused by its validator": {"ensure": "present", "content": TEXT, "validate": "false {path}", **OWN},
    "a validator that is not there": {
        "ensure": "present",
        "content": TEXT,
        "validate": "/nowhere/x {path}",
        **OWN,
    },
    "directory": {"ensure": "directory", "owner": "root", "group": "root", "mode": "0755"},
    "directory of another": {"ensure": "directory", "owner": "4321", "group": "4321", "mode": "0750"},
    "absent": {"ensure": "absent"},
    "absent by force": {"ensure": "absent", "force": True},
    "unknown owner": {"ensure": "present", "content": TEXT, **OWN, "owner": "nobody-there"},
    "unknown group": {"ensure": "present", "content": TEXT, **OWN, "group": "nobody-there"},
    "missing source": {"ensure": "present", "source": "{place}/no-source", **OWN},
    "missing template": {"ensure": "present", "template": "{place}/no-template", **OWN},
}
DIRECTORIES = ("empty directory", "directory 0700", "sticky directory", "full directory")
ODD = ("fifo", "socket", "dangling link", "link to itself")
DRIFTS = {
    "truncated": lambda path: os.truncate(path, 0),
    "appended to": _append,
    "chmod": lambda path: path.chmod(0o777),
    "chown": lambda path: os.chown(path, 4, 4),
    "removed": lambda path: shutil.rmtree(path) if path.is_dir() else path.unlink(),
    "renamed": lambda path: path.rename(path.with_name("elsewhere")),
    "replaced by a link": lambda path: (_removed(path), path.symlink_to("/etc/hostname")),
    "replaced by a directory": lambda path: (_removed(path), path.mkdir()),
    "replaced by a fifo": lambda path: (_removed(path), os.mkfifo(path)),
    "replaced by the same": lambda path: (_removed(path), _file()(path)),
}


def cells() -> Iterator[Cell]:
    """Every state by everything wanted, and every drift from what was reached."""
    for wanted, properties in WANTED.items():
        for state, make in STATES.items():
            yield _cell(f"{state} / {wanted}", make, properties, fails=_fails(state, wanted))
        if wanted in (
            "refused by its validator",
            "a validator that is not there",
            "unknown owner",
            "unknown group",
            "missing source",
            "missing template",
        ):
            continue
        for state in ("nothing", "other content", "of another"):
            if not _fails(state, wanted):
                yield from _drifting(state, wanted, properties)
    yield from _parents()
    yield from _unwritable()


def _unwritable() -> Iterator[Cell]:
    """On a file system that is mounted read-only: root may not write there either."""
    files = {"nothing": None, "as desired": TEXT, "other content": "other"}
    for state, text in files.items():
        for wanted in ("content", "source", "attributes", "attributes of another", "directory", "absent"):
            nothing_to_do = (state == "nothing" and wanted == "absent") or (
                state != "nothing"
                and (wanted == "attributes" or (state == "as desired" and wanted != "directory"))
            )
            done = nothing_to_do and (state, wanted) not in (
                ("as desired", "absent"),
                ("as desired", "attributes of another"),
            )
            yield _read_only(state, text, wanted, fails=not done)


def _read_only(state: str, text: str | None, wanted: str, *, fails: bool) -> Cell:
    def make(place: Path) -> None:
        (place / "source").write_text(TEXT)
        (place / "ro").mkdir()
        if text is not None:
            _file(text)(place / "ro/p")
        must("mount", "--bind", place / "ro", place / "ro")
        must("mount", "-o", "remount,bind,ro", place / "ro")

    def resources(place: Path) -> list[dict[str, object]]:
        texts = {key: _filled(value, place) for key, value in WANTED[wanted].items()}
        return [{"file": [{str(place / "ro/p"): texts}]}]

    judge = partial(_wrong_at, "ro/p", WANTED[wanted])
    clean = partial(_unmount, "ro")
    return Cell(KIND, f"{state}, read-only / {wanted}", resources, judge, make, None, fails, clean=clean)


def _unmount(name: str, place: Path) -> None:
    must("umount", place / name)


def _drifting(state: str, wanted: str, properties: dict[str, object]) -> Iterator[Cell]:
    for drift, act in DRIFTS.items():
        absent, directory = wanted.startswith("absent"), wanted.startswith("directory")
        if absent and not drift.startswith("replaced"):
            continue
        if directory and drift in ("truncated", "appended to"):
            continue
        fails = drift == "replaced by a directory" and not directory and not absent
        fails |= drift in ("replaced by a link", "replaced by a fifo") and wanted.startswith("attributes")
        yield _cell(f"{state} / {wanted} / {drift}", STATES[state], properties, drift=act, fails=fails)


def _parents() -> Iterator[Cell]:
    """The way to the path."""
    ways = {
        "no parent": lambda place: None,
        "a file above": lambda place: (place / "way").write_text(""),
        "a link above": lambda place: ((place / "real").mkdir(), (place / "way").symlink_to("real")),
        "a dangling link above": lambda place: (place / "way").symlink_to("nowhere"),
        "a link of a stranger above": lambda place: (
            (place / "real").mkdir(), (place / "way").symlink_to("real"), os.lchown(place / "way", 7, 7),
        ),
        "a directory of a stranger above": lambda place: ((place / "way").mkdir(), os.chown(place / "way", 7, 7)),
    }  # fmt: skip
    for way, make in ways.items():
        for wanted in ("content", "source", "attributes", "directory", "absent", "absent by force"):
            made = wanted == "directory" and way == "no parent"
            blind = wanted.startswith("absent") and way != "a link of a stranger above"
            good = way in ("a link above", "a directory of a stranger above") or blind or made
            yield _cell(
                f"{way} / {wanted}", make, WANTED[wanted], name_of="way/p", fails=not good, whole=True
            )
        for brought in ("content", "directory"):
            yield _brought(way, make, brought)


def _brought(way: str, make: Callable[[Path], object], wanted: str) -> Cell:
    """With a resource that makes the directory above: what is missing only yet is no failure foretold."""

    def resources(place: Path) -> list[dict[str, object]]:
        way_itself = {"ensure": "directory", "owner": "root", "group": "root", "mode": "0755"}
        files = [{str(place / "way"): way_itself}, {str(place / "way/p"): WANTED[wanted]}]
        return [{"file": files}]

    def wrong(place: Path) -> str | None:
        above = differs("the directory above", (place / "way").is_dir(), True)
        return above or _wrong(place / "way/p", WANTED[wanted])

    return Cell(KIND, f"{way}, brought / {wanted}", resources, wrong, make, fails=way.startswith("a link of"))


def _cell(name, make, properties, *, drift=None, fails=False, name_of="p", whole=False) -> Cell:

    def resources(place: Path) -> list[dict[str, object]]:
        texts = {key: _filled(value, place) for key, value in properties.items()}
        return [{"file": [{str(place / name_of): texts}]}]

    def state(place: Path) -> None:
        (place / "source").write_text(TEXT)
        make(place if whole else place / name_of)

    drifted = None if drift is None else lambda place: drift(place / name_of)
    judge = partial(_wrong_at, name_of, properties)
    refused = properties.get("validate") == "false {path}"
    reason = "a dry run starts no command but guards" if refused else ""
    return Cell(KIND, name, resources, judge, state, drifted, fails, reason)


def _wrong_at(name: str, properties: dict[str, object], place: Path) -> str | None:
    return _wrong(place / name, properties)


def _filled(value: object, place: Path) -> object:
    return value.replace("{place}", str(place)) if isinstance(value, str) else value


def _fails(state: str, wanted: str) -> bool:
    """By the table of docs/kinds/file.md."""
    if wanted in ("unknown owner", "unknown group", "missing source", "missing template"):
        return True
    if wanted.startswith(("refused by", "a validator")):
        return state not in ("as desired", "mode 0600", "mode 0000", "setgid")
    if wanted == "absent":
        return state == "full directory"
    if wanted.startswith("absent"):
        return False
    if wanted.startswith("directory"):
        return state == "device"
    if state in DIRECTORIES or state == "device":
        return True
    if not wanted.startswith("attributes"):
        return False
    if state in ODD or state.startswith("link to"):
        return not (wanted == "attributes" and state == "link to such a file")
    return False


def _removed(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()


def _wrong(path: Path, properties: dict[str, object]) -> str | None:
    if properties["ensure"] == "absent":
        return differs("that it is there", os.path.lexists(path), False)
    is_directory = properties["ensure"] == "directory"
    if not os.path.lexists(path):
        return "it is not there"
    seen = path.stat() if path.is_symlink() and "content" not in properties else os.lstat(path)
    kind = stat.S_ISDIR if is_directory else stat.S_ISREG
    wanted_text = properties.get("content", TEXT if {"source", "template"} & properties.keys() else None)
    owner = {"root": 0}.get(str(properties["owner"]), properties["owner"])
    lists = {"system.posix_acl_access", "system.posix_acl_default"}
    found = {
        "acl": len(lists.intersection(os.listxattr(path))),
        "capabilities": "security.capability" in os.listxattr(path),
        "xattrs": "user.a" in os.listxattr(path),
    }
    wanted = {"acl": 1 + is_directory, "capabilities": True, "xattrs": True}
    return first(
        *(differs(f"its {name}", found[name], wanted[name]) for name in properties.keys() & wanted.keys()),
        differs("its type as wanted", kind(seen.st_mode), True),
        differs("its mode", f"{seen.st_mode & 0o777:04o}", properties["mode"]),
        differs("its owner", f"{seen.st_uid}", f"{owner}"),
        differs("its group", f"{seen.st_gid}", f"{owner}"),
        None if wanted_text is None else differs("its content", path.read_text(), wanted_text),
        differs(
            "litter beside it", [each.name for each in path.parent.iterdir() if ".reactor" in each.name], []
        ),
    )
