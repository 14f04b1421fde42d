"""Queries systemd over D-Bus: reads the state of units, and changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from reactor import ResourceError
from reactor.resources.service.state import NOT_FOUND, USUAL, UnitState
from reactor.resources.service.unit_errors import is_busy
from reactor.resources.service.unit_files import (
    drop_ins_of,
    enabled_with,
    has_unread,
    is_another,
    unit_files_of,
)
from reactor.watchers.dbus import PROPERTIES, Bus, CallError, Question, Scope
from reactor.watchers.units import MANAGER, MANAGER_PATH, SYSTEMD, UNIT, object_path


class UnitQueries:
    """Queries of the systemd of ``scope`` on ``bus``. All raise CallError, and NoBusError when the bus is lost.

    ``ask*`` send a query and return at once, so that several can be in progress together. The others wait for the
    answer.
    """

    def __init__(self, bus: Bus, scope: Scope) -> None:
        self._bus = bus
        self._scope = scope

    async def ask(self, member: str, signature: str = "", *body: Any) -> Question:
        """Begin to call the method ``member`` of the manager."""
        return await self._bus.ask(SYSTEMD, MANAGER_PATH, MANAGER, member, signature, *body)

    async def ask_of(self, unit: str, interface: str, name: str) -> Question:
        """Begin to get the property ``name`` of ``unit``."""
        return await self._bus.ask(SYSTEMD, object_path(unit), PROPERTIES, "Get", "ss", interface, name)

    async def ask_whether_stale(self, unit: str) -> Staleness:
        """Begin to find out whether the files of ``unit`` have changed since systemd read them."""
        needs_reload = await self.ask_of(unit, UNIT, "NeedDaemonReload")
        self._bus.flush()  # systemd answers while the files are looked at
        drop_ins = drop_ins_of(unit, self._scope)
        read = await self.ask_of(unit, UNIT, "DropInPaths") if drop_ins else None
        files = unit_files_of(unit, self._scope)
        file = await self.ask_of(unit, UNIT, "FragmentPath") if len(files) > 1 else None
        return Staleness(needs_reload, drop_ins, read, files, file)

    async def is_called_busy(self, unit: str, load: str) -> bool:
        """Whether the file of ``unit``, in the load state ``load``, came back while the unit ran.

        systemd calls it busy, not stale, and can neither start nor reload the unit until it reads its files again.
        """
        return load == "error" and is_busy(
            (await (await self.ask_of(unit, UNIT, "LoadError")).answer())[0][0]
        )

    async def call(self, member: str, signature: str = "", *body: Any) -> list[Any]:
        """Call the method ``member`` of the manager, and wait for the answer."""
        return await (await self.ask(member, signature, *body)).answer()

    async def look(self, unit: str) -> tuple[UnitState, str]:
        """The running state of ``unit`` now, and its D-Bus path."""
        return found_state(unit, await self.call("ListUnitsByNames", "as", [unit]))

    async def ask_named(self, unit: str, properties: Sequence[str]) -> NamedUnits:
        """Begin to find the units that these ``properties`` of ``unit`` name."""
        return NamedUnits(properties, [await self.ask_of(unit, UNIT, name) for name in properties])

    async def active_among(self, named: NamedUnits) -> tuple[str, ...]:
        """Return which of the ``named`` units run or will run."""
        names = await named.answer() - USUAL
        if not names:
            return ()
        (found,) = await self.call("ListUnitsByNames", "as", sorted(names))
        states = {
            name: UnitState(load, active, sub, job) for name, _, load, active, sub, _, _, _, job, _ in found
        }
        return tuple(name for name, state in states.items() if state.will_run)

    async def file_state_of(self, unit: str) -> str:
        """Whether ``unit`` is enabled, in the words of ``systemctl is-enabled``."""
        return await file_state(await self.ask("GetUnitFileState", "s", unit))

    async def also(self, unit: str) -> tuple[tuple[str, str], ...]:
        """The units in ``Also=`` of ``unit``, and of the indirect units among these, each with its file state."""
        return await enabled_with(unit, self._files_of, self.file_state_of)

    async def _files_of(self, unit: str) -> list[str]:
        (fragment,) = await (await self.ask_of(unit, UNIT, "FragmentPath")).answer()
        (drop_ins,) = await (await self.ask_of(unit, UNIT, "DropInPaths")).answer()
        return [fragment, *drop_ins]

    async def properties(self, unit: str, path: str) -> dict[str, Any]:
        """All properties of the unit at the D-Bus ``path``."""
        found: dict[str, Any] = {}
        for interface in (UNIT, f"{SYSTEMD}.{unit.rpartition('.')[2].capitalize()}"):
            with suppress(CallError):
                found |= await self._bus.get_all(SYSTEMD, path, interface)
        return found


class NamedUnits(NamedTuple):
    """The units that ``properties`` of a unit name. They change only when systemd reads the files again."""

    properties: Sequence[str]
    questions: Sequence[Question]

    async def answer(self) -> set[str]:
        """Their names. Waits for the answers."""
        return {name for question in self.questions for name in (await question.answer())[0]}


class Staleness(NamedTuple):
    """Finds out whether the files of a unit have changed since systemd read them.

    Uses queries, and the files on the disk.
    """

    needs_reload: Question
    drop_ins: dict[str, list[str]]
    read: Question | None
    files: Sequence[str]
    file: Question | None

    async def answer(self) -> bool:
        """Whether they have changed. Waits for the answers."""
        if (await self.needs_reload.answer())[0]:
            return True
        if self.file is not None and is_another(self.files, (await self.file.answer())[0]):
            return True
        return self.read is not None and has_unread(self.drop_ins, (await self.read.answer())[0])


def found_state(unit: str, answer: list[Any]) -> tuple[UnitState, str]:
    """The running state and the D-Bus path of ``unit``, from the answer to ListUnitsByNames."""
    if not answer[0]:
        hint = "correct it: systemd allows letters, digits and . _ : - @"
        raise ResourceError(f"{unit}: systemd rejects this as a unit name", hint)
    name, _, load, active, sub, _, path, _, job, _ = answer[0][0]
    return UnitState(load, active, sub, job, unit=name), path


async def file_state(enablement: Question) -> str:
    """The file state in the manager's answer. The property of the unit itself is as old as the last reload."""
    try:
        (state,) = await enablement.answer()
    except CallError as error:
        if error.name.rpartition(".")[2] not in {"FileNotFound", "NoSuchUnit"}:
            raise
        return NOT_FOUND
    return str(state)
