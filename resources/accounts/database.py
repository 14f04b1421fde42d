"""Reads the account files: passwd(5), group(5), shadow(5). Accounts of a directory service are not in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from reactor.hostfs import ErrorContext

PASSWD = "/etc/passwd"  # noqa: S105 - a path
GROUP = "/etc/group"
SHADOW = "/etc/shadow"
LOGIN_DEFS = "/etc/login.defs"

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


def users() -> Iterator[PasswdLine]:
    """All users. Raises ResourceError when the file can't be read."""
    for name, _, uid, gid, comment, home, shell in _lines(PASSWD, 7):
        if uid.isdecimal() and gid.isdecimal():
            yield PasswdLine(name, int(uid), int(gid), comment, home, shell)


def find_user(name: str) -> PasswdLine | None:
    """The user of this name; None when there is none. Raises ResourceError when the file can't be read."""
    return next((user for user in users() if user.name == name), None)


def groups() -> Iterator[GroupLine]:
    """All groups. Raises ResourceError when the file can't be read."""
    for name, _, gid, members in _lines(GROUP, 4):
        if gid.isdecimal():
            yield GroupLine(name, int(gid), tuple(filter(None, members.split(","))))


def find_group(name: str) -> GroupLine | None:
    """The group of this name; None when there is none. Raises ResourceError when the file can't be read."""
    return next((group for group in groups() if group.name == name), None)


def has_user_groups() -> bool:
    """Whether ``USERGROUPS_ENAB`` of login.defs(5) is set.

    Then each user has a group of the same name, which is removed with the user.
    """
    try:
        with open(LOGIN_DEFS, encoding="utf-8", errors="replace") as lines:
            words = [line.split() for line in lines]
    except OSError:
        return False
    return any(word[:2] == ["USERGROUPS_ENAB", "yes"] for word in words)


def find_shadow(name: str) -> ShadowLine | None:
    """The line of the user in shadow(5); None if there is none. Raises ResourceError when we are not root."""
    for fields in _lines(SHADOW, 9):
        if fields[0] == name:
            return ShadowLine(fields[1], _date(fields[7]), *map(_days, fields[3:6]))
    return None


def _lines(path: str, count: int) -> Iterator[list[str]]:
    """The fields of each line that has ``count`` fields.

    Other lines, such as those of NIS, are no accounts of this host.
    """
    with ErrorContext(f"read {path}"):
        try:
            with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
                lines = [line.rstrip("\n").split(":") for line in file]
        except FileNotFoundError:
            if path != SHADOW:  # every host has the other files, so a missing one is an error
                raise
            return
    yield from (fields for fields in lines if len(fields) == count)


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
    return next((group.gid for group in groups() if group.name == name), None)
