"""Finds unit files that systemd has not read: it does not say so of one that takes the place of another."""

from __future__ import annotations

import os
from collections.abc import Sequence

from reactor.watchers.dbus import Scope
from reactor.watchers.units import directories

_MASK = "/dev/null"


def unit_files_of(unit: str, scope: Scope) -> list[str]:
    """The files called ``unit``: the first one wins. There are several where the administrator has one of his own."""
    found: dict[str, str] = {}
    for directory in map(os.path.realpath, directories(scope)):  # /lib is /usr/lib on most machines
        if os.path.lexists(path := f"{directory}/{unit}"):
            found.setdefault(path, path)
    return list(found)


def is_another(files: Sequence[str], read: str) -> bool:
    """Whether systemd, which has ``read`` this one of the ``files``, would read another one now.

    What it has read from elsewhere, such as from a generator, is left to it, and so are links to units of other names.
    """
    first, *others = files
    resolved = os.path.join(os.path.realpath(os.path.dirname(read)), os.path.basename(read))
    if os.path.islink(first) and os.path.realpath(first) != _MASK:
        return False
    return resolved in others
