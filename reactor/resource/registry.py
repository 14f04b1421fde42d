"""Finds kinds and watchers through entry points, so that a third party's is as good as a built-in one."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast

from reactor.resource.base import Resource
from reactor.resource.watch import Watch, Watcher

KINDS_GROUP = "reactor.resources"
WATCHERS_GROUP = "reactor.watchers"


@cache
def _entries(group: str) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in sorted(entry_points(group=group), key=lambda entry: entry.name)}


def kind_names() -> tuple[str, ...]:
    """The names of all kinds installed, in order. Imports none of them."""
    return tuple(_entries(KINDS_GROUP))


@cache
def find_kind(name: str) -> type[Resource]:
    """The class of the kind ``name``. Raises KeyError when no such kind is installed."""
    return cast("type[Resource]", _entries(KINDS_GROUP)[name].load())


@cache
def find_watchers() -> dict[type[Watch], type[Watcher]]:
    """The watcher class for each type of watch declaration."""
    found: list[Any] = [entry.load() for entry in _entries(WATCHERS_GROUP).values()]
    return {watcher.serves: watcher for watcher in found}
