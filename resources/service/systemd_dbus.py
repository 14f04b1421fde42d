"""systemd over D-Bus: jobs are awaited, states are those after the transition, the manager reloads only when needed."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

import trio

from reactor import ResourceError
from reactor.resources.service import sysv, unit_errors
from reactor.resources.service.daemon_reload import DaemonReloads
from reactor.resources.service.dbus_queries import UnitQueries, file_state, found_state
from reactor.resources.service.state import CONFLICTS, UnitState, relations_to_ask
from reactor.resources.service.systemd import FORESEEN, FileChange, Job
from reactor.resources.service.unit_files import (
    link_of,
)
from reactor.watchers.dbus import Bus, CallError, Message, NoBusError, Scope, connect
from reactor.watchers.units import (
    SYSTEMD,
    manager_signal,
    pin,
    properties_changed,
    subscribe,
)

RESTART_PATIENCE = 10.0
"""Seconds for which a unit that systemd restarts by itself is waited for."""

PROOF = 0.1
"""Seconds for which a unit of Type=simple must have run: its start is done before its program was even found."""

_METHODS: Final = {
    Job.START: "StartUnit",
    Job.STOP: "StopUnit",
    Job.RESTART: "RestartUnit",
    Job.RELOAD: "ReloadUnit",
    Job.RELOAD_OR_RESTART: "ReloadOrRestartUnit",
}
_AWAY: Final = {
    f"org.freedesktop.DBus.Error.{name}"
    for name in ("ServiceUnknown", "NameHasNoOwner", "NoReply", "Disconnected")
}

_latest: dict[Scope, DbusSystemd] = {}


async def dbus_systemd(scope: Scope) -> DbusSystemd:
    """The systemd of ``scope``, by the one connection to its bus. Raises NoBusError when there is none."""
    bus = await connect(scope)
    systemd = _latest.get(scope)
    if systemd is None or systemd.bus is not bus:
        systemd = _latest[scope] = DbusSystemd(bus, scope)
    return systemd


class DbusSystemd:
    """One systemd behind one connection. Everything raises NoBusError when either goes away."""

    def __init__(self, bus: Bus, scope: Scope) -> None:
        self.bus = bus
        self._scope = scope
        self._queries = UnitQueries(bus, scope)
        self._is_subscribed = False
        self._reloads = DaemonReloads(partial(self._queries.call, "Reload"))

    async def state(self, unit: str, ensure: str, *, files: bool) -> UnitState:
        """The state of ``unit``, once it is not on its way to another; a restart by systemd itself may take too long.

        All is asked at once. What is known of the files may be older than the rest by the time that took; whoever
        changes them meanwhile is heard.
        """
        async with self._working_on(unit):
            running = await self._queries.ask("ListUnitsByNames", "as", [unit])
            staleness, reloads = await self._queries.ask_whether_stale(unit), self._reloads.begun
            enablement = await self._queries.ask("GetUnitFileState", "s", unit) if files else None
            state, path = found_state(unit, await running.answer())
            if state.is_on_its_way(ensure):
                state = await self._settled(unit, path, ensure)
            kept = "" if enablement is None else await file_state(enablement)
            state = replace(
                state,
                stale=await staleness.answer() and not self._reloads.cover(unit, reloads),
                files=kept,
                also=await self._queries.also(unit) if kept == "indirect" else (),
                related=await self._queries.active_among(unit, relations_to_ask(state, ensure)),
            )
            return sysv.with_script(state, unit, kept) if self._scope is Scope.SYSTEM else state

    async def facts(self, unit: str) -> Mapping[str, str]:
        """What a rehearsal asks of ``unit``, as ``systemctl show`` words it."""
        async with self._working_on(unit):
            _, path = await self._queries.look(unit)
            found = await self._queries.properties(unit, path)
        return {name: _in_words(value) for name, value in found.items() if name in FORESEEN}

    async def run(self, job: Job, unit: str) -> None:
        """Do it and wait for its end; what was started runs then."""
        async with self._working_on(unit):
            if self._reloads.is_owed(unit):  # what it knows as masked, it does not start
                await self._reloads.make()
            await pin(self.bus, unit)
            result = await self._result_of(job, unit)
            if result == "failed":
                raise await self._failed(unit, f"did not {job}")
            if result != "done":  # it was not tried, so that what is known of its end is about an earlier one
                conflicting = await self._queries.active_among(unit, CONFLICTS)
                raise await unit_errors.failed(
                    self._scope, unit, f"did not {job} ({result})", {}, conflicting
                )
            if job is not Job.STOP and not await self._stays_up(unit):
                raise await self._failed(unit, f"does not run after its {job}")

    async def change_files(self, change: FileChange, unit: str) -> bool:
        """Do it, for this boot and for all others, and have systemd know of it: soon, or before the next job.

        Returns whether systemd has told of links that it made or removed. It tells of none where all were as they should
        be: a change that has no effect counts as made once at most.
        """
        async with self._working_on(unit):
            with self._reloads.changing(unit):
                if change in (FileChange.ENABLE, FileChange.DISABLE) and (script := await self._script(unit)):
                    await sysv.change_links(change, script)
                    return False
                link = link_of(unit, self._scope) if change is FileChange.DISABLE else None
                changed: list[Any] = []
                match change:
                    case FileChange.ENABLE:
                        can_be_enabled, changed = await self._queries.call(
                            "EnableUnitFiles", "asbb", [unit], False, False
                        )
                        if (
                            not can_be_enabled and await self._queries.file_state_of(unit) != "static"
                        ):  # after a mask
                            hint = "leave `enable` out, or have something else want it: it has no [Install] section"
                            raise ResourceError(f"{unit} can't be enabled", hint)
                    case FileChange.MASK:
                        (changed,) = await self._queries.call("MaskUnitFiles", "asbb", [unit], False, False)
                    case FileChange.DISABLE | FileChange.UNMASK:
                        method = "DisableUnitFiles" if change is FileChange.DISABLE else "UnmaskUnitFiles"
                        for runtime in (True, False):
                            (removed,) = await self._queries.call(method, "asb", [unit], runtime)
                            changed += removed
                            if link is not None and link.is_gone:  # without it there is no such unit
                                await self._queries.call(
                                    "LinkUnitFiles", "asbb", [link.target], link.is_runtime, False
                                )
                return bool(changed)

    async def reread(self, unit: str) -> None:
        """Reload if the files of ``unit`` have changed since the last time."""

        async def is_stale() -> bool:
            return await (await self._queries.ask_whether_stale(unit)).answer() or await is_unread()

        async def is_unread() -> bool:
            state, _ = await self._queries.look(unit)
            return self._scope is Scope.SYSTEM and sysv.is_unread(state, unit)

        async with self._working_on(unit):
            await self._reloads.make_if(is_stale)
            if await is_unread():
                raise unit_errors.not_generated(unit)
            if await is_stale():
                raise unit_errors.still_stale(unit)

    @asynccontextmanager
    async def regenerating(self, source: str) -> AsyncIterator[None]:
        """Change the file ``source`` in here: soon after, systemd makes the units anew that come from it."""
        async with self._working_on(source):
            with self._reloads.changing(source):
                yield

    async def _settled(self, unit: str, path: str, ensure: str) -> UnitState:
        await self._subscribe()
        async with self.bus.signals(properties_changed(path), manager_signal("JobRemoved")) as news:
            state, _ = await self._queries.look(unit)
            with trio.CancelScope() as patience:
                while state.is_on_its_way(ensure):
                    if state.awaits_restart and math.isinf(patience.deadline):
                        patience.deadline = trio.current_time() + RESTART_PATIENCE
                    await _some(news)
                    state, _ = await self._queries.look(unit)
        return state

    async def _stays_up(self, unit: str) -> bool:
        """Whether the unit runs now that the job is done. ``done`` alone does not say so."""
        running = await self._queries.ask("ListUnitsByNames", "as", [unit])
        kind = (
            await self._queries.ask_of(unit, f"{SYSTEMD}.Service", "Type")
            if unit.endswith(".service")
            else None
        )
        state, path = found_state(unit, await running.answer())
        if state.is_running and kind is not None and (await kind.answer())[0] in {"simple", "idle"}:
            await self._subscribe()
            async with self.bus.signals(properties_changed(path)) as news:
                with trio.move_on_after(PROOF):
                    while (state := (await self._queries.look(unit))[0]).is_running:
                        await _some(news)
        return state.is_running or (state.is_on_its_way("running") and not state.awaits_restart)

    async def _script(self, unit: str) -> str | None:
        """The script whose links enable the unit, if any: a unit file of its own hides that."""
        script = sysv.script_of(unit) if self._scope is Scope.SYSTEM else None
        if script is None or await self._queries.file_state_of(unit) != sysv.GENERATED:
            return None
        return script

    @asynccontextmanager
    async def _working_on(self, unit: str) -> AsyncIterator[None]:
        """Turn the errors of calls about ``unit`` into those that people read, and share reloads."""
        try:
            async with self._reloads.shared():
                yield
        except CallError as error:
            if error.name in _AWAY:
                raise NoBusError(f"systemd is not on the {self._scope} bus now") from error
            raise unit_errors.refused(unit, error) from error

    async def _result_of(self, job: Job, unit: str) -> str:
        """Run a job to its end, and return what systemd calls its result."""
        # The end of a job may be told before its path is.
        async with self.bus.signals(manager_signal("JobRemoved")) as removed:
            (path,) = await self._queries.call(_METHODS[job], "ss", unit, "replace")
            while True:
                _, ended, _, result = (await _next(removed)).body
                if ended == path:
                    return str(result)

    async def _subscribe(self) -> None:
        if not self._is_subscribed:
            await subscribe(self.bus)
            self._is_subscribed = True

    async def _failed(self, unit: str, what: str) -> ResourceError:
        """The error, with what systemd knows of its reason."""
        _, path = await self._queries.look(unit)
        found = await self._queries.properties(unit, path)
        return await unit_errors.failed(
            self._scope, unit, what, found, await self._queries.active_among(unit, CONFLICTS)
        )


def _in_words(value: object) -> str:
    """A property as systemctl shows it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


async def _next(news: trio.MemoryReceiveChannel[Message]) -> Message:
    try:
        return await news.receive()
    except trio.EndOfChannel:
        raise NoBusError("the connection to the bus was lost while waiting for systemd") from None


async def _some(news: trio.MemoryReceiveChannel[Message]) -> None:
    """Wait for news, and take all there is: one look is enough for all of it."""
    await _next(news)
    with suppress(trio.WouldBlock, trio.EndOfChannel):
        while True:
            news.receive_nowait()
