"""The loader of the rendering that goes on. The environment is shared by all renderings, so it asks here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from reactor.templates.bounds import Bounds, Budget, spending
from reactor.templates.interface import Loader

_loader: ContextVar[Loader] = ContextVar("loader")


def load(name: str) -> str | None:
    """The source of a template, for the rendering that goes on."""
    return _loader.get()(name)


@contextmanager
def rendering(bounds: Bounds, loader: Loader) -> Iterator[Budget]:
    """A rendering, for a block."""
    token = _loader.set(loader)
    try:
        with spending(bounds) as budget:
            yield budget
    finally:
        _loader.reset(token)
