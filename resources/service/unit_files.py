"""Reads the unit files, drop-ins and [Install] sections of a unit, and finds files that systemd has not read.

systemd itself does not report a new file that overrides another one, or a drop-in in a new directory.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from reactor.hostfs import Stamp, stamp_is_reliable, stamp_of
from reactor.watchers.dbus import Scope
from reactor.watchers.units import directories, drop_in_names, template_of

_MASK = "/dev/null"
_SECTION = "[Install]"


def unit_files_of(unit: str, scope: Scope) -> list[str]:
    """The unit files of ``unit``; the first one wins. An administrator can override the file of a package.

    Directories are resolved only where there are several paths: /lib is /usr/lib on most machines.
    """
    paths = [path for each in directories(scope) if os.path.lexists(path := f"{each}/{unit}")]
    return list(dict.fromkeys(map(_resolved, paths))) if len(paths) > 1 else paths


def names_stamp(scope: Scope) -> object | None:
    """A stamp of the directories of unit files: while it stays equal, `real_name` is the same for every unit.

    None if a later change might not change the stamp.
    """
    found: list[Stamp] = []
    now = time.time_ns()
    for directory in directories(scope):
        try:
            status = os.stat(directory)
        except OSError:
            found.append(())
            continue
        if not stamp_is_reliable(status, now):
            return None
        found.append(stamp_of(status))
    return scope, *found


def is_another(files: Sequence[str], read: str) -> bool:
    """Whether systemd, which has ``read`` one of the ``files``, would read another one now.

    Files in other directories, such as those of a generator, are ignored, and so are links to units with other names.
    """
    first, *others = files
    resolved = os.path.join(os.path.realpath(os.path.dirname(read)), os.path.basename(read))
    if os.path.islink(first) and os.path.realpath(first) != _MASK:
        return False
    return resolved in others


def also_of(unit: str, files: Iterable[str]) -> tuple[str, ...]:
    """The units in ``Also=`` of ``files``, the unit file and drop-ins of ``unit``.

    Omits names that can't be expanded.
    """
    found: dict[str, None] = {}
    for file in files:
        for value in _values(file):
            named = [_expanded(word, unit) for word in value.split()]
            found = {} if not named else found | dict.fromkeys(filter(None, named))
    found.pop(unit, None)
    return tuple(found)


async def enabled_with(
    unit: str,
    files_of: Callable[[str], Awaitable[Iterable[str]]],
    file_state_of: Callable[[str], Awaitable[str]],
) -> tuple[tuple[str, str], ...]:
    """The units that `systemctl enable` enables with ``unit``, each with its file state, by ``Also=``.

    An indirect unit among them names further ones.
    """
    found: dict[str, str] = {}
    waiting = [unit]
    while waiting:
        indirect = waiting.pop()
        for name in also_of(indirect, await files_of(indirect)):
            if name not in found and name != unit:
                found[name] = await file_state_of(name)
                if found[name] == "indirect":
                    waiting.append(name)
    return tuple(found.items())


def _values(file: str) -> Iterator[str]:
    """The value of each ``Also=``, by systemd.syntax(7)."""
    text = ""
    with suppress(OSError), open(file, encoding="utf-8", errors="replace") as opened:
        text = opened.read()
    section = ""
    for line in map(str.strip, text.replace("\\\n", " ").splitlines()):
        if line.startswith("["):
            section = line
        elif section == _SECTION and line.partition("=")[0].strip() == "Also":
            yield line.partition("=")[2]


def _expanded(word: str, unit: str) -> str | None:
    """``word`` with the specifiers for the unit's own name expanded, see systemd.unit(5); None if it has any other."""
    stem, _ = os.path.splitext(unit)
    prefix, _, instance = stem.partition("@")
    for specifier, value in (("%n", unit), ("%N", stem), ("%p", prefix), ("%i", instance)):
        word = word.replace(specifier, value)
    return None if "%" in word else word


class Link(NamedTuple):
    """A link at ``path`` to a unit file outside of the directories of systemd."""

    path: str
    target: str

    @property
    def is_runtime(self) -> bool:
        """Whether it disappears at the next boot."""
        return self.path.startswith("/run/")

    @property
    def is_gone(self) -> bool:
        """Whether it was removed. `systemctl disable` removes it together with the links that enable the unit."""
        return not os.path.lexists(self.path)


def link_of(unit: str, scope: Scope) -> Link | None:
    """The link that makes ``unit`` or its template known to systemd; None if there is a unit file instead."""
    own = {os.path.realpath(directory) for directory in directories(scope)}
    for name in filter(None, (unit, template_of(unit))):
        for directory in directories(scope):
            path = f"{directory}/{name}"
            if os.path.lexists(path):
                target = os.path.realpath(path)
                is_linked = os.path.islink(path) and os.path.isfile(target)
                return Link(path, target) if is_linked and os.path.dirname(target) not in own else None
    return None


def drop_ins_of(unit: str, scope: Scope) -> dict[str, list[str]]:
    """The drop-ins of ``unit``, by their names. Of several with the same name, the first wins.

    They are ordered by directory, then by how specific the name is; drop-ins for a whole type come last.
    """
    *narrow, whole_type = drop_in_names(unit)
    found: dict[str, list[str]] = {}
    for names in (narrow, [whole_type]):
        for directory in directories(scope):
            for name in names:
                for path in _listing(f"{directory}/{name}.d"):
                    found.setdefault(os.path.basename(path), []).append(path)
    return found


def has_unread(found: Mapping[str, Sequence[str]], read: Sequence[str]) -> bool:
    """Whether systemd, which has ``read`` these paths, would read different paths now."""
    read_as = {os.path.basename(path): path for path in read}
    return any(_is_unread(paths, read_as.get(name)) for name, paths in found.items())


def _is_unread(paths: Sequence[str], read: str | None) -> bool:
    """Whether the first drop-in of one name is unread. An empty drop-in hides the others, and need not be read.

    A drop-in that was read from another directory, such as that of a generator, is ignored.
    """
    if read is None:
        return not _is_empty(paths[0])
    first, *others = dict.fromkeys(map(_resolved, paths))
    return first != _resolved(read) and _resolved(read) in others


def _resolved(path: str) -> str:
    """The path for comparisons. Its directory is resolved, since /lib is /usr/lib on most machines.

    The drop-in itself may be a link, which is not resolved.
    """
    directory, name = os.path.split(path)
    return os.path.join(os.path.realpath(directory), name)


def _is_empty(path: str) -> bool:
    with suppress(OSError):
        return os.stat(path).st_size == 0  # also /dev/null
    return True


def _listing(directory: str) -> Sequence[str]:
    try:
        names = os.listdir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return [f"{directory}/{name}" for name in names if name.endswith(".conf")]
