"""Controls systemd over D-Bus: awaits jobs and transitions, and reloads the manager only when needed."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Collection, Mapping
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
from reactor.resources.service.systemd import PREFLIGHT_FACTS, FileChange, Job
from reactor.resources.service.unit_files import Link, link_of
from reactor.watchers.dbus import Bus, CallError, Message, NoBusError, Scope, connect
from reactor.watchers.units import (
    SYSTEMD,
    manager_signal,
    pin,
    properties_changed,
    subscribe,
)

RESTART_TIMEOUT = 10.0
"""Seconds for which a restart by systemd itself is awaited."""

PROOF = 0.1
"""Seconds for which a unit of Type=simple must run: its start job ends before its program is even found."""

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
    """The systemd of ``scope``, over the shared connection to its bus. Raises NoBusError when there is no bus."""
    bus = await connect(scope)
    systemd = _latest.get(scope)
    if systemd is None or systemd.bus is not bus:
        systemd = _latest[scope] = DbusSystemd(bus, scope)
    return systemd


class DbusSystemd:
    """One systemd on one connection. All methods raise NoBusError when the connection or systemd is lost."""

    def __init__(self, bus: Bus, scope: Scope) -> None:
        self.bus = bus
        self._scope = scope
        self._queries = UnitQueries(bus, scope)
        self._is_subscribed = False
        self._looked_at: set[str] = set()
        self._reloads = DaemonReloads(partial(self._queries.call, "Reload"))

    async def state(self, unit: str, ensure: str, *, files: bool) -> UnitState:
        """The state of ``unit`` after a transition. A restart by systemd itself is awaited only for a limited time.

        All queries are sent at once. The answer about the files may be older than the others; a later change causes an
        event.
        """
        async with self._working_on(unit):
            running = await self._queries.ask("ListUnitsByNames", "as", [unit])
            enablement = await self._queries.ask("GetUnitFileState", "s", unit) if files else None
            related = await self._queries.ask_named(unit, self._relations_at_once(unit, ensure))
            reloads = self._reloads.begun
            staleness = await self._queries.ask_whether_stale(unit)
            script = sysv.script_of(unit) if self._scope is Scope.SYSTEM else None
            self._looked_at.add(unit)
            state, path = found_state(unit, await running.answer())
            if state.is_on_its_way(ensure):
                state = await self._settled(unit, path, ensure)
            if (needed := relations_to_ask(state, ensure)) != related.properties:
                related = await self._queries.ask_named(unit, needed)
            kept = "" if enablement is None else await file_state(enablement)
            found = replace(
                state,
                stale=(await staleness.answer() or await self._queries.is_called_busy(unit, state.load))
                and not self._reloads.cover(unit, reloads),
                files=kept,
                also=await self._queries.also(unit) if kept == "indirect" else (),
                related=await self._queries.active_among(related),
            )
            return sysv.with_script(found, script)

    def _relations_at_once(self, unit: str, ensure: str) -> tuple[str, ...]:
        """The relations of ``unit`` to ask for before its state is known.

        A further look at a unit mostly means that it has stopped: its start does not wait for another answer then.
        """
        return CONFLICTS if ensure == "running" and unit in self._looked_at else ()

    async def facts(self, unit: str, names: Collection[str] = PREFLIGHT_FACTS) -> Mapping[str, str]:
        """The properties of ``unit`` with these ``names``, as in ``systemctl show``."""
        async with self._working_on(unit):
            _, path = await self._queries.look(unit)
            found = await self._queries.properties(unit, path)
        return {name: _in_words(value) for name, value in found.items() if name in names}

    async def run(self, job: Job, unit: str) -> None:
        """Run the job, and wait for its end, after which a started unit runs."""
        async with self._working_on(unit):
            if self._reloads.is_pending(unit):  # systemd may still know the unit as masked
                await self._reloads.make()
            await pin(self.bus, unit)
            result = await self._result_of(job, unit)
            if result == "failed":
                raise await self._failed(unit, f"did not {job}")
            if result != "done":  # the job did not run: the properties describe an earlier job
                conflicting = await self._conflicting(unit)
                raise await unit_errors.failed(
                    self._scope, unit, f"did not {job} ({result})", {}, conflicting
                )
            if job is not Job.STOP and not await self._stays_up(unit):
                raise await self._failed(unit, f"does not run after its {job}")

    async def change_files(self, change: FileChange, unit: str) -> bool:
        """Make the change, for this boot and all later ones. systemd reloads soon, or before the next job.

        Returns whether systemd reported changed links. It reports none if all links were right, so a change without
        effect is not repeated.
        """
        async with self._working_on(unit):
            with self._reloads.changing(unit):
                if change in (FileChange.ENABLE, FileChange.DISABLE) and (script := await self._script(unit)):
                    await sysv.change_links(change, script)
                    return False
                match change:
                    case FileChange.ENABLE:
                        return await self._enable(unit)
                    case FileChange.DISABLE:
                        return await self._remove_links("DisableUnitFiles", unit, link_of(unit, self._scope))
                    case FileChange.MASK:
                        (made,) = await self._queries.call("MaskUnitFiles", "asbb", [unit], False, False)
                        return bool(made)
                    case FileChange.UNMASK:
                        return await self._remove_links("UnmaskUnitFiles", unit, None)

    async def _enable(self, unit: str) -> bool:
        can_be_enabled, made = await self._queries.call("EnableUnitFiles", "asbb", [unit], False, False)
        if not can_be_enabled and await self._queries.file_state_of(unit) != "static":  # after a mask
            hint = "leave `enable` out, or have something else want it: it has no [Install] section"
            raise ResourceError(f"{unit} can't be enabled", hint)
        return bool(made)

    async def _remove_links(self, method: str, unit: str, kept: Link | None) -> bool:
        """Remove the links for this boot and for later ones, but not ``kept``, by which systemd knows the unit."""
        changed: list[Any] = []
        for runtime in (True, False):
            (removed,) = await self._queries.call(method, "asb", [unit], runtime)
            changed += removed
            if kept is not None and kept.is_gone:
                await self._queries.call("LinkUnitFiles", "asbb", [kept.target], kept.is_runtime, False)
        return bool(changed)

    async def reread(self, unit: str) -> None:
        """Reload systemd if the files of ``unit`` have changed since it last read them."""

        async def is_stale() -> bool:
            asked = await self._queries.ask_whether_stale(unit)
            return await asked.answer() or await is_unread() or await is_busy()

        async def is_unread() -> bool:
            state, _ = await self._queries.look(unit)
            return self._scope is Scope.SYSTEM and sysv.is_unread(state, unit)

        async def is_busy() -> bool:
            state, _ = await self._queries.look(unit)
            return await self._queries.is_called_busy(unit, state.load)

        async with self._working_on(unit):
            await self._reloads.make_if(is_stale)
            if await is_unread():
                raise unit_errors.not_generated(unit)
            if await is_stale():
                state, _ = await self._queries.look(unit)
                raise unit_errors.still_stale(unit, state.load)

    @asynccontextmanager
    async def regenerating(self, source: str) -> AsyncIterator[None]:
        """Within the block, change the file ``source``; soon after, systemd generates the units from it again."""
        async with self._working_on(source):
            with self._reloads.changing(source):
                yield

    async def _settled(self, unit: str, path: str, ensure: str) -> UnitState:
        await self._subscribe()
        async with self.bus.signals(properties_changed(path), manager_signal("JobRemoved")) as messages:
            state, _ = await self._queries.look(unit)
            with trio.CancelScope() as timeout:
                while state.is_on_its_way(ensure):
                    if state.awaits_restart and math.isinf(timeout.deadline):
                        timeout.deadline = trio.current_time() + RESTART_TIMEOUT
                    await _some(messages)
                    state, _ = await self._queries.look(unit)
        return state

    async def _stays_up(self, unit: str) -> bool:
        """Whether the unit runs after the job, which the result ``done`` alone does not prove."""
        running = await self._queries.ask("ListUnitsByNames", "as", [unit])
        kind = (
            await self._queries.ask_of(unit, f"{SYSTEMD}.Service", "Type")
            if unit.endswith(".service")
            else None
        )
        state, path = found_state(unit, await running.answer())
        if state.is_running and kind is not None and (await kind.answer())[0] in {"simple", "idle"}:
            await self._subscribe()
            async with self.bus.signals(properties_changed(path)) as messages:
                with trio.move_on_after(PROOF):
                    while (state := (await self._queries.look(unit))[0]).is_running:
                        await _some(messages)
        return state.is_running or (state.is_on_its_way("running") and not state.is_ending)

    async def _script(self, unit: str) -> str | None:
        """The script whose links enable the unit; None if there is none, or a unit file overrides it."""
        script = sysv.script_of(unit) if self._scope is Scope.SYSTEM else None
        if script is None or await self._queries.file_state_of(unit) != sysv.GENERATED:
            return None
        return script

    @asynccontextmanager
    async def _working_on(self, unit: str) -> AsyncIterator[None]:
        """Turn errors of calls about ``unit`` into ResourceErrors, and share reloads."""
        try:
            async with self._reloads.shared():
                yield
        except CallError as error:
            if error.name in _AWAY:
                raise NoBusError(f"systemd is not on the {self._scope} bus now") from error
            raise unit_errors.refused(unit, error) from error

    async def _result_of(self, job: Job, unit: str) -> str:
        """Run a job to its end, and return its result, which only systemd itself can report."""
        # The signal about the end of the job may arrive before the answer with its path.
        async with self.bus.signals(manager_signal("JobRemoved")) as removed:
            started = await self._queries.ask(_METHODS[job], "ss", unit, "replace")
            (path,) = await started.answer()
            while True:
                signal = await _next(removed)
                if signal.sender != started.sender:
                    continue
                _, ended, _, result = signal.body
                if ended == path:
                    return str(result)

    async def _subscribe(self) -> None:
        if not self._is_subscribed:
            await subscribe(self.bus)
            self._is_subscribed = True

    async def _failed(self, unit: str, what: str) -> ResourceError:
        """The error, with the reason that systemd gives."""
        _, path = await self._queries.look(unit)
        found = await self._queries.properties(unit, path)
        return await unit_errors.failed(self._scope, unit, what, found, await self._conflicting(unit))

    async def _conflicting(self, unit: str) -> tuple[str, ...]:
        """The units that run or will, and can't run at the same time as ``unit``."""
        return await self._queries.active_among(await self._queries.ask_named(unit, CONFLICTS))


def _in_words(value: object) -> str:
    """A property as systemctl shows it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


async def _next(messages: trio.MemoryReceiveChannel[Message]) -> Message:
    try:
        return await messages.receive()
    except trio.EndOfChannel:
        raise NoBusError("the connection to the bus was lost while waiting for systemd") from None


async def _some(messages: trio.MemoryReceiveChannel[Message]) -> None:
    """Wait for a signal, and drain the channel: one query of the state covers all signals."""
    await _next(messages)
    with suppress(trio.WouldBlock, trio.EndOfChannel):
        while True:
            messages.receive_nowait()
