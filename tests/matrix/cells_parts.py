"""Cells of the kinds line, block and setting: what is in a file, by what is to be in it, by what is done afterwards."""

from __future__ import annotations

import configparser
import json
import os
import stat
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import yaml
from cell import Cell, differs, first

REST = b"# top\r\nother = 1\n"
"""What is in most files and must stay."""
BEGIN, END = b"# BEGIN reactor: part\n", b"# END reactor: part\n"
STATES: dict[str, bytes | None] = {
    "nothing": None,
    "empty": b"",
    "the rest": REST,
    "no final newline": REST + b"last = 2",
    "CRLF": b"# top\r\nother = 1\r\n",
    "byte order mark": b"\xef\xbb\xbf" + REST,
    "no text": REST + b"\xff\0\xfe\n",
    "as desired": REST + b"key = new\n",
    "another value": REST + b"key = old # why\nmore = 3\n",
    "commented": REST + b"#key = old\nmore = 3\n",
    "twice": b"key = old\n" + REST + b"key = older\n",
    "block": REST + BEGIN + b"one\ntwo\n" + END,
    "another block": REST + BEGIN + b"one\n" + END + b"more = 3\n",
    "lost marker": REST + BEGIN + b"one\n",
    "doubled marker": REST + BEGIN + BEGIN + END,
}
NAMES = {"line": "key = new", "block": "part", "setting": "key"}
WANTED: dict[str, tuple[str, dict[str, object]]] = {
    "line": ("line", {}),
    "line by pattern": ("line", {"match": r"^#?key = "}),
    "first line by pattern": ("line", {"match": r"^#?key = ", "replace": "first"}),
    "all lines by pattern": ("line", {"match": r"^#?key = ", "replace": "all"}),
    "line on top": ("line", {"insert_before": "BOF"}),
    "line after another": ("line", {"insert_after": "^other"}),
    "no line": ("line", {"ensure": "absent"}),
    "no lines by pattern": ("line", {"ensure": "absent", "match": "^key"}),
    "created line": ("line", {"create": True, "owner": "root", "group": "root", "mode": "0600"}),
    "validated line": ("line", {"validate": "grep new {path}"}),
    "refused line": ("line", {"validate": "false {path}"}),
    "a validator that is not there": ("line", {"validate": "/nowhere/x {path}"}),
    "block": ("block", {"content": "one\ntwo\n"}),
    "no block": ("block", {"ensure": "absent"}),
    "created block": ("block", {"content": "one\ntwo", "create": True}),
    "setting": ("setting", {"value": "new", "format": "ini"}),
    "no setting": ("setting", {"ensure": "absent", "format": "ini"}),
    "created setting": ("setting", {"value": "new", "format": "keyvalue", "create": True}),
    "of an unknown owner": ("line", {"create": True, "owner": "nobody-there"}),
}
DRIFTS: dict[str, Callable[[Path], object]] = {
    "emptied": lambda path: os.truncate(path, 0),
    "appended to": lambda path: path.write_bytes(path.read_bytes() + b"key = drift\n"),
    "replaced": lambda path: path.write_bytes(REST),
    "made read-only": lambda path: path.chmod(0o400),
}
FORMATS: dict[str, tuple[str, dict[str, str], Callable[[str], Mapping[str, object]]]] = {
    "json": ("f.json", {"empty": "", "object": '{"other": {"x": [1]}}\n', "value": '{"a": {"key": 1, "k": 2}}'}, json.loads),
    "toml": ("f.toml", {"empty": "", "table": "[other]\nx = [1]\n", "value": "[a]\nkey = 1 # c\nk = 2\n"}, tomllib.loads),
    "yaml": ("f.yaml", {"empty": "", "mapping": "other:\n  x: [1]\n", "value": "a:\n  key: 1 # c\n  k: 2\n"}, yaml.safe_load),
}  # fmt: skip
VALUES: dict[str, object] = {
    "number": 7,
    "string": "yes",
    "list": [1, "b"],
    "mapping": {"x": {"y": True}},
    "absent": None,
}


def _through_link(path: Path, owner: int = 0) -> None:
    target = path.with_name("target")
    target.write_bytes(REST)
    path.symlink_to(target)
    if owner:
        os.chown(path, owner, owner, follow_symlinks=False)
        path.parent.chmod(0o1777)


def _of_another(path: Path) -> None:
    path.write_bytes(REST)
    path.chmod(0o640)
    os.chown(path, 1234, 1234)


def _large(path: Path) -> None:
    path.touch()
    os.truncate(path, (64 << 20) + 1)


PLACES: dict[str, tuple[Callable[[Path], object], bool]] = {
    "a directory": (os.mkdir, True),
    "fifo": (os.mkfifo, True),
    "dangling link": (lambda path: path.symlink_to(path.with_name("nowhere")), True),
    "link": (_through_link, False),
    "link of another": (lambda path: _through_link(path, 1234), True),
    "of another": (_of_another, False),
    "UTF-16": (lambda path: path.write_bytes("a\n".encode("utf-16")), True),
    "too large": (_large, True),
}


def cells() -> Iterator[Cell]:
    """Every state by everything wanted, and every drift from what was reached."""
    for wanted in WANTED:
        for state, data in STATES.items():
            yield _cell(wanted, state, data)
        for drift in () if wanted in ALWAYS_REFUSED else DRIFTS:
            yield _cell(wanted, "the rest", REST, drift)
    for place, (make, fails) in PLACES.items():
        for wanted in ("line", "block", "setting"):
            judge = partial(_wrong, wanted, None)
            yield Cell(
                WANTED[wanted][0],
                f"{place}, {wanted}",
                partial(_resources, wanted),
                judge,
                partial(_at, make),
                None,
                fails,
            )
    for name in FORMATS:
        for state in FORMATS[name][1]:
            for value in VALUES:
                yield _typed(name, state, value)


