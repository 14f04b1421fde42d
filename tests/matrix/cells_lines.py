"""Cells of the kinds that own single lines of a file: keys of SSH, known hosts, names of hosts."""

from __future__ import annotations

import base64
import hmac
import os
import random
import re
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from cell import Cell, differs, first


def _key(seed: int) -> str:
    parts = (b"ssh-ed25519", random.Random(seed).randbytes(32))
    return (
        "ssh-ed25519 "
        + base64.b64encode(b"".join(bytes([0, 0, 0, len(part)]) + part for part in parts)).decode()
    )


def _hashed(name: str) -> str:
    digest = hmac.digest(bytes(20), name.encode(), "sha1")
    return "|1|" + "|".join(base64.b64encode(part).decode() for part in (bytes(20), digest))


KEY, OTHER = _key(1), _key(2)
ABSENT = "absent"

KEY_STATES: dict[str, str | None] = {
    "no file": None,
    "empty": "",
    "the key": f"{KEY} ada\n",
    "the key, no end": f"{KEY} ada",
    "another comment": f"{KEY} was eve\n",
    "options": f'no-pty,from="10.0.0.0/8" {KEY} ada\n',
    "twice": f"{KEY} ada\n# a note\nno-pty {KEY} ada\n",
    "another key": f"{OTHER} bob\n",
    "between others": f"# a note\n{OTHER} bob\n\n{KEY} ada\nnonsense\n",
    "CRLF": f"{OTHER} bob\r\n{KEY} ada\r\n",
    "a key with an odd line": f"caf\udce9 \udcff\n{KEY} ada\n",
}
KEY_WANTED: dict[str, dict[str, object]] = {
    "key": {},
    "comment": {"comment": "ada"},
    "options": {"options": ["no-pty", 'from="10.0.0.0/8"']},
    "exclusive": {"exclusive": True},
    "absent": {"ensure": "absent"},
}
KEY_DRIFTS: dict[str, Callable[[Path], object]] = {
    "removed": lambda path: path.unlink(),
    "emptied": lambda path: path.write_text(""),
    "an option added": lambda path: path.write_text(
        re.sub(f"(?m)^.*{re.escape(KEY)}", f"pty {KEY}", path.read_text())
    ),
    "another key added": lambda path: path.write_text(f"{path.read_text()}{OTHER} eve\n"),
    "writable by all": lambda path: path.chmod(0o666),
}


HOST_STATES: dict[str, str | None] = {
    "no file": None,
    "empty": "",
    "known": f"git.example.com {KEY}\n",
    "known, no end": f"git.example.com {KEY} a comment",
    "another key": f"git.example.com {OTHER}\n",
    "another key, with others": f"web,git.example.com,192.0.2.1 {OTHER} note\n",
    "an alias only": f"192.0.2.7 {KEY}\n",
    "hashed": f"{_hashed('git.example.com')} {KEY}\n",
    "hashed, another key": f"{_hashed('git.example.com')} {OTHER}\n{_hashed('web')} {OTHER}\n",
    "revoked": f"@revoked git.example.com {OTHER}\n",
    "between others": f"# a note\nweb {OTHER}\r\n*.example.com {OTHER}\nGIT.example.com {KEY}\ncaf\udce9\n",
    "twice": f"git.example.com {OTHER}\ngit.example.com {KEY}\n",
}
HOST_WANTED: dict[str, dict[str, object]] = {
    "known": {"key": KEY},
    "alias": {"key": KEY, "aliases": ["192.0.2.7"]},
    "absent": {"ensure": "absent"},
    "absent by key": {"ensure": "absent", "key": KEY},
}
HOST_DRIFTS: dict[str, Callable[[Path], object]] = {
    "removed": lambda path: path.unlink(),
    "another key added": lambda path: path.write_bytes(
        path.read_bytes() + f"git.example.com {OTHER}\n".encode()
    ),
    "another host added": lambda path: path.write_bytes(path.read_bytes() + f"db {OTHER}\n".encode()),
}


