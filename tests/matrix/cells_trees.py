"""Cells of the kinds scaffold and apply: trees of files from templates, and manifests in manifests."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cell import Cell, differs

TEMPLATES = {"a.conf": "port {{ 8000 + 80 }}\n", "sub/b.conf": "b\n", "sub/deep/c.conf": "c\n"}
RENDERED = {"a.conf": "port 8080\n", "sub/b.conf": "b\n", "sub/deep/c.conf": "c\n"}
STATES = {
    "nothing": "",
    "an empty directory": "mkdir",
    "as desired": "same",
    "one differs": "same differ",
    "one is missing": "same remove",
    "one more": "same more",
    "one more in a directory": "same more-deep",
    "one is empty": "same truncate",
    "a link for a file": "same link",
    "a link for a directory": "link-directory",
    "a directory for a file": "same directory",
    "a file for a directory": "file-for-directory",
    "a file for the target": "file",
    "a file above the target": "file-above",
    "nothing above the target": "deep",
    "a link for the target": "link-target",
}
WANTED: dict[str, dict[str, object]] = {
    "present": {"ensure": "present"},
    "purged": {"ensure": "present", "purge": True},
    "absent": {"ensure": "absent"},
    "with owner and mode": {"ensure": "present", "owner": "7", "group": "7", "file_mode": "0640"},
    "a source that is not there": {"ensure": "present", "source": "{place}/nowhere"},
    "a broken template": {"ensure": "present", "source": "{place}/broken"},
    "a template without its value": {"ensure": "present", "source": "{place}/valueless"},
    "an owner who is not there": {"ensure": "present", "owner": "nobody-there"},
    "a command after it": {"ensure": "present", "post": [{"*.conf": "true {}"}]},
    "a command that is not there": {"ensure": "present", "post": [{"*.conf": "/nowhere/program {}"}]},
}
DRIFTS = ("differ", "remove", "more", "more-deep", "truncate", "link", "clear", "chmod")
REFUSED = {
    "a source that is not there",
    "a broken template",
    "a template without its value",
    "an owner who is not there",
}


def cells() -> Iterator[Cell]:
    """Every state by everything wanted, and every drift from what was reached."""
    for wanted in WANTED:
        for state in STATES:
            yield _scaffold(state, wanted)
        if wanted in ("present", "purged", "with owner and mode", "a command after it"):
            for drift in DRIFTS:
                yield _scaffold("nothing", wanted, drift)
    yield from _applied()


def _scaffold(state: str, wanted: str, drift: str | None = None) -> Cell:
    def resources(place: Path) -> list[dict[str, object]]:
        properties = {"source": "{place}/templates", **WANTED[wanted]}
        filled = {
            key: value.replace("{place}", str(place)) if isinstance(value, str) else value
            for key, value in properties.items()
        }
        return [{"scaffold": [{str(_out(place, state)): filled}]}]

    acts = None if drift is None else partial(_act, drift)
    name = " / ".join(filter(None, (state, wanted, drift)))
    make, judge = partial(_make, STATES[state]), partial(_wrong, wanted, state)
    return Cell("scaffold", name, resources, judge, make, acts, _fails(state, wanted, drift))


def _fails(state: str, wanted: str, drift: str | None) -> bool:
    if wanted == "a command that is not there":
        return state not in ("as desired", "one more", "one more in a directory")
    if wanted in REFUSED:
        return True
    odd = (
        "a file for a directory",
        "a link for a directory",
        "a file for the target",
        "a link for the target",
    )
    return state in (*odd, "a directory for a file", "a file above the target")


def _make(acts: str, place: Path) -> None:
    for source, files in {
        "templates": TEMPLATES, "broken": {"x": "{{ 1 +"}, "valueless": {"x": "{{ lookup('data.nothing') }}"},
    }.items():  # fmt: skip
        _grow(place / source, files)
    _act(acts, place)


def _grow(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _act(acts: str, place: Path) -> None:
    out = place / "out"
    for act in acts.split():
        match act:
            case "mkdir":
                out.mkdir()
            case "same":
                _grow(out, RENDERED)
            case "differ":
                (out / "sub/b.conf").write_text("other")
            case "remove":
                (out / "sub/b.conf").unlink()
            case "truncate":
                os.truncate(out / "a.conf", 0)
            case "more":
                (out / "more").write_text("more")
            case "more-deep":
                _grow(out, {"other/deep/more": "more"})
            case "link":
                (out / "a.conf").unlink()
                (out / "a.conf").symlink_to("/etc/hostname")
            case "link-directory":
                out.mkdir()
                (place / "elsewhere").mkdir()
                (out / "sub").symlink_to(place / "elsewhere")
            case "directory":
                (out / "a.conf").unlink()
                _grow(out, {"a.conf/inside": "x"})
            case "file-for-directory":
                _grow(out, {"sub": "a file"})
            case "file-above":
                (place / "way").write_text("a file")
            case "file":
                out.write_text("a file")
            case "link-target":
                (place / "elsewhere").mkdir()
                out.symlink_to(place / "elsewhere")
            case "clear":
                shutil.rmtree(out)
            case "chmod":
                (out / "a.conf").chmod(0o777)


def _texts(root: Path) -> dict[str, str]:
    found = {}
    for directory, _, names in os.walk(root):
        for name in names:
            path = Path(directory, name)
            if path.is_file() and not path.is_symlink():
                found[str(path.relative_to(root))] = path.read_text()
    return found


def _out(place: Path, state: str) -> Path:
    return place / ("way/to/out" if "above" in state else "out")


def _wrong(wanted: str, state: str, place: Path) -> str | None:
    there = _texts(_out(place, state))
    if wanted == "absent":
        return differs("what is left of it", [name for name in RENDERED if name in there], [])
    if fault := differs("the files", {name: there.get(name) for name in RENDERED}, RENDERED):
        return fault
    if wanted == "purged" and (fault := differs("all files", there, RENDERED)):
        return fault
    if wanted == "with owner and mode":
        seen = [os.lstat(_out(place, state) / name) for name in RENDERED]
        found = {(each.st_uid, each.st_gid, each.st_mode & 0o777) for each in seen}
        return differs("owners and modes", found, {(7, 7, 0o640)})
    return None


OWN = {"owner": "root", "group": "root", "mode": "0644"}
CHILDREN: dict[str, tuple[list[dict[str, object]], bool]] = {
    "one file": ([{"file": [{"{place}/x": {"ensure": "present", "content": "x", **OWN}}]}], False),
    "nothing": ([], False),
    "what fails": ([{"file": [{"{place}/no/x": {"ensure": "present", "content": "x", **OWN}}]}], True),
    "what fails, and more": (
        [{"file": [{"{place}/no/x": {"ensure": "present", "content": "x", **OWN}}, {"{place}/y": {"ensure": "absent"}}]}],
        True,
    ),
    "a way and what is at its end": (
        [{"file": [
            {"{place}/way": {"ensure": "directory", **OWN, "mode": "0755"}},
            {"{place}/way/x": {"ensure": "present", "content": "x", **OWN}},
        ]}],
        False,
    ),
    "a command": ([{"exec": [{"go": {"command": "touch {place}/x", "creates": "{place}/x"}}]}], False),
}  # fmt: skip
CHILD_STATES = {"nothing": {}, "as desired": {"x": "x"}, "another": {"x": "other", "y": "y"}}


def _applied() -> Iterator[Cell]:
    for child, (manifest, fails) in CHILDREN.items():
        for state, files in CHILD_STATES.items():
            for after in (False, True):
                yield _apply(child, manifest, state, files, fails=fails, after=after)


def _apply(child, manifest, state, files, *, fails: bool, after: bool) -> Cell:
    """``after``: something requires the child manifest."""

    def resources(place: Path) -> list[dict[str, object]]:
        text = json.dumps({"resources": manifest}).replace("{place}", str(place))
        (place.parent / "child.yaml").write_text(text)
        later = {
            "command": f"touch {place}/later",
            "creates": f"{place}/later",
            "require": ["apply#child.yaml"],
        }
        return [{"apply": [{"child.yaml": {}}]}, *([{"exec": [{"later": later}]}] if after else [])]

    def wrong(place: Path) -> str | None:
        there = _texts(place)
        wanted = {
            "one file": ("x", "x"), "a way and what is at its end": ("way/x", "x"),
        }.get(child)  # fmt: skip
        fault = wanted and differs("the file", there.get(wanted[0]), wanted[1])
        return fault or (differs("that it went on", "later" in there, True) if after else None)

    name = f"{state} / {child}{' / with more after it' if after else ''}"
    return Cell("apply", name, resources, wrong, lambda place: _grow(place, files), fails=fails)
