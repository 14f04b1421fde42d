"""Finds drop-ins that systemd has not read: for those in a directory that is new, it does not say that it should."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from reactor.watchers.dbus import Scope
from reactor.watchers.units import directories, drop_in_names


def drop_ins_of(unit: str, scope: Scope) -> dict[str, list[str]]:
    """The drop-ins that have a say in ``unit``, by their names; of several with one name, the first wins.

    A file wins by its directory, then by how narrow the name of that is; those for a whole type come last.
    """
    *narrow, whole_type = drop_in_names(unit)
    found: dict[str, list[str]] = {}
    for names in (narrow, [whole_type]):
        for directory in directories(scope):
            for path in (path for name in names for path in _listing(f"{directory}/{name}.d")):
                found.setdefault(os.path.basename(path), []).append(path)
    return found


def has_unread(found: Mapping[str, Sequence[str]], read: Sequence[str]) -> bool:
    """Whether systemd, which has ``read`` these paths, would read others now."""
    read_as = {os.path.basename(path): path for path in read}
    return any(_is_unread(paths, read_as.get(name)) for name, paths in found.items())


def _is_unread(paths: Sequence[str], read: str | None) -> bool:
    """Whether the first of the drop-ins of one name is news. One that is empty hides the others, and may not be read.

    What was read from elsewhere is left to systemd: there are more places, such as those of generators.
    """
    if read is None:
        return not _is_empty(paths[0])
    first, *others = dict.fromkeys(map(_resolved, paths))
    return first != _resolved(read) and _resolved(read) in others


def _resolved(path: str) -> str:
    """The path by which it is compared: /lib is /usr/lib on most machines, and a link in there is a drop-in itself."""
    directory, name = os.path.split(path)
    return os.path.join(os.path.realpath(directory), name)


def _is_empty(path: str) -> bool:
    with suppress(OSError):
        return os.stat(path).st_size == 0  # also /dev/null
    return True


def _listing(directory: str) -> Iterator[str]:
    with suppress(FileNotFoundError, NotADirectoryError):
        yield from (f"{directory}/{name}" for name in os.listdir(directory) if name.endswith(".conf"))
