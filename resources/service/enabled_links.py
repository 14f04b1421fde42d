"""The links that `systemctl enable` makes: which units start a unit, and which other names it has.

They are read again only where a directory has changed: each of a hundred units asks for them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple, TypeVar

from reactor.hostfs import Stamp, stamp_is_reliable, stamp_of
from reactor.watchers.dbus import Scope
from reactor.watchers.units import directories

_STARTING: Final = (".wants", ".requires", ".upholds")
"""The ends of the names of directories with links to the units that a unit starts."""

_read: Final[dict[str, tuple[Stamp, Any]]] = {}
"""What was read in a directory, and the stamp that the directory had."""

_T = TypeVar("_T")


class _Base(NamedTuple):
    """A directory of unit files: its directories of links, and the names of the links to each unit."""

    link_directories: tuple[str, ...] = ()
    aliases: dict[str, list[str]] = {}  # noqa: RUF012 - never changed


def linking_units(unit: str, scope: Scope) -> set[str]:
    """The units with a link that starts ``unit``, also if systemd has not read the link yet."""
    found = set()
    for base in _bases(scope):
        for path in base.link_directories:
            if unit in _unless_changed(path, _names_in, frozenset[str]()):
                found.add(os.path.splitext(os.path.basename(path))[0])
    return found


def other_names(unit: str, scope: Scope) -> list[str]:
    """The other names that links give ``unit``."""
    suffix = os.path.splitext(unit)[1]
    names = {name for base in _bases(scope) for name in base.aliases.get(unit, ()) if name.endswith(suffix)}
    return sorted(names - {unit})


def _bases(scope: Scope) -> Iterator[_Base]:
    """The directories where `systemctl enable` makes links."""
    for path in directories(scope):
        if not path.startswith(("/usr/", "/lib/")):
            yield _unless_changed(path, _base_at, _Base())


def _unless_changed(directory: str, read: Callable[[str], _T], missing: _T) -> _T:
    """What ``read`` returns for the directory, or has returned since it changed; ``missing`` if it can't be read."""
    with suppress(OSError):
        status = os.stat(directory)
        stamp, found = _read.get(directory, (None, missing))
        if stamp != stamp_of(status):
            found = read(directory)
            if stamp_is_reliable(status, time.time_ns()):
                _read[directory] = stamp_of(status), found
        return found
    return missing


def _names_in(directory: str) -> frozenset[str]:
    return frozenset(os.listdir(directory))


def _base_at(directory: str) -> _Base:
    link_directories, aliases = [], dict[str, list[str]]()
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.endswith(_STARTING):
                link_directories.append(entry.path)
            elif entry.is_symlink():
                aliases.setdefault(os.path.basename(os.readlink(entry.path)), []).append(entry.name)
    return _Base(tuple(link_directories), aliases)
