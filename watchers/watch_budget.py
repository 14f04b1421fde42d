"""Keeps some of the inotify watches of this user free of watched trees, in which other users may make directories."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from reactor.watchers.directory import Listener

_SETTING = "fs.inotify.max_user_watches"
_HOST, _NAMESPACE = Path("/proc/sys/fs/inotify/max_user_watches"), Path("/proc/sys/user/max_inotify_watches")
"""The limit of the host, and that of the user namespace."""
_FOR_TREES = 0.75
"""The part of the watches that may be in use when a tree gets another one. The rest is for single paths, and for the
other programs of this user, such as systemd."""


class WatchBudget:
    """Knows how many watches there may be, and which tree has the most directories."""

    def __init__(self) -> None:
        self._sizes: Counter[Listener] = Counter()
        self.refresh()

    def refresh(self) -> None:
        """Read the limits again, which may have been raised, and find the largest tree."""
        limit = _limit(_HOST)
        self._for_trees = _FOR_TREES * min(limit, _limit(_NAMESPACE))
        self._remedy = f"allow more with: sysctl -w {_SETTING}={2 * limit:.0f}"
        largest = max(self._sizes, key=self._sizes.__getitem__, default=None)
        self._largest = "" if largest is None else f" (the largest tree is {os.fsdecode(largest.top.path)})"

    def count(self, before: Iterable[Listener], after: Iterable[Listener]) -> None:
        """Note that a directory was in the trees ``before``, and is in the trees ``after``."""
        for listener in before:
            self._sizes[listener] -= 1
        for listener in after:
            self._sizes[listener] += 1

    def forget(self, listener: Listener) -> None:
        """Note that a tree is no longer watched."""
        self._sizes.pop(listener, None)

    def is_used_up(self, watches: int) -> bool:
        """Whether a tree gets no further watch when there are so many."""
        return watches >= self._for_trees

    def explanation(self, path: bytes, consequence: str) -> str:
        """Why there is no watch for ``path``, with the consequence of that, and the remedy."""
        where = f"{os.fsdecode(path)}{self._largest}"
        return f"no inotify watches are left for {where}, {consequence}; {self._remedy}"


def _limit(file: Path) -> float:
    with suppress(OSError, ValueError):
        return int(file.read_text())
    return float("inf")
