"""Finds out whether anything starts an enabled unit at boot: its links may belong to a target that is never reached."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from typing import Final

from reactor.resources.service.state import listed
from reactor.resources.service.systemd import Systemd
from reactor.watchers.dbus import Scope
from reactor.watchers.units import directories

_DEFAULT: Final = "default.target"
_STARTED_BY: Final = ("WantedBy", "RequiredBy", "UpheldBy", "BoundBy", "TriggeredBy")
"""The properties that name the units which start a unit."""
_MOST: Final = 200
"""The most units to ask systemd about, for one unit."""
_started: Final[dict[tuple[Scope, str], set[str]]] = {}
"""Units that the default target starts, by its name."""


async def idle_note(systemd: Systemd, unit: str, scope: Scope, files: str) -> str | None:
    """A note about a unit that is enabled, as ``files`` says, and that nothing starts at boot. None if something may.

    Raises ResourceError when systemd does not answer.
    """
    default = _default_target(scope)
    if default is None:
        return None
    aliases = _aliases(unit, scope)
    direct = set[str]()
    for name in (unit, *aliases):
        direct |= await _starting(systemd, name, scope, default)
    if await _are_started(systemd, direct, scope, default):
        return None
    if direct:
        start, these = ("starts", "that") if len(direct) == 1 else ("start", "these")
        return f"{files}: only {listed(sorted(direct))} {start} it, and nothing starts {these} at boot"
    if aliases:
        return f"{files}: its [Install] only gives it other names ({listed(aliases)}), others start it"
    return None


async def _are_started(systemd: Systemd, names: set[str], scope: Scope, default: str) -> bool:
    """Whether the ``default`` target starts one of ``names``, or may start it."""
    known, seen, waiting = _started.setdefault((scope, default), {default, _DEFAULT}), set[str](), [*names]
    while waiting:
        name = waiting.pop()
        if name in known:
            known |= names if len(names) == 1 else set()
            return True
        if "@." in name or len(seen) > _MOST:
            return True
        if name not in seen:
            seen.add(name)
            waiting += await _starting(systemd, name, scope, default)
    return False


async def _starting(systemd: Systemd, name: str, scope: Scope, default: str) -> set[str]:
    """The units that start ``name``. systemd is not asked if the links name one that the default target starts."""
    linked = set(_linking(name, scope))
    if linked & _started.get((scope, default), set()):
        return linked
    facts = await systemd.facts(name, _STARTED_BY)
    return linked.union(*(value.split() for value in facts.values()))


def _default_target(scope: Scope) -> str | None:
    """The unit that the host starts at boot, or the manager of the user at its start; None if there is none."""
    for directory in directories(scope):
        if os.path.exists(path := f"{directory}/{_DEFAULT}"):
            return os.path.basename(os.path.realpath(path))
    return None


def _changed_by_enable(scope: Scope) -> Iterator[str]:
    """The directories where `systemctl enable` makes links."""
    return (each for each in directories(scope) if not each.startswith(("/usr/", "/lib/")))


def _linking(unit: str, scope: Scope) -> Iterator[str]:
    """The units with a link that starts ``unit``, also if systemd has not read the link yet."""
    for directory in _changed_by_enable(scope):
        for kind in ("wants", "requires", "upholds"):
            for link in glob.iglob(f"{glob.escape(directory)}/*.{kind}/{glob.escape(unit)}"):
                yield os.path.basename(os.path.dirname(link)).removesuffix(f".{kind}")


def _aliases(unit: str, scope: Scope) -> list[str]:
    """The other names that links give ``unit``."""
    suffix = os.path.splitext(unit)[1]
    links = (
        link
        for directory in _changed_by_enable(scope)
        for link in glob.iglob(f"{glob.escape(directory)}/*{suffix}")
        if os.path.islink(link) and os.path.basename(os.readlink(link)) == unit
    )
    return sorted({os.path.basename(link) for link in links} - {unit})