HOSTS, LIMITS = Path("/etc/hosts"), Path("/etc/security/limits.d/matrix.conf")
LOCAL = "127.0.0.1\tlocalhost\n"
NAME_STATES: dict[str, str] = {
    "usual": LOCAL,
    "no end": LOCAL.strip(),
    "right": f"{LOCAL}10.0.0.5 db.internal db\n",
    "another address": f"{LOCAL}10.0.0.9 db.internal db # old\n",
    "a name of another host": f"{LOCAL}10.0.0.9 web db.internal mail\n",
    "an alias of another host": f"{LOCAL}10.0.0.9 db web\n",
    "twice": f"{LOCAL}10.0.0.5 db.internal\n10.0.0.5 db.internal db\n",
    "between others": f"# caf\udce9\r\n{LOCAL}10.0.0.9 web\n\n10.0.0.5 db.internal # mine\n999.9.9.9 db.internal\n",
    "v6": f"{LOCAL}2001:db8::9 db.internal\n",
}
NAME_WANTED: dict[str, dict[str, object]] = {
    "address": {"ip": "10.0.0.5"},
    "alias": {"ip": "10.0.0.5", "aliases": ["db"]},
    "absent": {"ensure": "absent"},
    "absent by address": {"ensure": "absent", "ip": "10.0.0.5"},
}
NAME_DRIFTS: dict[str, Callable[[], object]] = {
    "address changed": lambda: HOSTS.write_bytes(HOSTS.read_bytes() + b"10.0.0.7 db.internal\n"),
    "emptied": lambda: HOSTS.write_text(LOCAL),
    "another host added": lambda: HOSTS.write_bytes(HOSTS.read_bytes() + b"10.0.0.9 mail\n"),
}
LIMITS_STATES: dict[str, str | None] = {
    "no file": None,
    "empty": "",
    "others": "* - nofile 7\n",
    "odd": "caf\udce9",
}
LIMITS_WANTED: dict[str, dict[str, object]] = {
    "limits": {"nofile": 65536, "nproc": {"soft": 1, "hard": 2}},
    "of a group": {"domain": "@games", "core": "unlimited"},
    "absent": {"ensure": "absent"},
}
LIMITS_DRIFTS: dict[str, Callable[[], object]] = {
    "removed": LIMITS.unlink,
    "changed": lambda: LIMITS.write_text("* - nofile 1\n"),
    "mode": lambda: LIMITS.chmod(0o666),
}


def cells() -> Iterator[Cell]:
    """Every state by everything wanted, and every drift from what was reached."""
    for wanted, properties in NAME_WANTED.items():
        for state in NAME_STATES:
            yield _host(state, wanted, properties)
        for drift in NAME_DRIFTS:
            yield _host("between others", wanted, properties, drift)
    for wanted, properties in LIMITS_WANTED.items():
        for state in LIMITS_STATES:
            yield _limits(state, wanted, properties)
        for drift in () if wanted == ABSENT else LIMITS_DRIFTS:
            yield _limits("no file", wanted, properties, drift)
    for wanted, properties in HOST_WANTED.items():
        for state in HOST_STATES:
            yield _known(state, wanted, properties)
        for drift in HOST_DRIFTS:
            yield _known("between others", wanted, properties, drift)
    for wanted, properties in KEY_WANTED.items():
        for state in KEY_STATES:
            yield _authorized(state, wanted, properties)
        for drift in KEY_DRIFTS if wanted != ABSENT else ():
            yield _authorized("between others", wanted, properties, drift)


def _authorized(state: str, wanted: str, properties: dict[str, object], drift: str | None = None) -> Cell:
    name = " / ".join(filter(None, (state, wanted, drift)))

    def resources(place: Path) -> list[dict[str, object]]:
        path = {"user": "root", "key": KEY, "path": str(place / "keys"), "strict_modes": False}
        return [{"authorized_key": [{"laptop": {**path, **properties}}]}]

    make = partial(_write, KEY_STATES[state])
    acts = None if drift is None else lambda place: KEY_DRIFTS[drift](place / "keys")
    judge = partial(_key_wrong, KEY_STATES[state], wanted, drift)
    return Cell("authorized_key", name, resources, judge, make, acts)


