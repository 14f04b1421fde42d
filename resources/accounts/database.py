"""Reads the account files: passwd(5), group(5), shadow(5). Accounts of a directory service are not in them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple, TypeVar, cast

from reactor.hostfs import ErrorContext, Stamp, stamp_is_reliable, stamp_of

PASSWD = "/etc/passwd"  # noqa: S105 - a path
GROUP = "/etc/group"
SHADOW = "/etc/shadow"
LOGIN_DEFS = "/etc/login.defs"
_USER_FIELDS, _GROUP_FIELDS, _SHADOW_FIELDS = 7, 4, 9

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC).date()


class PasswdLine(NamedTuple):
    """A line of passwd(5)."""

    name: str
    uid: int
    gid: int
    comment: str
    home: str
    shell: str


class GroupLine(NamedTuple):
    """A line of group(5). ``members`` does not list the users whose primary group it is."""

    name: str
    gid: int
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShadowLine:
    """A line of shadow(5), which only root can read. ``expires`` is a date, or ``never``.

    The ages are days; -1 is none.
    """

    password: str = field(repr=False)
    expires: str
    min_age: int = -1
    max_age: int = -1
    warn_days: int = -1

    @property
    def is_locked(self) -> bool:
        """Whether no password is right, because of a ``!`` before the hash."""
        return self.password.startswith("!")


def users() -> Sequence[PasswdLine]:
    """All users. Raises ResourceError when the file can't be read."""
    return _records(PASSWD, _user)


def _user(fields: list[str]) -> PasswdLine | None:
    # Lines with other fields, such as those of NIS, are no accounts of this host.
    if len(fields) != _USER_FIELDS or not (fields[2].isdecimal() and fields[3].isdecimal()):
        return None
    name, _, uid, gid, comment, home, shell = fields
    return PasswdLine(name, int(uid), int(gid), comment, home, shell)


def find_user(name: str) -> PasswdLine | None:
    """The user of this name; None when there is none. Raises ResourceError when the file can't be read."""
    return next((user for user in users() if user.name == name), None)


def groups() -> Sequence[GroupLine]:
    """All groups. Raises ResourceError when the file can't be read."""
    return _records(GROUP, _group)


def _group(fields: list[str]) -> GroupLine | None:
    if len(fields) != _GROUP_FIELDS or not fields[2].isdecimal():
        return None
    return GroupLine(fields[0], int(fields[2]), tuple(filter(None, fields[3].split(","))))


def find_group(name: str) -> GroupLine | None:
    """The group of this name; None when there is none. Raises ResourceError when the file can't be read."""
    return next((group for group in groups() if group.name == name), None)


def has_user_groups() -> bool:
    """Whether ``USERGROUPS_ENAB`` of login.defs(5) is set.

    Then each user has a group of the same name, which is removed with the user.
    """
    return login_defs().get("USERGROUPS_ENAB") == "yes"


def has_entry(lookup: Callable[[], object]) -> bool:
    """Whether the C library finds an account, also one of a directory service. Blocking: that may answer late.

    ``lookup`` is a call such as ``grp.getgrgid(33)``.
    """
    try:
        lookup()
    except KeyError:
        return False
    return True


def login_defs() -> dict[str, str]:
    """The settings of login.defs(5); none if the file can't be read, as for useradd(8)."""
    try:
        with open(LOGIN_DEFS, encoding="utf-8", errors="replace") as lines:
            words = [line.split() for line in lines]
    except OSError:
        return {}
    return {word[0]: word[1] for word in words if len(word) > 1 and not word[0].startswith("#")}


def find_shadow(name: str) -> ShadowLine | None:
    """The line of the user in shadow(5); None if there is none. Raises ResourceError when we are not root."""
    return next((line for user, line in _records(SHADOW, _shadow) if user == name), None)


def _shadow(fields: list[str]) -> tuple[str, ShadowLine] | None:
    if len(fields) != _SHADOW_FIELDS:
        return None
    return fields[0], ShadowLine(fields[1], _date(fields[7]), *map(_days, fields[3:6]))


_Records = TypeVar("_Records", PasswdLine, GroupLine, tuple[str, ShadowLine])
_Parse = Callable[[list[str]], _Records | None]


def _records(path: str, parse: _Parse[_Records]) -> Sequence[_Records]:
    """The results of ``parse`` for the fields of each line, without None; an empty sequence if there is no shadow file.

    The file is read again only if its stat has changed: 200 users need it 200 times.
    """
    with ErrorContext(f"read {path}"):
        try:
            stamp = stamp_of(os.stat(path))
            if (known := _known.get((path, parse))) is not None and known[0] == stamp:
                return cast("Sequence[_Records]", known[1])
            return _read(path, parse)
        except FileNotFoundError:
            if path != SHADOW:  # every host has the other files, so a missing one is an error
                raise
            return ()


def _read(path: str, parse: _Parse[_Records]) -> Sequence[_Records]:
    now = time.time_ns()
    with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        found = os.fstat(file.fileno())
        lines = [line.rstrip("\n").split(":") for line in file]
    records = [record for fields in lines if (record := parse(fields)) is not None]
    _known.pop((path, parse), None)
    if stamp_is_reliable(found, now):
        _known[path, parse] = stamp_of(found), records
    return records


_known: dict[tuple[str, object], tuple[Stamp, Sequence[object]]] = {}
"""The records of each file, with the stamp that it had when it was read."""


def _date(days: str) -> str:
    return (_EPOCH + timedelta(days=int(days))).isoformat() if days.isdigit() else "never"


def _days(text: str) -> int:
    return int(text) if text.isdigit() else -1


def is_date(text: str) -> bool:
    """Whether ``text`` is a date like ``2030-12-31``."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def uid_of(name: str) -> int | None:
    """The uid of the user ``name``; None when the file has no such user.

    Raises ResourceError when it can't be read.
    """
    user = find_user(name)
    return None if user is None else user.uid


def gid_of(name: str) -> int | None:
    """The gid of the group ``name``; None when the file has no such group.

    Raises ResourceError when it can't be read.
    """
    group = find_group(name)
    return None if group is None else group.gid
