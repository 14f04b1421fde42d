"""Pauses Python's garbage collector, and spares it what lives long."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_PIECE = 100
_FULL_EVERY = 256


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the garbage collector while many objects and no garbage are made: it would take most of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class LongLived:
    """Exempts what lives long from the collector, which would take tens of milliseconds for it, again and again.

    An object is still freed when its last reference goes. Only garbage that refers to itself stays, of which a reload
    makes little, and that for a limited number of times.
    """

    def __init__(self) -> None:
        self._times = 0

    def begin(self) -> None:
        """Enable the collector, for what is made from now on."""
        self.exempt()
        gc.enable()

    def exempt(self) -> None:
        """Exempt all objects that exist now."""
        self._times += 1
        if self._times % _FULL_EVERY == 0:
            gc.unfreeze()
            gc.collect()
        gc.freeze()


def free(items: list[Any]) -> None:
    """Empty a long list, piece by piece. Freeing everything at once would keep other threads waiting for milliseconds."""
    while items:
        del items[-_PIECE:]


def free_set(items: set[Any]) -> None:
    """The same as `free`, for a set."""
    while items:
        items.pop()


def free_dict(items: dict[Any, Any]) -> None:
    """The same as `free`, for a dictionary."""
    while items:
        items.popitem()
