"""Cells of the kind cron: a file of its own and the table of a user, by what is there and what is wanted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from cell import Cell, differs, first

FILE, TABLE = Path("/etc/cron.d/matrix"), Path("/var/spool/cron/crontabs/games")
GAMES = 5
LINE = "0 3 * * * /bin/true"
MARK = "# reactor: matrix"
WANTED: dict[str, dict[str, object]] = {
    "job": {"command": "/bin/true", "schedule": "0 3 * * *"},
    "fields": {"command": "/bin/true", "minute": 0, "hour": "3"},
    "percent": {"command": "date +%F", "schedule": "@daily"},
    "absent": {"ensure": "absent"},
    "another user": {"command": "/bin/true", "schedule": "0 3 * * *", "user": "nobody-there"},
}
FILES: dict[str, str | None] = {
    "no file": None, "empty": "", "another job": "@hourly root false\n", "an odd file": "caf\udce9\n",
    "a symlink": None, "a wrong mode": LINE, "a wrong owner": LINE,
}  # fmt: skip
TABLES: dict[str, str | None] = {
    "no table": None, "empty table": "", "other jobs": "MAILTO=x\n@daily false\n", "no end": "@daily false",
    "its job": f"@daily false\n{MARK}\n{LINE}\n", "its job without its mark": f"@daily false\n{LINE}\n",
    "its job changed": f"@daily false\n{MARK}\n5 5 * * * /bin/false\n", "its mark alone": f"@daily false\n{MARK}\n",
    "twice": f"{MARK}\n{LINE}\n@daily false\n{MARK}\n{LINE}\n", "CRLF": "@daily false\r\n", "odd": "# caf\udce9\n@daily false\n",
}  # fmt: skip
FILE_DRIFTS: dict[str, Callable[[Path], object]] = {
    "removed": lambda path: path.unlink(),
    "changed": lambda path: path.write_text("@hourly root true\n"),
    "mode": lambda path: path.chmod(0o666),
    "owner": lambda path: os.chown(path, GAMES, GAMES),
}
TABLE_DRIFTS: dict[str, Callable[[Path], object]] = {
    "removed": lambda path: path.unlink(),
    "emptied": lambda path: path.write_text(""),
    "mode": lambda path: path.chmod(0o644),
    "job added": lambda path: path.write_text(f"{path.read_text()}@daily false\n"),
}


def cells() -> Iterator[Cell]:
    """Every state by everything wanted, and every drift from what was reached."""
    for wanted, properties in WANTED.items():
        fails = wanted == "another user"
        for state in FILES:
            yield _cell("system", state, wanted, properties, fails=fails)
        for state in TABLES:
            yield _cell("user", state, wanted, {"user": "games"} | properties, fails=fails)
        for drift in () if fails or wanted == "absent" else FILE_DRIFTS:
            yield _cell("system", "no file", wanted, properties, drift)
        for drift in () if fails or wanted == "absent" else TABLE_DRIFTS:
            yield _cell("user", "other jobs", wanted, {"user": "games"} | properties, drift)


def _cell(table, state, wanted, properties, drift=None, *, fails=False) -> Cell:
    name = " / ".join(filter(None, (table, state, wanted, drift)))

    def resources(place: Path) -> list[dict[str, object]]:
        return [{"cron": [{"matrix": {"table": table, **properties}}]}]

    path, drifts = (FILE, FILE_DRIFTS) if table == "system" else (TABLE, TABLE_DRIFTS)
    acts = None if drift is None else lambda place: drifts[drift](path)
    judge = partial(_file_wrong if table == "system" else _table_wrong, state, wanted, drift)
    return Cell("cron", name, resources, judge, partial(_make, state), acts, fails, "", _look, _clean)


def _make(state: str, place: Path) -> None:
    for path in (FILE, TABLE):
        if path.parent.exists():
            shutil.copytree(path.parent, place.parent / path.parent.name, dirs_exist_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
    if state == "a symlink":
        (place / "elsewhere").write_text("untouched\n")
        FILE.symlink_to(place / "elsewhere")
    for path, texts in ((FILE, FILES), (TABLE, TABLES)):
        if (text := texts.get(state)) is not None:
            path.write_bytes(os.fsencode(text))
            path.chmod(0o600 if path == TABLE or state == "a wrong mode" else 0o644)
            if path == TABLE or state == "a wrong owner":
                os.chown(path, GAMES, GAMES)


def _look(place: Path) -> object:
    return [
        (path.lstat().st_mode, path.lstat().st_ino, path.read_bytes()) if path.exists() else None
        for path in (FILE, TABLE)
    ]


def _clean(place: Path) -> None:
    for path in (FILE, TABLE):
        path.unlink(missing_ok=True)


def _line(wanted: str, user: str) -> str:
    schedule, command = ("@daily", "date +\\%F") if wanted == "percent" else ("0 3 * * *", "/bin/true")
    return " ".join(filter(None, (schedule, user, command)))


def _file_wrong(state: str, wanted: str, drift: str | None, place: Path) -> str | None:
    if state == "a symlink" and (place / "elsewhere").read_text() != "untouched\n":
        return "what the symlink leads to was changed"
    if wanted == "absent":
        return differs("that the file is there", os.path.lexists(FILE), False)
    status = FILE.lstat()
    return first(
        differs("the file", FILE.read_text().splitlines()[1:], [_line(wanted, "root")]),
        differs("mode and owner", (status.st_mode, status.st_uid, status.st_gid), (0o100644, 0, 0)),
    )


def _table_wrong(state: str, wanted: str, drift: str | None, place: Path) -> str | None:
    found = os.fsdecode(TABLE.read_bytes()).splitlines() if TABLE.exists() else []
    ours = [found[at + 1] for at, line in enumerate(found[:-1]) if line == MARK]
    faults = [differs("the jobs", ours, [] if wanted == "absent" else [_line(wanted, "")])]
    faults.append(differs("the number of marks", found.count(MARK), len(ours)))
    if wanted in ("job", "fields"):
        faults.append(differs("the number of lines of the job", found.count(LINE), 1))
    text = TABLES[state] or ""
    kept = "@daily false" in text and drift not in ("removed", "emptied")
    kept |= drift == "job added"
    faults.append(differs("that the other job is there", "@daily false" in found, kept))
    if TABLE.exists() and wanted != "absent":
        faults.append(differs("the mode", TABLE.stat().st_mode, 0o100600))
        faults.append(differs("the owner", TABLE.stat().st_uid, GAMES))
    return first(*faults)
