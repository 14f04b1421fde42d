"""Which paths of a tree may have changed, from whoever listens to the one who checks."""

from __future__ import annotations

_MANY = 1000


class Heard:
    """The paths that events were about since the last look.

    A listener adds them, before it marks the resource. What it can't tell in detail (an event that was lost, a directory
    that came or went, the start) is `lose`: then all is looked at. So is it when a check comes and nothing was heard: it
    has another cause, such as the audit.
    """

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._is_lost = True

    def add(self, path: str) -> None:
        """Something happened at this absolute path."""
        if len(self._paths) < _MANY:
            self._paths.add(path)
        else:
            self.lose()

    def lose(self) -> None:
        """Anything may have changed."""
        self._is_lost = True
        self._paths.clear()

    def take(self) -> frozenset[str] | None:
        """The paths to look at, which are then forgotten; None for all there are."""
        taken = None if self._is_lost or not self._paths else frozenset(self._paths)
        self._paths.clear()
        self._is_lost = False
        return taken
