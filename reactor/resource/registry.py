"""Finds kinds and watchers through entry points, so that third-party ones work like the built-in ones."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from reactor.resource.base import Resource
from reactor.resource.entry_points import KINDS_GROUP, installed_entry_points
from reactor.resource.watch import Watch, Watcher

WATCHERS_GROUP = "reactor.watchers"


def kind_names() -> tuple[str, ...]:
    """The names of all installed kinds, sorted. Imports none of them."""
    return tuple(installed_entry_points(KINDS_GROUP))


@cache
def find_kind(name: str) -> type[Resource]:
    """The class of the kind ``name``. Raises KeyError when no such kind is installed."""
    return cast("type[Resource]", installed_entry_points(KINDS_GROUP)[name].load())


def watcher_names() -> tuple[str, ...]:
    """The names of all installed watchers, sorted. Imports none of them."""
    return tuple(installed_entry_points(WATCHERS_GROUP))


@cache
def find_watchers() -> dict[type[Watch], type[Watcher]]:
    """The watcher class for each type of watch declaration."""
    found: list[Any] = [entry.load() for entry in installed_entry_points(WATCHERS_GROUP).values()]
    return {watcher.serves: watcher for watcher in found}
