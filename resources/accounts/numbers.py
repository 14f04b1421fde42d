"""Chooses numbers for new accounts as useradd(8) and groupadd(8) do, and skips those that the manifest gives to others."""

from __future__ import annotations

import grp
import pwd
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import NamedTuple

from reactor.resources.accounts.database import groups, has_entry, login_defs, users

USER_NUMBERS = "user number"
"""The space of claims whose keys are uids."""
GROUP_NUMBERS = "group number"
"""The space of claims whose keys are gids."""

_FIRST, _LAST, _FIRST_OF_SYSTEM = 1000, 60000, 101  # of useradd(8), where login.defs(5) says nothing


class Choice(NamedTuple):
    """How to number a new account. ``spaces`` are those in which the number must be free: a user's own group has its uid.

    ``reserved`` are the numbers that other resources claim, and ``is_system`` selects the range.
    """

    spaces: tuple[str, ...]
    reserved: frozenset[str]
    is_system: bool

    def number(self) -> int | None:
        """A free number; None if the program may choose, since no reserved number is free, or no other one.

        Raises ResourceError when an account file can't be read. Blocking: a directory service may answer late.
        """
        used = {number for space in self.spaces for number in _USED[space]()}
        reserved = set(map(int, self.reserved))
        if reserved <= used:
            return None
        candidates = (number for number in self._candidates(used) if number not in reserved | used)
        return next((number for number in candidates if not self._is_known(number)), None)

    def _candidates(self, used: set[int]) -> Iterator[int]:
        """The numbers in the order of preference: after the last used one, for system accounts before the first; then all."""
        first, last = self._range()
        inside = [number for number in used if first <= number <= last]
        if self.is_system:
            return chain(range(min(inside, default=last + 1) - 1, first - 1, -1), range(last, first - 1, -1))
        return chain(range(max(inside, default=first - 1) + 1, last + 1), range(first, last + 1))

    def _range(self) -> tuple[int, int]:
        prefix = "UID" if USER_NUMBERS in self.spaces else "GID"
        limits = login_defs()

        def limit(name: str, default: int) -> int:
            text = limits.get(name, "")
            return int(text) if text.isdecimal() else default

        first = limit(f"{prefix}_MIN", _FIRST)
        if self.is_system:
            return limit(f"SYS_{prefix}_MIN", _FIRST_OF_SYSTEM), limit(f"SYS_{prefix}_MAX", first - 1)
        return first, limit(f"{prefix}_MAX", _LAST)

    def _is_known(self, number: int) -> bool:
        """Whether any account has the number, also one of a directory service."""
        return any(has_entry(partial(_LOOKUPS[space], number)) for space in self.spaces)


_USED: dict[str, Callable[[], Iterator[int]]] = {
    USER_NUMBERS: lambda: (user.uid for user in users()),
    GROUP_NUMBERS: lambda: (group.gid for group in groups()),
}
_LOOKUPS: dict[str, Callable[[int], object]] = {USER_NUMBERS: pwd.getpwuid, GROUP_NUMBERS: grp.getgrgid}
