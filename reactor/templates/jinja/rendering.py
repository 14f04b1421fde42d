"""What belongs to one rendering. The environment is shared by all of them, so it asks here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from reactor.templates.bounds import Bounds, Budget
from reactor.templates.engine import Loader


class Rendering(NamedTuple):
    """The budget and the loader of the rendering that goes on in this thread or task."""

    budget: Budget
    loader: Loader


_current: ContextVar[Rendering] = ContextVar("rendering")


def current() -> Rendering:
    """The rendering that goes on."""
    return _current.get()


@contextmanager
def rendering(bounds: Bounds, loader: Loader) -> Iterator[Rendering]:
    """A new rendering, for a block."""
    token = _current.set(Rendering(Budget(bounds), loader))
    try:
        yield _current.get()
    finally:
        _current.reset(token)
