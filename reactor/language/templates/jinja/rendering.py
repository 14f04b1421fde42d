"""The loader of the rendering that goes on. The environment is shared by all renderings, so it asks here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from reactor.language.templates.bounds import Bounds, Budget, spending
from reactor.language.templates.interface import Loader

_loader: ContextVar[Loader] = ContextVar("loader")
_prints_nil: ContextVar[bool] = ContextVar("prints_nil", default=True)


def load(name: str) -> str | None:
    """The source of a template, for the rendering that goes on."""
    return _loader.get()(name)


def prints_nil() -> bool:
    """Whether nil is printed, as None, in the rendering that goes on."""
    return _prints_nil.get()


@contextmanager
def rendering(bounds: Bounds, loader: Loader, *, nil: bool = True) -> Iterator[Budget]:
    """A rendering, for a block. ``nil`` says whether that may be printed."""
    token, before = _loader.set(loader), _prints_nil.set(nil)
    try:
        with spending(bounds) as budget:
            yield budget
    finally:
        _loader.reset(token)
        _prints_nil.reset(before)
