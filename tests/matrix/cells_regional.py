"""Cells of the kinds timezone, locale, keyboard and ntp: files of /etc, by what they are to say."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cell import Cell, differs, first
from programs import must, said

ZONES = "/usr/share/zoneinfo"
LINKS = {
    "as desired": f"{ZONES}/Europe/Vienna", "as systemd writes it": f"..{ZONES}/Europe/Vienna", "another zone": f"{ZONES}/Asia/Tokyo",
    "leads nowhere": f"{ZONES}/No/Where", "leads elsewhere": "/etc/hostname", "no link": None, "a copy": "",
}  # fmt: skip
ZONE_FILES = {
    "its file as desired": "Europe/Vienna\n",
    "another file": "Asia/Tokyo\n",
    "no file": None,
    "no end of the line": "Asia/Tokyo",
}
DEFAULTS = {
    "no file": None, "empty": "", "as desired": "LANG=C.UTF-8\n", "another": '#  made by hand\nLANG="POSIX"\nLC_TIME=C\n',
    "no end of the line": "LC_NUMERIC=C", "twice": "LANG=C\nLANG=POSIX\n", "with carriage returns": "LANG=C\r\nLC_TIME=C\r\n",
}  # fmt: skip
DEFAULTS_WANTED: dict[str, dict[str, object]] = {
    "default": {"default": True}, "with variables": {"default": True, "variables": {"LC_TIME": "POSIX"}},
}  # fmt: skip
LISTS = {
    "no list": None,
    "a comment": "# de_AT ISO-8859-1\n# de_AT.UTF-8 UTF-8\n",
    "listed": "de_AT.UTF-8 UTF-8\n",
    "empty": "",
}
KEYBOARDS = {
    "no file": None, "empty": "", "another": 'XKBMODEL="pc105"\nXKBLAYOUT="us"\nXKBVARIANT="intl"\nXKBOPTIONS="ctrl:nocaps"\n',
    "as desired": "XKBLAYOUT=de\nXKBVARIANT=nodeadkeys\n", "no end of the line": "XKBLAYOUT=us",
}  # fmt: skip
KEYBOARDS_WANTED: dict[str, dict[str, object]] = {
    "layout": {}, "variant": {"variant": "nodeadkeys"}, "all": {"variant": "nodeadkeys", "model": "pc104", "options": ["ctrl:nocaps"]},
}  # fmt: skip
SERVERS_STATES = {"no file": None, "empty": "", "another": "[Time]\nNTP=x.example\n"}
SERVERS_WANTED: dict[str, dict[str, object]] = {
    "servers": {"servers": ["a.example", "192.0.2.1"]}, "with fallback": {"servers": "a.example", "fallback": ["b.example"]},
    "absent": {"ensure": "absent"}, "of a chrony that is not there": {"servers": "a.example", "provider": "chrony"},
}  # fmt: skip
LOCALTIME, TIMEZONE = Path("/etc/localtime"), Path("/etc/timezone")
LOCALE, LIST = Path("/etc/default/locale"), Path("/etc/locale.gen")
KEYBOARD, SERVERS = Path("/etc/default/keyboard"), Path("/etc/systemd/timesyncd.conf.d/reactor.conf")


def cells() -> Iterator[Cell]:
    """Every state by everything wanted, and every drift from what was reached."""
    for file, text in ZONE_FILES.items():
        for link, target in LINKS.items():
            make = partial(_zone, target, text)
            yield _cell("timezone", "Europe/Vienna", f"{link}, {file}", "zone", {}, make)
            yield _cell(
                "timezone", "Europe/Vienna", "as desired", "zone", {}, _nothing, (f"{link}, {file}", make)
            )
        yield _cell("timezone", "No/Zone", file, "no such zone", {}, partial(_zone, "", text), fails=True)
    for wanted, properties in DEFAULTS_WANTED.items():
        for state, text in DEFAULTS.items():
            make = partial(_write, LOCALE, text)
            yield _cell("locale", "C.UTF-8", state, wanted, properties, make)
            yield _cell("locale", "C.UTF-8", "as it is", wanted, properties, _nothing, (state, make))
    for state, text in LISTS.items():
        make = partial(_write, LIST, text)
        yield _cell("locale", "de_AT.UTF-8", f"list: {state}", "made", {}, make)
        yield _cell("locale", "de_AT.UTF-8", f"list: {state}", "absent", {"ensure": "absent"}, make)
        yield _cell("locale", "xx_YY.UTF-8", f"list: {state}", "no such locale", {}, make, fails=True)
    for wanted, properties in KEYBOARDS_WANTED.items():
        for state, text in KEYBOARDS.items():
            make = partial(_write, KEYBOARD, text)
            yield _cell("keyboard", "de", state, wanted, properties, make)
            yield _cell("keyboard", "de", "as it is", wanted, properties, _nothing, (state, make))
    for wanted, properties in SERVERS_WANTED.items():
        lost = "not there" in wanted
        for state, text in SERVERS_STATES.items():
            make = partial(_write, SERVERS, text)
            yield _cell("ntp", "pool", state, wanted, properties, make, fails=lost)
            if not lost:
                yield _cell("ntp", "pool", "as it is", wanted, properties, _nothing, (state, make))


def _cell(kind, name, state, wanted, properties, make, drift=None, *, fails=False) -> Cell:
    resources = partial(_same, [{kind: [{name: properties}]}])
    title = " / ".join(filter(None, (f"{name}: {state}", wanted, drift and f"then {drift[0]}")))
    judge = partial(_JUDGES[kind], wanted, properties)
    acts = None if drift is None else drift[1]
    return Cell(kind, title, resources, judge, partial(_prepare, make), acts, fails, look=_look, clean=_clean)


def _same(manifest, place: Path):
    return manifest


def _nothing(place: Path) -> None:
    """What the machine has."""


def _prepare(make, place: Path) -> None:
    for path in (LOCALTIME, TIMEZONE, LOCALE, LIST, KEYBOARD):
        if os.path.lexists(path):
            must("cp", "-a", path, place / path.name)
    make(place)


def _zone(target: str | None, text: str | None, place: Path) -> None:
    LOCALTIME.unlink(missing_ok=True)
    if target == "":
        shutil.copy(f"{ZONES}/Europe/Vienna", LOCALTIME)
    elif target is not None:
        LOCALTIME.symlink_to(target)
    _write(TIMEZONE, text, place)


def _write(path: Path, text: str | None, place: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    if text is None:
        path.unlink(missing_ok=True)
    else:
        path.write_bytes(text.encode())


def _look(place: Path) -> object:
    found = [path.exists() and path.read_bytes() for path in (TIMEZONE, LOCALE, LIST, KEYBOARD, SERVERS)]
    return os.path.lexists(LOCALTIME) and os.path.realpath(LOCALTIME), found, said("locale", "-a")


def _sourced(path: Path) -> dict[str, str]:
    """The variables that a shell reads from the file."""
    words = must("env", "-i", "sh", "-c", f"set -a; . {path}; env").splitlines()
    return dict(word.split("=", 1) for word in words)


def _of(variables: dict[str, str], name: str) -> str:
    return variables.get(name, "").rstrip("\r")


def _zone_wrong(wanted: str, properties: dict, place: Path) -> str | None:
    return first(
        differs("where the link leads", os.path.realpath(LOCALTIME), f"{ZONES}/Europe/Vienna"),
        differs("that it is a link", LOCALTIME.is_symlink(), True),
        differs("the file", TIMEZONE.read_text(), "Europe/Vienna\n"),
    )


def _locale_wrong(wanted: str, properties: dict, place: Path) -> str | None:
    if wanted in ("made", "absent"):
        is_listed = LIST.exists() and "de_AT.UTF-8 UTF-8" in LIST.read_text().splitlines()
        return first(
            differs("that it is there", "de_AT.utf8" in said("locale", "-a").split(), wanted == "made"),
            differs("that it is listed", is_listed, wanted == "made" and LIST.exists()),
        )
    found = _sourced(LOCALE)
    others = properties.get("variables", {})
    return first(
        differs("LANG", _of(found, "LANG"), "C.UTF-8"),
        *(differs(name, _of(found, name), value) for name, value in others.items()),
    )


def _keyboard_wrong(wanted: str, properties: dict, place: Path) -> str | None:
    found = _sourced(KEYBOARD)
    asked = {
        "XKBLAYOUT": "de",
        "XKBVARIANT": properties.get("variant", ""),
        "XKBOPTIONS": ",".join(properties.get("options", ())),
    }
    if "model" in properties:
        asked["XKBMODEL"] = properties["model"]
    return first(*(differs(name, _of(found, name), value) for name, value in asked.items()))


def _servers_wrong(wanted: str, properties: dict, place: Path) -> str | None:
    if wanted == "absent":
        return differs("that its file is there", SERVERS.exists(), False)
    read = said("systemd-analyze", "cat-config", "systemd/timesyncd.conf").splitlines()
    servers = properties["servers"]
    servers = " ".join(shlex.split(servers) if isinstance(servers, str) else servers)
    found = [line.partition("=")[2] for line in read if line.startswith("NTP=")]
    fallback = [line for line in read if line.startswith("FallbackNTP=") and line != "FallbackNTP="]
    return first(
        differs("the servers", found[-1:], [servers]),
        differs("the fallback", bool(fallback), "fallback" in properties),
    )


_JUDGES = {
    "timezone": _zone_wrong,
    "locale": _locale_wrong,
    "keyboard": _keyboard_wrong,
    "ntp": _servers_wrong,
}


def _clean(place: Path) -> None:
    for path in (LOCALTIME, TIMEZONE, LOCALE, LIST, KEYBOARD):
        path.unlink(missing_ok=True)
        if os.path.lexists(place / path.name):
            must("cp", "-a", place / path.name, path)
    SERVERS.unlink(missing_ok=True)
    said("localedef", "--delete-from-archive", "de_AT.utf8")