def _at(make: Callable[[Path], object], place: Path) -> None:
    make(place / "f")


def _resources(wanted: str, place: Path) -> list[dict[str, object]]:
    kind, properties = WANTED[wanted]
    return [{kind: [{NAMES[kind]: {"path": str(place / "f"), **properties}}]}]


def _cell(wanted: str, state: str, data: bytes | None, drift: str | None = None) -> Cell:
    kind, properties = WANTED[wanted]

    def make(place: Path) -> None:
        if data is not None:
            (place / "f").write_bytes(data)

    name = " / ".join(filter(None, (state, wanted, drift)))
    act = None if drift is None else lambda place: DRIFTS[drift](place / "f")
    after = None if drift else data
    fails = _fails(wanted, kind, properties, state)
    return Cell(
        kind,
        name,
        partial(_resources, wanted),
        partial(_wrong, wanted, after, is_new=data is None),
        make,
        act,
        fails,
        "a validator judges the new file" if wanted == "refused line" else "",
    )


ALWAYS_REFUSED = {"refused line", "a validator that is not there"}


def _fails(wanted: str, kind: str, properties: Mapping[str, object], state: str) -> bool:
    is_absent = properties.get("ensure") == "absent"
    if state == "nothing":
        return wanted == "of an unknown owner" or not (is_absent or "create" in properties)
    if kind == "block":
        return state in ("lost marker", "doubled marker")
    return wanted in ALWAYS_REFUSED and state != "as desired"


def _wrong(wanted: str, before: bytes | None, place: Path, *, is_new: bool = False) -> str | None:
    """What is not right about the file: the part itself, and all lines that the part does not own."""
    path = place / "f"
    kind, properties = WANTED[wanted]
    is_absent = properties.get("ensure") == "absent"
    if not path.exists():
        return None if is_absent else "there is no file"
    if (
        wanted == "created line"
        and is_new
        and (fault := differs("the mode", stat.S_IMODE(path.stat().st_mode), 0o600))
    ):
        return fault
    data = path.read_bytes()
    lines = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").split(b"\n")
    return first(
        _wrong_block(lines, is_absent) if kind == "block" else _wrong_key(lines, wanted, is_absent),
        None if before is None else _touched(before, data, wanted),
        differs("the files", sorted({each.name for each in place.iterdir()} - {"target"}), ["f"]),
    )


def _wrong_block(lines: list[bytes], is_absent: bool) -> str | None:
    inside = [BEGIN.strip(), b"one", b"two", END.strip()]
    start = lines.index(inside[0]) if inside[0] in lines else None
    found = [] if start is None else lines[start : start + 4]
    return differs("the block", found, [] if is_absent else inside)


def _wrong_key(lines: list[bytes], wanted: str, is_absent: bool) -> str | None:
    keys = [line for line in lines if line.startswith(b"key")]
    if wanted in ("no setting", "no lines by pattern"):
        return differs("the keys", keys, [])
    if is_absent:
        return differs("whether the line is there", b"key = new" in keys, False)
    if "setting" in wanted:
        parser = configparser.ConfigParser(strict=True, inline_comment_prefixes=("#",), delimiters=("=",))
        parser.read_string("[x]\n" + b"\n".join(keys).decode())
        return differs("the value", parser["x"]["key"], "new")
    by_pattern = {
        "line by pattern": keys[-1:],
        "first line by pattern": keys[:1],
        "all lines by pattern": keys,
    }
    for line in by_pattern.get(wanted, ()):
        if fault := differs("the line", line, b"key = new"):
            return fault
    return differs("whether the line is there", b"key = new" in keys, True)


def _touched(before: bytes, after: bytes, wanted: str) -> str | None:
    """Whether a line of others was changed. The last one may get an end."""
    if "all lines" in wanted or "by pattern" in wanted:
        before, after = (data.replace(b"#key", b"key") for data in (before, after))
    found, kept = (_others(data) for data in (after, before))
    return differs("the rest", found, kept)


def _others(data: bytes) -> list[bytes]:
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    owned = (b"key", b"one", b"two", BEGIN.strip(), END.strip())
    return [line.removesuffix(b"\r") for line in lines if line.strip() and not line.startswith(owned)]


def _typed(name: str, state: str, value: str) -> Cell:
    base, texts, loads = FORMATS[name]
    wish = {"ensure": "absent"} if value == "absent" else {"value": VALUES[value]}

    def resources(place: Path) -> list[dict[str, object]]:
        return [{"setting": [{"a.key": {"path": str(place / base), **wish}}]}]

    def make(place: Path) -> None:
        (place / base).write_text(texts[state])

    def judge(place: Path) -> str | None:
        found = (
            loads((place / base).read_text() or "{}") if name != "toml" else loads((place / base).read_text())
        )
        expected = dict(loads(texts[state]) if texts[state] else {})
        inside = dict(expected.get("a", {}))
        if value == "absent":
            inside.pop("key", None)
        else:
            inside["key"] = VALUES[value]
        if inside or "a" in expected:
            expected["a"] = inside
        return differs("the data", found or {}, expected)

    return Cell("setting", f"{name}: {state}, {value}", resources, judge, make)
