"""Cells of the kinds user and group: the files of accounts, by what is to be in them, by what is done afterwards."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cell import Cell, differs, first, fixed_manifest
from programs import must, said

FILES = ("passwd", "group", "shadow", "gshadow", "subuid", "subgid")
PASSWD = "root:x:0:0:root:/root:/bin/bash\nmessagebus:x:101:102::/nonexistent:/usr/sbin/nologin\nbob:x:700:50::{}/home/bob:/bin/sh\n"
GROUP = "root:x:0:\nmessagebus:x:102:\nstaff:x:50:\ngames:x:60:bob\nnogroup:x:65534:\n"
SHADOW = "root:*:19000:0:99999:7:::\nmessagebus:!:19000::::::\nbob:*:19000:0:99999:7:::\n"
HASH = "$6$saltsalt$" + "a" * 86

NEW = ("useradd", "--uid", "1500", "--no-create-home", "--shell", "/bin/sh", "--home-dir", "{home}/ada")
STATES: dict[str, list[tuple[str, ...]]] = {
    "nobody": [],
    "there": [(*NEW, "ada")],
    "there with a home": [("useradd", "--uid", "1500", "--create-home", "--shell", "/bin/sh", "--home-dir", "{home}/ada", "ada")],
    "there with another shell": [(*NEW[:-4], "--shell", "/bin/bash", *NEW[-2:], "ada")],
    "in other groups": [(*NEW, "--groups", "staff,games", "ada")],
    "locked": [(*NEW, "--password", "!", "ada")],
    "expired": [(*NEW, "--expiredate", "2020-01-01", "ada")],
    "with a comment": [(*NEW, "--comment", "someone", "ada")],
    "in a group of others": [(*NEW, "--gid", "games", "ada")],
    "a group of the name": [("groupadd", "--gid", "1600", "ada")],
    "there, its group is gone": [(*NEW, "ada"), ("sed", "-i", "/^ada:/d", "/etc/group")],
}  # fmt: skip
WANTED: dict[str, dict[str, object]] = {
    "there": {},
    "shell": {"shell": "/bin/bash"},
    "number": {"uid": 1700},
    "number of another": {"uid": 700},
    "group": {"group": "games"},
    "group by number": {"group": 60},
    "group that is not there": {"group": "nobody-there"},
    "group number that is not there": {"group": 4242},
    "groups": {"groups": ["staff"]},
    "groups, no others": {"groups": ["staff"], "membership": "inclusive"},
    "no groups": {"groups": [], "membership": "inclusive"},
    "groups that are not there": {"groups": ["staff", "nobody-there"]},
    "a home": {"home": "{home}/ada", "manage_home": True},
    "a home for one who exists": {"home": "{home}/ada", "create_home": True},
    "another home": {"home": "{home}/lovelace"},
    "another home, moved": {"home": "{home}/lovelace", "manage_home": True},
    "a home where nothing is": {"home": "{home}/no/such/way", "manage_home": True},
    "a home in a file": {"home": "/etc/passwd/ada", "manage_home": True},
    "comment": {"comment": "Ada Lovelace"},
    "password": {"password": HASH},
    "expires": {"expires": "2031-12-31"},
    "never expires": {"expires": "never"},
    "system": {"system": True},
    "locked": {"locked": True},
    "locked, with a password": {"locked": True, "password": HASH},
    "unlocked, with a password": {"locked": False, "password": HASH},
    "ages": {"password_max_age": 90, "password_min_age": 1, "password_warn_days": -1},
    "number shared": {"uid": 700, "non_unique": True},
    "all at once": {
        "uid": 1700,
        "shell": "/bin/bash",
        "groups": ["staff"],
        "comment": "Ada",
        "expires": "never",
    },
    "absent": {"ensure": "absent"},
    "absent with home": {"ensure": "absent", "manage_home": True},
}
DRIFTS: dict[str, tuple[str, ...]] = {
    "shell changed": ("usermod", "--shell", "/bin/false", "ada"),
    "removed": ("userdel", "--force", "ada"),
    "number changed": ("usermod", "--uid", "1999", "ada"),
    "in another group": ("usermod", "--append", "--groups", "games", "ada"),
    "expired": ("usermod", "--expiredate", "2001-01-01", "ada"),
    "password changed": ("usermod", "--password", "*", "ada"),
    "comment changed": ("usermod", "--comment", "drifted", "ada"),
}
GROUP_STATES: dict[str, list[tuple[str, ...]]] = {
    "nothing": [],
    "there": [("groupadd", "--gid", "1500", "crew")],
    "with a member": [("groupadd", "--gid", "1500", "crew"), ("gpasswd", "--add", "bob", "crew")],
    "with members": [("groupadd", "--gid", "1500", "crew"), ("gpasswd", "--members", "bob,root", "crew")],
    "somebody's own": [("groupadd", "--gid", "1500", "crew"), ("usermod", "--gid", "crew", "bob")],
}
GROUP_WANTED: dict[str, dict[str, object]] = {
    "there": {},
    "number": {"gid": 1700},
    "number it has": {"gid": 1500},
    "number of another": {"gid": 60},
    "member": {"members": ["bob"]},
    "members, no others": {"members": ["bob"], "membership": "inclusive"},
    "nobody": {"members": [], "membership": "inclusive"},
    "member that is not there": {"members": ["nobody-there"]},
    "system": {"system": True},
    "absent": {"ensure": "absent"},
}
GROUP_DRIFTS: dict[str, tuple[str, ...]] = {
    "removed": ("sed", "-i", "/^crew:/d", "/etc/group"),
    "number changed": ("groupmod", "--gid", "1888", "crew"),
    "a member left": ("gpasswd", "--members", "", "crew"),
    "a member came": ("gpasswd", "--add", "root", "crew"),
}


def cells() -> Iterator[Cell]:
    """Every state by everything wanted, and every drift from what was reached."""
    for wanted, properties in WANTED.items():
        for state in STATES:
            yield _user(state, wanted, properties, fails=_fails(state, wanted))
        if not _fails("there", wanted) and "absent" not in wanted:
            for drift in DRIFTS:
                fails = drift == "removed" and _fails("nobody", wanted)
                yield _user("there", wanted, properties, drift, fails=fails)
    for wanted, properties in GROUP_WANTED.items():
        for state in GROUP_STATES:
            yield _group(state, wanted, properties, fails=_group_fails(state, wanted))
        if not _group_fails("there", wanted) and wanted != "absent":
            for drift in GROUP_DRIFTS:
                yield _group("there", wanted, properties, drift)
    yield from _brought()


def _fails(state: str, wanted: str) -> bool:
    if wanted in ("number of another", "group that is not there", "group number that is not there",
                  "groups that are not there"):  # fmt: skip
        return True
    if wanted == "a home where nothing is":
        return state == "there with a home"  # usermod makes no directories on the way
    new = state in ("nobody", "a group of the name", "there with a home")
    return wanted == "a home in a file" and new


def _group_fails(state: str, wanted: str) -> bool:
    if wanted in ("number of another", "member that is not there"):
        return True
    return wanted == "absent" and state == "somebody's own"


def _user(state, wanted, properties, drift=None, *, fails=False) -> Cell:
    name = " / ".join(filter(None, (state, wanted, drift)))

    def resources(place: Path) -> list[dict[str, object]]:
        return [{"user": [{"ada": _filled(properties, place)}]}]

    acts = None if drift is None else partial(_do, [DRIFTS[drift]])
    make = partial(_make, STATES[state])
    judge = partial(_user_wrong, properties)
    return Cell("user", name, resources, judge, make, acts, fails, "", _look, _clean)


def _group(state, wanted, properties, drift=None, *, fails=False) -> Cell:
    name = " / ".join(filter(None, (state, wanted, drift)))
    acts = None if drift is None else partial(_do, [GROUP_DRIFTS[drift]])
    make, judge = partial(_make, GROUP_STATES[state]), partial(_group_wrong, properties)
    resources = partial(fixed_manifest, [{"group": [{"crew": properties}]}])
    return Cell("group", name, resources, judge, make, acts, fails, "", _look, _clean)


def _brought() -> Iterator[Cell]:
    """What another resource of the manifest brings is no failure foretold."""
    pairs = {
        "a group, then its user": [{"group": [{"crew": {"gid": 4242}}]}, {"user": [{"ada": {"group": "crew"}}]}],
        "by number": [{"group": [{"crew": {"gid": 4242}}]}, {"user": [{"ada": {"group": 4242}}]}],
        "a further group": [{"group": [{"crew": {}}]}, {"user": [{"ada": {"groups": ["crew"]}}]}],
        "a user, then its group": [
            {"user": [{"ada": {}}]}, {"group": [{"crew": {"members": ["ada"], "require": ["user#ada"]}}]},
        ],
        "a group that a command makes": [
            {"exec": [{"groupadd crew": {"unless": "grep -q ^crew: /etc/group"}}]},
            {"user": [{"ada": {"groups": ["crew"], "require": ["exec#groupadd crew"]}}]},
        ],
        "a number set free": [
            {"user": [{"bob": {"ensure": "absent"}}, {"ada": {"uid": 700, "require": ["user#bob"]}}]},
        ],
        "a group number set free": [
            {"group": [{"games": {"ensure": "absent"}}, {"crew": {"gid": 60, "require": ["group#games"]}}]},
        ],
    }  # fmt: skip
    judges = {
        "a group, then its user": lambda place: differs("gid", _line("passwd", "ada")[3], "4242"),
        "by number": lambda place: differs("gid", _line("passwd", "ada")[3], "4242"),
        "a further group": lambda place: differs("members", _line("group", "crew")[3], "ada"),
        "a group that a command makes": lambda place: differs("members", _line("group", "crew")[3], "ada"),
        "a user, then its group": lambda place: differs("members", _line("group", "crew")[3], "ada"),
        "a number set free": lambda place: differs("uid", _line("passwd", "ada")[2], "700"),
        "a group number set free": lambda place: differs("gid", _line("group", "crew")[2], "60"),
    }
    for name, manifest in pairs.items():
        make = partial(_make, [])
        yield Cell(
            "user", name, partial(fixed_manifest, manifest), judges[name], make, look=_look, clean=_clean
        )


def _filled(properties: dict[str, object], place: Path) -> dict[str, object]:
    home = str(place / "home")
    return {
        key: value.replace("{home}", home) if isinstance(value, str) else value
        for key, value in properties.items()
    }


def _make(commands, place: Path) -> None:
    kept = place.parent / "kept"
    kept.mkdir()
    for name in FILES:
        if Path("/etc", name).exists():
            shutil.copy2(f"/etc/{name}", kept / name)
    (place / "home").mkdir()
    Path("/etc/passwd").write_text(PASSWD.replace("{}", str(place)))
    Path("/etc/group").write_text(GROUP)
    Path("/etc/shadow").write_text(SHADOW)
    Path("/etc/gshadow").write_text("".join(f"{line.split(':')[0]}:!::\n" for line in GROUP.splitlines()))
    _do(commands, place)


def _do(commands, place: Path) -> None:
    for command in commands:
        words = [word.replace("{home}", str(place / "home")) for word in command]
        if words[:1] == ["gpasswd"] or words[-1] == "ada":
            said(*words)
        else:
            must(*words)


def _look(place: Path) -> object:
    homes = sorted(str(path) for path in (place / "home").rglob("*"))
    return [Path("/etc", name).read_text() for name in FILES[:4]], homes


def _clean(place: Path) -> None:
    for name in FILES:
        kept = place.parent / "kept" / name
        if kept.exists():
            shutil.copy2(kept, f"/etc/{name}")


def _line(file: str, name: str) -> list[str]:
    lines = (line.split(":") for line in Path("/etc", file).read_text().splitlines())
    return next((line for line in lines if line[0] == name), [""] * 9)


def _groups_of(name: str) -> set[str]:
    lines = (line.split(":") for line in Path("/etc/group").read_text().splitlines())
    return {line[0] for line in lines if name in line[3].split(",")}


def _user_wrong(properties: dict[str, object], place: Path) -> str | None:
    wanted = _filled(properties, place)
    user, secret = _line("passwd", "ada"), _line("shadow", "ada")
    if wanted.get("ensure") == "absent":
        return first(differs("the line in passwd", user[0], ""), differs("the line in shadow", secret[0], ""))
    faults = [differs("the name", user[0], "ada")]
    for key, at in (("uid", 2), ("home", 5), ("shell", 6), ("comment", 4)):
        if key in wanted:
            faults.append(differs(key, user[at], str(wanted[key])))
    if "group" in wanted:
        faults.append(differs("gid", user[3], "60"))
    if "groups" in wanted:
        there, asked = _groups_of("ada"), set(wanted["groups"])
        exact = wanted.get("membership") == "inclusive"
        faults.append(differs("groups", there if exact else there & asked, asked))
    if "password" in wanted:
        faults.append(differs("the hash", secret[1], f"!{HASH}" if wanted.get("locked") else HASH))
    elif wanted.get("locked"):
        faults.append(differs("that it is locked", secret[1][:1], "!"))
    if wanted.get("create_home"):
        faults.append(differs("that the home is there", Path(str(wanted["home"])).is_dir(), True))
    if "password_max_age" in wanted:
        faults.append(differs("the ages", secret[3:6], ["1", "90", ""]))
    if "expires" in wanted:
        day = "" if wanted["expires"] == "never" else "22644"
        faults.append(differs("the day it expires", secret[7], day))
    return first(*faults)


def _group_wrong(properties: dict[str, object], place: Path) -> str | None:
    group = _line("group", "crew")
    if properties.get("ensure") == "absent":
        return differs("the line in group", group[0], "")
    faults = [differs("the name", group[0], "crew")]
    if "gid" in properties:
        faults.append(differs("gid", group[2], str(properties["gid"])))
    if "members" in properties:
        there, asked = set(filter(None, group[3].split(","))), set(properties["members"])
        exact = properties.get("membership") == "inclusive"
        faults.append(differs("members", there if exact else there & asked, asked))
    return first(*faults)