def _write(text: str | None, place: Path) -> None:
    if text is not None:
        (place / "keys").write_bytes(os.fsencode(text))
        (place / "keys").chmod(0o600)


def _key_wrong(text: str | None, wanted: str, drift: str | None, place: Path) -> str | None:
    path = place / "keys"
    found = os.fsdecode(path.read_bytes()).split("\n") if path.exists() else []
    found = [line.rstrip("\r") for line in found if line.strip()]
    ours = [line for line in found if KEY in line]
    if wanted == ABSENT:
        faults = [differs("lines with the key", ours, [])]
    else:
        before = (text or "").splitlines()
        line = next((each.rstrip("\r") for each in before if KEY in each), None)
        kept = "laptop" if line is None or drift in ("removed", "emptied") else line.partition(KEY)[2].strip()
        comment = "ada" if wanted == "comment" else kept
        options = 'no-pty,from="10.0.0.0/8" ' if wanted == "options" else ""
        faults = [differs("the line", ours, [f"{options}{KEY} {comment}"])]
        faults.append(differs("the mode", path.stat().st_mode & 0o022, 0))
    if drift in ("removed", "emptied"):
        return first(*faults)
    others = [line.rstrip("\r") for line in (text or "").split("\n") if line.strip() and KEY not in line]
    others += [f"{OTHER} eve"] if drift == "another key added" else []
    others = [line for line in others if wanted != "exclusive" or OTHER not in line]
    return first(*faults, differs("the other lines", [line for line in found if KEY not in line], others))


def _known(state: str, wanted: str, properties: dict[str, object], drift: str | None = None) -> Cell:
    name = " / ".join(filter(None, (state, wanted, drift)))

    def resources(place: Path) -> list[dict[str, object]]:
        return [{"known_host": [{"git.example.com": {"path": str(place / "keys"), **properties}}]}]

    make = partial(_write, HOST_STATES[state])
    acts = None if drift is None else lambda place: HOST_DRIFTS[drift](place / "keys")
    judge = partial(_host_wrong, HOST_STATES[state], wanted, drift)
    return Cell("known_host", name, resources, judge, make, acts)


def _host_wrong(text: str | None, wanted: str, drift: str | None, place: Path) -> str | None:
    """What ssh-keygen finds, and whether every other line is as it was."""
    path = place / "keys"
    keys = {name: _found_keys(path, name) for name in ("git.example.com", "192.0.2.7", "web")}
    there = wanted in ("known", "alias")
    faults = [differs("the keys", keys["git.example.com"] - {f"@revoked {OTHER}"}, {KEY} if there else set())]
    if wanted == "alias":
        faults.append(differs("the keys of the alias", keys["192.0.2.7"], {KEY}))
    if drift == "removed":
        return first(*faults)
    if text is not None and re.search(r"(?m)^web|\|1\|.*\n\|1\|", text):
        faults.append(differs("the keys of web", keys["web"], {OTHER}))
    found = path.read_bytes() if path.exists() else b""
    kept = [line for line in os.fsencode(text or "").splitlines(keepends=True) if line[:1] in b"#*@c"]
    faults.append(differs("other lines", [line for line in kept if line not in found], []))
    return first(*faults)


def _found_keys(path: Path, name: str) -> set[str]:
    """The keys that ssh-keygen finds for a name, but for those of patterns."""
    done = subprocess.run(["ssh-keygen", "-F", name, "-f", path], capture_output=True, check=False)
    lines = (os.fsdecode(line).split() for line in done.stdout.splitlines() if line[:1] != b"#")
    return {" ".join(_key_of(line)) for line in lines if "*" not in line[0]}


