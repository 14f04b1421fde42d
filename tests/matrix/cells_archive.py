"""Cells of the kind archive: what of it is there, by how it is to be fetched and unpacked, by what is done afterwards."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from cell import Cell, differs, first
from loopback import LoopbackServer

KIND = "archive"
INSIDE = {"app/run": b"#!/bin/sh\n", "app/data": b"data\n"}


def _packed() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as tar:
        for name, content in INSIDE.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), 0o755
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


BODY = _packed()
SUM = hashlib.sha256(BODY).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        is_there = self.path == "/app.tar.gz"
        body = BODY if is_there else b"no"
        self.send_response(200 if is_there else 404)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"one"')
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@cache
def _base() -> str:
    """Where the archive is served, as long as this process lives."""
    server = LoopbackServer(_Handler)
    server._thread.daemon = True
    server.__enter__()
    return server.base


STATES = {
    "nothing": "",
    "the archive": "archive",
    "another file": "wrong",
    "the archive, unpacked": "archive unpacked",
    "unpacked": "unpacked",
    "unpacked in part": "archive part",
    "of another": "archive chown",
    "a directory for the archive": "mkdir",
    "a link for the archive": "link",
}
EXTRACT = {"extract_parent": "{place}/out", "creates": "{place}/out/app/run"}
WANTED: dict[str, dict[str, object]] = {
    "fetched": {},
    "fetched by checksum": {"checksum": SUM},
    "unpacked": {"checksum": SUM, **EXTRACT},
    "unpacked, cleaned up": {"checksum": SUM, **EXTRACT, "cleanup": True},
    "unpacked without checksum": {**EXTRACT},
    "absent": {"ensure": "absent"},
    "another checksum": {"checksum": "0" * 64},
    "not on the server": {"url": "/no.tar.gz"},
    "owner who is not there": {"owner": "nobody-there"},
    "unpacked in a file": {
        "checksum": SUM,
        "extract_parent": "{place}/file",
        "creates": "{place}/file/app/run",
    },
}
DRIFTS = {
    "archive removed": "rm",
    "archive changed": "wrong",
    "unpacked file removed": "rm-unpacked",
    "owner changed": "chown",
}
FOREIGN = {"a directory for the archive"}


def cells() -> Iterator[Cell]:
    """Every state by everything wanted, and every drift from what was reached."""
    for wanted in WANTED:
        for state in STATES:
            yield _cell(state, wanted)
        if wanted.startswith(("fetched", "unpacked")) and "in a file" not in wanted:
            for drift in DRIFTS:
                yield _cell("nothing", wanted, drift)
    for state in ("nothing", "the archive"):
        yield _cell(state, "unpacked", brought=True)
        yield _cell(state, "fetched", nowhere=True)


def _cell(state, wanted, drift=None, *, brought=False, nowhere=False) -> Cell:
    directory = "way" if nowhere else "."

    def resources(place: Path) -> list[dict[str, object]]:
        properties = {
            "ensure": "present",
            "url": "/app.tar.gz",
            "owner": "root",
            "group": "root",
            **WANTED[wanted],
        }
        properties["url"] = _base() + str(properties["url"])
        filled = {
            key: value.replace("{place}", str(place)) if isinstance(value, str) else value
            for key, value in properties.items()
        }
        folder = {"ensure": "directory", "owner": "root", "group": "root", "mode": "0755"}
        files = [{"file": [{str(place / "out"): folder}]}] if brought else []
        return [*files, {"archive": [{str(place / directory / "app.tar.gz"): filled}]}]

    def make(place: Path) -> None:
        (place / "file").touch()
        if not brought:
            (place / "out").mkdir()
        if not nowhere:
            _act("" if brought and state == "nothing" else STATES[state], place)

    acts = None if drift is None else partial(_act, DRIFTS[drift])
    fails, reason = _end(state, wanted)
    extra = ", directory brought" * brought + ", no directory" * nowhere
    name = " / ".join(filter(None, (state + extra, wanted, drift)))
    return Cell(KIND, name, resources, partial(_wrong, wanted), make, acts, fails or nowhere, reason)


def _end(state: str, wanted: str) -> tuple[bool, str]:
    if state in FOREIGN:
        return True, ""
    if wanted == "another checksum":
        return True, "no server is asked before"
    if wanted == "not on the server":
        return state in (
            "nothing",
            "unpacked",
            "a link for the archive",
            "of another",
        ), "no server is asked before"
    return wanted in ("owner who is not there", "unpacked in a file"), ""


def _act(acts: str, place: Path) -> None:
    archive = place / "app.tar.gz"
    for act in acts.split():
        match act:
            case "archive":
                archive.write_bytes(BODY)
                archive.chmod(0o640)
            case "wrong":
                archive.unlink(missing_ok=True)
                archive.write_bytes(b"something else")
            case "mkdir":
                archive.mkdir()
            case "link":
                (place / "target").write_bytes(BODY)
                archive.symlink_to(place / "target")
            case "chown" if archive.exists():
                os.chown(archive, 9, 9)
            case "rm":
                archive.unlink(missing_ok=True)
            case "unpacked":
                (place / "out/app").mkdir(parents=True)
                for name, content in INSIDE.items():
                    (place / "out" / name).write_bytes(content)
            case "part":
                (place / "out/app").mkdir(parents=True)
            case "rm-unpacked":
                (place / "out/app/run").unlink(missing_ok=True)


def _wrong(wanted: str, place: Path) -> str | None:
    archive = place / "app.tar.gz"
    if wanted == "absent":
        return differs("that it is there", os.path.lexists(archive), False)
    unpacked = {
        name: (place / "out" / name).read_bytes() for name in INSIDE if (place / "out" / name).exists()
    }
    if wanted == "unpacked, cleaned up":
        return first(
            differs("that the archive is there", archive.exists(), False),
            differs("what it creates", "app/run" in unpacked, True),
        )
    faults = [differs("that it is there", archive.is_file(), True)]
    if ("checksum" in wanted and "without" not in wanted) or wanted == "unpacked":
        faults.append(differs("its checksum", hashlib.sha256(archive.read_bytes()).hexdigest(), SUM))
    if archive.exists():
        faults.append(differs("its owner", os.stat(archive).st_uid, 0))
    if wanted.startswith("unpacked"):
        faults.append(differs("what it creates", "app/run" in unpacked, True))
    return first(*faults)
