"""The kind `service`: its properties, and the rules for their combinations."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Literal, TypeVar

from pydantic import PrivateAttr

from reactor import (
    Action,
    Claim,
    Flag,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    Watch,
    emit_note,
    in_thread,
)
from reactor.resources.service.boot import idle_note
from reactor.resources.service.planner import (
    DAEMON_RELOAD,
    DONE,
    Desired,
    Step,
    counts_as_enabled,
    done,
    plan_service,
)
from reactor.resources.service.preflight import refuse
from reactor.resources.service.presets import preset_directories, preset_of
from reactor.resources.service.state import UnitState, warning_of
from reactor.resources.service.systemctl import Systemctl
from reactor.resources.service.systemd import FileChange, Job, Systemd
from reactor.resources.service.systemd_dbus import dbus_systemd
from reactor.resources.service.sysv import scripts_of
from reactor.resources.service.unit_files import names_stamp
from reactor.watchers.dbus import NoBusError, Scope
from reactor.watchers.systemd import UnitWatch
from reactor.watchers.units import (
    UNIT_TYPES,
    directories,
    drop_in_names,
    real_name,
    template_of,
)

_LONGEST = 255
_WORD = re.compile(r"(?:[A-Za-z0-9._+:~@-]|\\x[0-9a-f]{2})+")
_DANGEROUS = re.compile(r"[;&|$`<>(){}\[\]*?!#'\"\\\n]")
ALLOWED = "use letters, digits and . _ + : ~ - @, as in nginx, nginx.socket or app@1"
_Answer = TypeVar("_Answer")


def name_problem(name: str) -> str | None:
    """Why ``name`` is not a valid unit name; None if it is.

    A name with a character that a shell interprets is refused.
    """
    if not _WORD.fullmatch(name):
        what = "dangerous" if _DANGEROUS.search(name) else "invalid"
        return f"service name contains {what} characters: {name!r}"
    if len(full_name(name)) > _LONGEST:
        return f"service name is longer than {_LONGEST} characters"
    stem = full_name(name).rpartition(".")[0]
    prefix, at, instance = stem.partition("@")
    if not stem or (at and not prefix):
        return f"service name has nothing before its {'@' if at else 'type'}: {name!r}"
    if at and not instance:
        return f"service name is that of a template: {name!r}"
    return None


def full_name(name: str) -> str:
    """The name with its type suffix, by default ``.service``."""
    return name if name.rpartition(".")[2] in UNIT_TYPES and "." in name else f"{name}.service"


@lru_cache(maxsize=4096)
def _name_at(stamp: object, unit: str, scope: Scope) -> str:  # noqa: ARG001 - the names change only with the stamp
    """The real name of ``unit``, as long as the directories of unit files have this ``stamp``."""
    return real_name(unit, scope)


class Service(Resource[UnitState], kind="service", providers=("systemd",)):
    """Manage one systemd unit: whether it runs, whether it starts at boot, and whether it can be started at all."""

    example = "nginx running --enable"
    may_undo = frozenset(("service",))

    ensure: Literal["running", "stopped"] = "running"
    """Whether the unit runs."""
    enable: Flag | None = None
    """Whether the unit starts at boot; unset, that is not managed."""
    masked: Flag | None = None
    """Whether the unit is masked, so that nothing can start it, not even by hand; unset, that is not managed."""
    preset: Flag = False
    """Whether the presets of this host decide if the unit is enabled, see systemd.preset(5)."""
    on_refresh: Literal["restart", "reload", "reload-or-restart"] = "restart"
    """The job for a running unit when a resource that it subscribes to has changed."""
    scope: Literal["system", "user"] = "system"
    """Whether the unit belongs to the system, or to the user that runs reactor."""

    _reported: str | None = PrivateAttr(default=None)
    """The last emitted note about how it is enabled."""
    _noted: tuple[object, ...] = PrivateAttr(default=())
    """How it, and what it names in Also=, was enabled at the last check."""
    _warned: str | None = PrivateAttr(default=None)
    """The last emitted note about what keeps it from staying as desired."""

    @property
    def unit(self) -> str:
        """The full name of the unit."""
        return full_name(self.name)

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Invalid names, and masked units that must run or be enabled."""
        yield from super().property_problems()
        if fault := name_problem(self.name):
            yield PropertyProblem(("name",), fault, ALLOWED)
        if self.preset and self.enable is not None:
            yield PropertyProblem(
                ("preset",), "preset and enable are mutually exclusive", "remove one of them"
            )
        if self.masked:
            if self.preset:
                yield PropertyProblem(("preset",), "a masked unit can't be enabled", "remove preset")
            hint = "write ensure: stopped, or remove masked"
            if self.ensure == "running":
                yield PropertyProblem(("masked",), "a masked unit can't be running", hint)
            if self.enable:
                yield PropertyProblem(("enable",), "a masked unit can't be enabled", "remove enable")

    def watches(self) -> Iterable[Watch]:
        """The unit, with its files and the links that enable it."""
        yield UnitWatch(self.unit, Scope(self.scope))
        if self.preset:
            yield from (PathWatch(path) for path in preset_directories(Scope(self.scope)))

    def relations(self) -> Relations:
        """Its relations to other resources.

        Depends on: Its unit file and its drop-ins, in all directories where they may be.
        """
        return Relations(depends_on=tuple(self._unit_paths()))

    def _unit_paths(self) -> Iterator[str]:
        for directory in directories(Scope(self.scope)):
            yield from (f"{directory}/{name}" for name in (self.unit, template_of(self.unit)) if name)
            yield from (f"{directory}/{name}.d/" for name in drop_in_names(self.unit))
        if self.scope == "system":
            yield from scripts_of(self.unit)
        if self.preset:
            yield from (f"{directory}/" for directory in preset_directories(Scope(self.scope)))

    def consequences(self, changed: Collection[str]) -> Sequence[str]:
        """That systemd would read the files of the unit again, if the changes would replace one of them."""
        files = tuple(self._unit_paths())
        if any(
            path in files or path.startswith(tuple(f for f in files if f.endswith("/"))) for path in changed
        ):
            return (f"Would have {DONE[DAEMON_RELOAD]}",)
        return ()

    def sandbox_access(self) -> Iterable[str]:
        """Nothing: systemd makes the changes."""
        return ()

    def claims(self) -> Iterable[Claim]:
        """The unit, by its real name, with its managed properties."""
        desired = {"ensure": self.ensure, "enable": self.enable, "masked": self.masked}
        scope = Scope(self.scope)
        stamp = names_stamp(scope)
        unit = real_name(self.unit, scope) if stamp is None else _name_at(stamp, self.unit, scope)
        key = unit if self.scope == "system" else f"{unit} of the user"
        wanted = {name: value for name, value in desired.items() if value is not None}
        yield Claim("unit", key, wanted, stamp=stamp)

    async def observe(self) -> UnitState:
        """The state of the unit, after any transition that it is in.

        Raises ResourceError when systemd does not answer.
        """
        desired = self._desired
        state = await self._state(files=desired.wants_files)
        if self.enable and self._noted != (state.files, state.also) and counts_as_enabled(desired, state):
            await self._note_boot(state)
        self._warn(state)
        return state

    async def _note_boot(self, state: UnitState) -> None:
        """Emit a note, once, about a unit that counts as enabled, but may not start at boot."""
        self._noted = (state.files, state.also)
        found = await self._boot_note(state)
        if found not in (self._reported, None):
            emit_note(found)
        self._reported = found

    async def _boot_note(self, state: UnitState) -> str | None:
        if state.files != "enabled":
            return state.boot_note
        scope = Scope(self.scope)
        return await self.with_systemd(lambda systemd: idle_note(systemd, self.unit, scope, state.files))

    def _warn(self, state: UnitState) -> None:
        """Emit a note, once, about what keeps the unit from staying as desired."""
        found = self._warning(state)
        if found not in (self._warned, None):
            emit_note(found)
        self._warned = found

    def _warning(self, state: UnitState) -> str | None:
        """About a mask on a unit that runs; about sockets, timers and paths that will start one that should be stopped."""
        if self.ensure == "running":
            return None if self.masked is False else state.last_run_note
        return warning_of(state.related) if state.related and not self.masked else None

    async def describe(self) -> Mapping[str, Any]:
        """The state, with whether the unit is enabled, which a check queries only if that is managed."""
        state = await self._state(files=True)
        if not state.is_there:
            return {"ensure": "absent"}
        running = "running" if state.is_running else "stopped"
        found = {"ensure": running, "enable": state.at_boot, "masked": state.is_masked}
        note = await self._boot_note(state)
        at_boot = {} if note is None else {"at_boot": note}
        known_as = {"unit": state.unit} if state.unit not in {"", self.unit} else {}
        return {**found, **at_boot, **known_as, "active": state.active, "sub": state.sub}

    @classmethod
    def unavailable_reason(cls, provider: str) -> str | None:  # noqa: ARG003 - there is one
        """The reason if systemd does not run, by the test of sd_booted(3); None if it runs."""
        return None if os.path.isdir("/run/systemd/system") else "systemd does not run here"

    def plan(self, state: UnitState, *, refresh: bool) -> Plan:
        """The plan by the decision table, `plan_service`. Raises ResourceError."""
        desired = self._desired
        return tuple(
            self._action(desired, step, state) for step in plan_service(desired, state, refresh=refresh)
        )

    async def preflight(self, state: UnitState) -> None:
        """Ask systemd for reasons why the plan would fail."""
        await self.with_systemd(lambda systemd: refuse(systemd, self._desired, state))

    @property
    def _desired(self) -> Desired:
        refresh = Job(self.on_refresh)
        by_table = self.declared.form.is_ccm
        return Desired(
            self.unit, self.ensure, self.enable, self.masked, refresh, self.preset, by_table=by_table
        )

    async def _state(self, *, files: bool) -> UnitState:
        state = await self.with_systemd(lambda systemd: systemd.state(self.unit, self.ensure, files=files))
        if (self.masked and state.files != "masked") or self.enable is False:
            place = os.path.join(directories(Scope(self.scope))[0], self.unit)
            state = replace(state, in_place_of_mask=place if await in_thread(os.path.lexists, place) else "")
        if not self.preset:
            return state
        return replace(state, preset=await in_thread(preset_of, self.unit, Scope(self.scope)))

    async def with_systemd(self, work: Callable[[Systemd], Awaitable[_Answer]]) -> _Answer:
        """Run ``work`` over D-Bus; by systemctl if there is no bus, and again if the bus is lost meanwhile.

        A second start or stop joins the job that runs. A restart is repeated.
        """
        try:
            return await work(await dbus_systemd(Scope(self.scope)))
        except NoBusError:
            return await work(Systemctl(Scope(self.scope)))

    def _action(self, desired: Desired, step: Step, state: UnitState) -> Action:
        run = partial(self.with_systemd, partial(self._do, step))
        words = done(desired, step, state)
        # systemd may change no link at all, and reports the links that it changed.
        is_change = isinstance(step, FileChange)
        return Action.saying(words, run, is_proof=not is_change, reads_back=is_change)

    async def _do(self, step: Step, systemd: Systemd) -> bool:
        if isinstance(step, FileChange):
            return await systemd.change_files(step, self.unit)
        if isinstance(step, Job):
            await systemd.run(step, self.unit)
        else:
            await systemd.reread(self.unit)
        return True
