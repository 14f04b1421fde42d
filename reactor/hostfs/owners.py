"""Looks up the ids of users and groups, and caches them until the account files change."""

from __future__ import annotations

import grp
import os
import pwd
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial

import trio

from reactor.resource.plan import ResourceError
from reactor.resource.threads import in_thread

_RECHECK_AFTER = 0.001
"""Seconds between two stats of the account files. One stat serves many files. Still, the check after an exec notices
a user that the exec has changed: no program that edits accounts ends that quickly."""

_FORGET_AFTER = 60.0
"""Seconds until the cache is dropped: accounts of a directory service change without a change of a file."""

TIMEOUT = 5.0
"""Seconds within which a look-up must be answered."""

MAX_ID = 2**32 - 2
"""The highest id: the next one means "do not change" to chown(2)."""


_ROOT = frozenset((None, "root", "0"))


def is_id(name: str) -> bool:
    """Whether ``name`` is an id in digits. Unlike chown(1), ids are never looked up as names."""
    return name.isascii() and name.isdigit()


def _fixed_id(name: str) -> int | None:
    """The id of a name that needs no look-up (digits, or root, which is 0 to the kernel); None for other names."""
    if name == "root":
        return 0
    return int(name) if is_id(name) else None


def _user(name: str) -> int:
    return pwd.getpwnam(name).pw_uid


def _group(name: str) -> int:
    return grp.getgrnam(name).gr_gid


def names_of(uid: int, gid: int) -> tuple[str, str]:
    """The names of a user and a group; the id in digits if there is no name."""
    owner, group = str(uid), str(gid)
    with suppress(KeyError):
        owner = pwd.getpwuid(uid).pw_name
    with suppress(KeyError):
        group = grp.getgrgid(gid).gr_name
    return owner, group


@lru_cache(maxsize=64)
def accounts_of(owner: str | None, group: str | None) -> tuple[str, ...]:
    """The accounts that ``owner`` and ``group`` depend on, as refs (``user#ada``). Root is omitted."""
    if owner in _ROOT and group in _ROOT:
        return ()  # of most files
    named = (("user", owner), ("group", group))
    return tuple(f"{kind}#{name}" for kind, name in named if name not in _ROOT)


class Accounts:
    """A cache of the ids of pairs of owner and group."""

    def __init__(
        self,
        files: tuple[str, ...] = ("/etc/passwd", "/etc/group"),
        find_user: Callable[[str], int] = _user,
        find_group: Callable[[str], int] = _group,
    ) -> None:
        self._files = files
        self._find_user = find_user
        self._find_group = find_group
        self._ids: dict[tuple[str, str], tuple[int, int]] = {}
        self._fixed: dict[tuple[str, str], tuple[int, int]] = {}
        self._stamp: list[tuple[int, ...]] = []
        self._checked = self._filled = -_FORGET_AFTER

    def known(self, owner: str, group: str) -> tuple[int, int] | None:
        """The cached user id and group id; None when `look_up` is needed."""
        if (fixed := self._fixed.get((owner, group))) is not None:
            return fixed
        now = time.monotonic()
        if now - self._checked > _RECHECK_AFTER:
            self._check_files(now)
        return self._ids.get((owner, group))

    def are_fixed(self, owner: str, group: str) -> bool:
        """Whether the ids that were looked up can't change: they are given in digits, or are those of root."""
        return (owner, group) in self._fixed

    async def look_up(self, owner: str, group: str) -> tuple[int, int]:
        """The user id and the group id. Raises ResourceError when there is no such user or group."""
        ids = self._ids  # replaced when the account files change: a late answer must not enter the new cache
        uid = await _find("user", owner, self._find_user)
        gid = await _find("group", group, self._find_group)
        is_fixed = _fixed_id(owner) is not None and _fixed_id(group) is not None
        (self._fixed if is_fixed else ids)[owner, group] = uid, gid
        return uid, gid

    def _check_files(self, now: float) -> None:
        self._checked = now
        stamp = [_stamp(path) for path in self._files]
        if stamp != self._stamp or now - self._filled > _FORGET_AFTER:
            self._stamp, self._ids, self._filled = stamp, {}, now


def _stamp(path: str) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


async def _find(what: str, name: str, find: Callable[[str], int]) -> int:
    """Look up ``name`` in a thread: a directory service may answer late, or never.

    While a look-up hangs, the same name is not looked up again: each one would occupy a thread.
    """
    if (fixed := _fixed_id(name)) is not None:
        return fixed
    ended = _hanging.get((what, name))
    if ended is None or ended.is_set():
        ended = threading.Event()
        with trio.move_on_after(TIMEOUT):
            return await _asked(what, name, partial(_ask, find, name, ended))
        _hanging[what, name] = ended
    hint = "check the directory service, such as sssd, that /etc/nsswitch.conf names, or write a numeric id"
    raise ResourceError(f'the lookup of {what} "{name}" is not answered', hint)


async def _asked(what: str, name: str, ask: Callable[[], int]) -> int:
    try:
        return await in_thread(ask, limiter=trio.CapacityLimiter(1), abandon_on_cancel=True)
    except KeyError:
        hint = f"create the {what} first and require what creates it, or write a numeric id"
        raise ResourceError(f'could not lookup {what} "{name}"', hint, missing=f"{what}#{name}") from None


def _ask(find: Callable[[str], int], name: str, ended: threading.Event) -> int:
    try:
        return find(name)
    finally:
        ended.set()


_hanging: dict[tuple[str, str], threading.Event] = {}
"""Look-ups that were not answered in time. The event of each is set when it ends."""

accounts = Accounts()
"""The accounts of this host."""