def _key_of(line: list[str]) -> list[str]:
    at = line.index("ssh-ed25519")
    return line[: at - 1] + line[at : at + 2]


def _host(state: str, wanted: str, properties: dict[str, object], drift: str | None = None) -> Cell:
    name = " / ".join(filter(None, (state, wanted, drift)))

    def resources(place: Path) -> list[dict[str, object]]:
        return [{"host": [{"db.internal": properties}]}]

    def make(place: Path) -> None:
        (place.parent / "hosts").write_bytes(HOSTS.read_bytes())
        HOSTS.write_bytes(os.fsencode(NAME_STATES[state]))

    def clean(place: Path) -> None:
        HOSTS.write_bytes((place.parent / "hosts").read_bytes())

    acts = None if drift is None else lambda place: NAME_DRIFTS[drift]()
    judge = partial(_name_wrong, state, wanted, drift)
    return Cell(
        "host", name, resources, judge, make, acts, look=lambda place: HOSTS.read_bytes(), clean=clean
    )


def _name_wrong(state: str, wanted: str, drift: str | None, place: Path) -> str | None:
    found = [os.fsdecode(line).split("#")[0].split() for line in HOSTS.read_bytes().splitlines()]
    there = {
        name: {line[0] for line in found if name in line[1:]} - {"999.9.9.9"}
        for name in ("db.internal", "db", "web", "mail")
    }
    v6 = {"2001:db8::9"} if state == "v6" and wanted != "absent" else set()
    right = {"10.0.0.5"} if wanted in ("address", "alias") else set()
    before = os.fsencode(NAME_STATES[state])
    if wanted == "absent by address" and state in ("another address", "a name of another host"):
        right = set()
    faults = [differs("the addresses", there["db.internal"] - v6, right)]
    if wanted == "alias":
        faults.append(differs("the addresses of the alias", there["db"], {"10.0.0.5"}))
    if drift == "emptied":
        return first(*faults)
    for name in ("web", "mail"):
        was = name.encode() in before or (name == "mail" and drift == "another host added")
        faults.append(differs(f"that {name} is there", there[name], {"10.0.0.9"} if was else set()))
    kept = [
        line for line in before.splitlines() if line[:1] == b"#" or b"localhost" in line or b"999" in line
    ]
    lines = HOSTS.read_bytes().splitlines()
    return first(*faults, differs("lost lines", [line for line in kept if line not in lines], []))


def _limits(state: str, wanted: str, properties: dict[str, object], drift: str | None = None) -> Cell:
    name = " / ".join(filter(None, (state, wanted, drift)))

    def resources(place: Path) -> list[dict[str, object]]:
        return [{"limits": [{"matrix": properties}]}]

    def make(place: Path) -> None:
        LIMITS.parent.mkdir(parents=True, exist_ok=True)
        LIMITS.unlink(missing_ok=True)
        if (text := LIMITS_STATES[state]) is not None:
            LIMITS.write_bytes(os.fsencode(text))

    def look(place: Path) -> object:
        return (LIMITS.stat().st_mode, LIMITS.read_bytes()) if LIMITS.exists() else None

    acts = None if drift is None else lambda place: LIMITS_DRIFTS[drift]()
    judge = partial(_limits_wrong, wanted)
    clean = lambda place: LIMITS.unlink(missing_ok=True)  # noqa: E731
    return Cell("limits", name, resources, judge, make, acts, look=look, clean=clean)


def _limits_wrong(wanted: str, place: Path) -> str | None:
    if wanted == ABSENT:
        return differs("that the file is there", LIMITS.exists(), False)
    lines = {
        "limits": ["matrix - nofile 65536", "matrix soft nproc 1", "matrix hard nproc 2"],
        "of a group": ["@games - core unlimited"],
    }
    return first(
        differs("the lines", LIMITS.read_text().splitlines()[1:], lines[wanted]),
        differs("the mode", LIMITS.stat().st_mode & 0o7777, 0o644),
    )
