"""Finds drop-ins that systemd has not read: for those in a directory that is new, it does not say that it should."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import suppress

from watchers.dbus import Scope
from watchers.units import directories, template_of


def own_drop_ins(unit: str, scope: Scope) -> set[str]:
    """The names of the drop-ins for this unit alone, or for its template. Those that are empty stand for none."""
    names = [name for name in (unit, template_of(unit)) if name]
    found = (f"{directory}/{name}.d" for directory in directories(scope) for name in names)
    return {entry.name for path in found for entry in _entries(path)}


def has_unread(found: Collection[str], read: Collection[str]) -> bool:
    """Whether any of the drop-ins found is not among the paths that systemd has read."""
    return not {os.path.basename(path) for path in read}.issuperset(found)


def _entries(path: str) -> Iterator[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(path) as entries:
        yield from (entry for entry in entries if entry.name.endswith(".conf") and entry.stat().st_size)
