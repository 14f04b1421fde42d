"""Pauses Python's garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_PIECE = 100


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


def free(items: list[Any]) -> None:
    """Empty a long list, piece by piece. Freeing everything at once would keep other threads waiting for milliseconds."""
    while items:
        del items[-_PIECE:]
