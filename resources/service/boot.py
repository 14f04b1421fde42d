"""Finds out whether anything starts an enabled unit at boot: its links may belong to a target that is never reached."""

from __future__ import annotations

import os
from typing import Final

import trio

from reactor.resources.enumeration import listed
from reactor.resources.service.enabled_links import linking_units, other_names
from reactor.resources.service.systemd import Systemd
from reactor.watchers.dbus import Scope
from reactor.watchers.units import directories

_DEFAULT: Final = "default.target"
_STARTED_BY: Final = ("WantedBy", "RequiredBy", "UpheldBy", "BoundBy", "TriggeredBy")
"""The properties that name the units which start a unit."""
_STARTS: Final = ("Wants", "Requires", "Upholds", "BindsTo")
"""The properties that name the units which a unit starts."""
_MOST: Final = 200
"""The most units to ask systemd about, for one unit."""
_started: Final[dict[tuple[Scope, str], set[str]]] = {}
"""Units that the default target starts, by its name."""
_searching: Final = trio.Lock()
"""One search at a time: what the first one finds is mostly what the others look for, without asking systemd again."""


async def idle_note(systemd: Systemd, unit: str, scope: Scope, files: str) -> str | None:
    """A note about a unit that is enabled, as ``files`` says, and that nothing starts at boot. None if something may.

    Raises ResourceError when systemd does not answer.
    """
    default = _default_target(scope)
    if default is None:
        return None
    aliases = other_names(unit, scope)
    idle = await _idle_starters(systemd, (unit, *aliases), scope, default)
    if idle is None:
        return None
    if idle:
        start, these = ("starts", "that") if len(idle) == 1 else ("start", "these")
        return f"{files}: only {listed(sorted(idle))} {start} it, and nothing starts {these} at boot"
    if aliases:
        return f"{files}: its [Install] only gives it other names ({listed(aliases)}), others start it"
    return None


async def _idle_starters(
    systemd: Systemd, names: tuple[str, ...], scope: Scope, default: str
) -> set[str] | None:
    """The units that start a unit with these ``names``; None if the ``default`` target starts one of them, or may."""
    linking = set[str]().union(*(linking_units(name, scope) for name in names))
    if linking & _known(scope, default):
        return None
    async with _searching:
        if await _are_started(systemd, linking, scope, default):
            return None
        direct = linking.union(*[await _asked(systemd, name, _STARTED_BY) for name in names])
        if await _are_started(systemd, direct, scope, default):
            return None
        await _follow_targets(systemd, scope, default)
        return None if await _are_started(systemd, direct.union(names), scope, default) else direct


def _known(scope: Scope, default: str) -> set[str]:
    return _started.setdefault((scope, default), {default, _DEFAULT})


async def _are_started(systemd: Systemd, names: set[str], scope: Scope, default: str) -> bool:
    """Whether the ``default`` target starts one of ``names``, or may start it."""
    known, seen, waiting = _known(scope, default), set[str](), [*names]
    while waiting:
        name = waiting.pop()
        if name in known:
            known |= names if len(names) == 1 else set()
            return True
        if "@." in name or len(seen) > _MOST:
            return True
        if name not in seen:
            seen.add(name)
            linking = linking_units(name, scope)
            waiting += linking if linking & known else linking | await _asked(systemd, name, _STARTED_BY)
    return False


async def _follow_targets(systemd: Systemd, scope: Scope, default: str) -> None:
    """Make known what the ``default`` target starts, and the targets that it starts.

    Asked who starts a unit, systemd names only units that it has loaded. A host that was booted into another target has
    not loaded the default one.
    """
    known, seen, waiting = _known(scope, default), set[str](), [default]
    while waiting and len(seen) <= _MOST:
        seen.add(name := waiting.pop())
        known |= (units := await _asked(systemd, name, _STARTS))
        waiting += {unit for unit in units if unit.endswith(".target")} - seen - {*waiting}


async def _asked(systemd: Systemd, name: str, properties: tuple[str, ...]) -> set[str]:
    """The units that these properties of ``name`` list, as systemd says."""
    facts = await systemd.facts(name, properties)
    return {unit for value in facts.values() for unit in value.split()}


def _default_target(scope: Scope) -> str | None:
    """The unit that the host starts at boot, or the manager of the user at its start; None if there is none."""
    for directory in directories(scope):
        if os.path.exists(path := f"{directory}/{_DEFAULT}"):
            return os.path.basename(os.path.realpath(path))
    return None
