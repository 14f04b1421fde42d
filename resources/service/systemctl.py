"""Controls systemd by the command systemctl, which root can use without a bus."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

import trio

from reactor import ResourceError
from reactor.resources.process import ENVIRONMENT, Command, Completed, output_tail, run
from reactor.resources.service import sysv, unit_errors
from reactor.resources.service.state import CONFLICTS, NOT_FOUND, USUAL, UnitState, relations_to_ask
from reactor.resources.service.systemd import PREFLIGHT_FACTS, FileChange, Job
from reactor.resources.service.unit_files import (
    drop_ins_of,
    enabled_with,
    has_unread,
    is_another,
    link_of,
    unit_files_of,
)
from reactor.watchers.dbus import Scope

_NO_SCRIPTS: Final = {**ENVIRONMENT, "SYSTEMCTL_SKIP_SYSV": "1"}
_INTERVAL: Final = 0.25
_RESTART_ATTEMPTS: Final = 40
_changing: Final = {scope: trio.Lock() for scope in Scope}
"""Held from a change of links until systemd has read them. Meanwhile, since version 255, it reports all units as
stale."""

_NEEDED: Final = {
    Scope.SYSTEM: "this kind needs systemd, and root or a bus to reach it",
    Scope.USER: "scope: user needs the systemd of the user who runs reactor: run it as the user of the units,"
    " who is logged in or has: loginctl enable-linger USER",
}
_STATE: Final = "Id,LoadState,LoadError,ActiveState,SubState,Job,NeedDaemonReload,DropInPaths,FragmentPath"


class Systemctl:
    """One systemd, controlled by processes of systemctl."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    async def state(self, unit: str, ensure: str, *, files: bool) -> UnitState:
        """The state of ``unit`` after a transition. A restart by systemd itself is awaited only for a limited time."""
        attempts = 0
        while (state := await self._look(unit)).is_on_its_way(ensure) and attempts < _RESTART_ATTEMPTS:
            attempts += state.awaits_restart
            await trio.sleep(_INTERVAL)
        state = replace(state, related=await self._active_among(unit, relations_to_ask(state, ensure)))
        if not files:
            return self._with_script(state, unit, "")
        kept = await self._file_state(unit)
        also = await self._also(unit) if kept == "indirect" else ()
        return self._with_script(replace(state, also=also), unit, kept)

    async def facts(self, unit: str, names: Collection[str] = PREFLIGHT_FACTS) -> Mapping[str, str]:
        """The properties of ``unit`` with these ``names``."""
        return await self._show(unit, ",".join(names))

    async def run(self, job: Job, unit: str) -> None:
        """Run the job, and wait for its end, after which a started unit runs."""
        completed = await self._systemctl(job, unit)
        if completed.exit_code != 0:
            raise await self._failed(unit, f"did not {job}", completed)
        if job is not Job.STOP and not (await self._look(unit)).is_running:
            raise await self._failed(unit, f"does not run after its {job}", completed)

    async def change_files(self, change: FileChange, unit: str) -> bool:
        """Make the change; systemctl reloads by itself.

        Always returns False: it does not report changed links usably.
        """
        if change in (FileChange.ENABLE, FileChange.DISABLE) and (script := await self._script(unit)):
            await sysv.change_links(change, script)
            return False
        link = link_of(unit, self._scope) if change is FileChange.DISABLE else None
        removes = change in (FileChange.DISABLE, FileChange.UNMASK)
        for options in [["--runtime"], []] if removes else [[]]:
            async with _changing[self._scope]:
                completed = await self._systemctl(change, *options, unit)
            if completed.exit_code != 0:
                raise ResourceError(f"{unit}: can't {change} it{output_tail('', completed.stderr)}")
            if link is not None and link.is_gone:  # without the link, there is no such unit
                await self._systemctl("link", *(["--runtime"] if link.is_runtime else []), link.target)
        return False

    async def reread(self, unit: str) -> None:
        """Reload systemd if the files of ``unit`` have changed since it last read them."""
        if self._with_script(await self._look(unit), unit, "").stale:
            await self._systemctl("daemon-reload")
            if (state := await self._look(unit)).stale:
                raise unit_errors.still_stale(unit, state.load)
            if self._with_script(state, unit, "").stale:
                raise unit_errors.not_generated(unit)

    async def _file_state(self, unit: str) -> str:
        """The answer of ``is-enabled`` for the unit file, without scripts in /etc/init.d. Raises ResourceError."""
        completed = await self._systemctl("is-enabled", unit, environment=_NO_SCRIPTS)
        if completed.stderr.rstrip().endswith(os.strerror(errno.EBADMSG)):
            raise unit_errors.unreadable(unit)
        return completed.stdout.strip().partition("\n")[0] or NOT_FOUND

    async def _script(self, unit: str) -> str | None:
        """The script whose links enable the unit; None if there is none, or a unit file overrides it."""
        script = sysv.script_of(unit) if self._scope is Scope.SYSTEM else None
        return script if script and await self._file_state(unit) == sysv.GENERATED else None

    def _with_script(self, state: UnitState, unit: str, kept: str) -> UnitState:
        script = sysv.script_of(unit) if self._scope is Scope.SYSTEM else None
        return sysv.with_script(replace(state, files=kept), script)

    async def _active_among(self, unit: str, properties: Sequence[str]) -> tuple[str, ...]:
        """The units that run or will, among the units that these ``properties`` of ``unit`` name."""
        shown = await self._show(unit, ",".join(properties)) if properties else {}
        names = {name for value in shown.values() for name in value.split()} - USUAL
        return tuple([name for name in sorted(names) if (await self._glance(name)).will_run])

    async def _also(self, unit: str) -> tuple[tuple[str, str], ...]:
        """The units in ``Also=`` of ``unit``, and of the indirect units among these, each with its file state."""
        return await enabled_with(unit, self._files_of, self._file_state)

    async def _files_of(self, unit: str) -> list[str]:
        shown = await self._show(unit, "FragmentPath,DropInPaths")
        return [shown["FragmentPath"], *shown["DropInPaths"].split()]

    async def _look(self, unit: str) -> UnitState:
        state = await self._glance(unit)
        if not state.stale:
            return state
        async with _changing[self._scope]:
            return await self._glance(unit)

    async def _glance(self, unit: str) -> UnitState:
        """The running state. Its ``stale`` may be due to changed links of other units."""
        shown = await self._show(unit, _STATE)
        job = "some" if shown["Job"] not in {"", "0"} else ""
        unread = has_unread(drop_ins_of(unit, self._scope), shown["DropInPaths"].split())
        files = unit_files_of(unit, self._scope)
        unread |= len(files) > 1 and is_another(files, shown["FragmentPath"])
        stale = shown["NeedDaemonReload"] == "yes" or unread or unit_errors.is_busy(shown["LoadError"])
        state = UnitState(shown["LoadState"], shown["ActiveState"], shown["SubState"], job, stale=stale)
        return replace(state, unit=shown["Id"])

    async def _show(self, unit: str, properties: str) -> dict[str, str]:
        completed = await self._systemctl("show", f"--property={properties}", "--", unit)
        if completed.exit_code != 0:
            raise ResourceError(
                f"systemd does not answer{output_tail('', completed.stderr)}", _NEEDED[self._scope]
            )
        lines = (line.partition("=") for line in completed.stdout.splitlines())
        return dict.fromkeys(properties.split(","), "") | {name: value for name, _, value in lines}

    async def _systemctl(self, *arguments: str, environment: Mapping[str, str] = ENVIRONMENT) -> Completed:
        return await run(Command(("systemctl", f"--{self._scope}", *arguments), "/", environment))

    async def _failed(self, unit: str, what: str, completed: Completed) -> ResourceError:
        facts = await self._show(unit, ",".join(unit_errors.FACTS))
        conflicting = await self._active_among(unit, CONFLICTS)
        error = await unit_errors.failed(self._scope, unit, what, facts, conflicting)
        return ResourceError(error.message + output_tail("", completed.stderr), error.hint)
