"""The kind `timer`: its properties, and the rules for their combinations."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, Field

from reactor import (
    AbsolutePath,
    Action,
    Claim,
    Duration,
    Flag,
    NamedProgram,
    OneOrMany,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    ResourceError,
    Watch,
    fragile_mounts,
)
from reactor.hostfs import Inline, accounts, accounts_of, remove_path, write_file
from reactor.resources import own_file, shared_lines
from reactor.resources.accounts.property_types import AccountName
from reactor.resources.named_programs import started_by_shell, started_by_systemd
from reactor.resources.process import split_words
from reactor.resources.service import Service, own_unit_files
from reactor.resources.service.kind import ALLOWED, name_problem
from reactor.resources.service.state import UnitState
from reactor.resources.shared_lines import Found
from reactor.resources.timer import calendar
from reactor.resources.timer.unit_text import Task, Times, service_text, timer_text
from reactor.resources.trusted_sources import refuse_foreign_place

_DIRECTORY = "/etc/systemd/system"
_PROGRAM = re.compile(r"/\S.*|[A-Za-z0-9_][^/]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _check_command(text: str) -> str:
    if not text.strip() or not text.replace("\t", " ").isprintable():
        raise ValueError("a command is one line of text: put several into a script")
    split_words(text)  # raises ValueError for an open quote
    return text


def _check_line(text: str) -> str:
    if not text.strip() or not text.isprintable() or text.endswith("\\"):
        raise ValueError("this is one line of text, without a backslash at its end")
    return text


def _check_variables(variables: dict[str, str]) -> dict[str, str]:
    for name, value in variables.items():
        if not _VARIABLE.fullmatch(name) or not value.isprintable():
            raise ValueError(f"{name!r} is not the name of a variable, or its value is not one line of text")
    return variables


Events = OneOrMany[Annotated[str, AfterValidator(calendar.check)]]
"""One calendar event of systemd, or several."""


class TimerState(NamedTuple):
    """The two unit files, None for a missing one, and the state of the timer unit."""

    service: Found | None
    timer: Found | None
    unit: UnitState


class Timer(Resource[TimerState], kind="timer", providers=("systemd",)):
    """Manage a command that systemd runs at set times: its service unit, its timer unit, and that the timer is on."""

    example = "backup --command /usr/local/bin/backup --on-calendar 'Mon..Fri 03:00'"

    ensure: Literal["present", "absent"] = "present"
    command: Annotated[str, AfterValidator(_check_command)] | None = None
    """The command, as words: no shell reads it, and `%` and `$` mean nothing."""
    shell: Flag = False
    """Whether `/bin/sh` reads the command, for pipes, `&&` and variables."""
    on_calendar: Events = ()
    """When it runs, as in `daily`, `*-*-* 03:00:00` or `Mon..Fri 07:30`, see systemd.time(7); one or several."""
    after_boot: Duration | None = None
    """The time between the start of the host and the first run."""
    every: Duration | None = None
    """The time between two runs. It needs `after_boot` or `on_calendar` for the first one."""
    persistent: Flag = False
    """Whether a run that was missed, because the host was off, is made up for."""
    random_delay: Duration = 0.0
    """The longest random delay of a run, so that not all hosts run it at once."""
    user: AccountName | None = None
    """The user that the command runs as; unset, root."""
    cwd: AbsolutePath | None = None
    """The working directory; unset, `/`."""
    environment: Annotated[dict[str, str], AfterValidator(_check_variables)] = Field(default_factory=dict)
    """Variables for the command."""
    description: Annotated[str, AfterValidator(_check_line)] | None = None
    """What it is for; by default the name."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Invalid names, and a timer that would never run."""
        yield from super().property_problems()
        if fault := name_problem(f"{self.name}.timer"):
            yield PropertyProblem(("name",), fault, ALLOWED)
        elif self.name.endswith((".timer", ".service")):
            yield PropertyProblem(
                ("name",), "the name is that of both units", f"write {self.name.rpartition('.')[0]}"
            )
        if self.ensure == "absent":
            return
        if self.command is None:
            hint = "add it: command: /usr/local/bin/backup"
            yield PropertyProblem((), "command is required, unless ensure is absent", hint)
        elif not self.shell and not _PROGRAM.fullmatch(self._words[0]):
            words = "a command begins with the path of a program, or its name in PATH"
            yield PropertyProblem(("command",), words, "if a shell shall read it, add shell: true")
        if not self.on_calendar and self.after_boot is None:
            where, first = ((), "") if self.every is None else (("every",), " first")
            hint = "add on_calendar: daily, or after_boot: 5m"
            yield PropertyProblem(where, f"nothing says when it runs{first}", hint)
        if self.persistent and not self.on_calendar:
            words = "only runs of on_calendar can be made up for"
            yield PropertyProblem(("persistent",), words, "remove persistent, or add on_calendar")

    def watches(self) -> Iterable[Watch]:
        """Both unit files, and the timer unit in systemd."""
        yield from map(PathWatch, self._paths)
        yield from self._unit.watches()

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: Both unit files.

        Depends on: Their directory, the user, the working directory, and the program.
        """
        needed = [_DIRECTORY, *accounts_of(self.user, None)]
        if self.ensure == "absent":
            return Relations(removes=self._paths, depends_on=needed)
        needed += [path for path in (self.cwd, *self._words[:1]) if path is not None and path.startswith("/")]
        return Relations(provides=self._paths, depends_on=needed, names=tuple(self._programs()))

    def _programs(self) -> Iterator[NamedProgram]:
        command = self.command or ""
        yield from started_by_shell(command) if self.shell else started_by_systemd(self._words[0])

    def sandbox_access(self) -> Iterable[str]:
        """Both unit files. systemd makes the other changes."""
        return self._paths

    def claims(self) -> Iterable[Claim]:
        """Both unit files, the timer unit, and its user."""
        for path, text in zip(self._paths, self._texts, strict=True):
            content = {"content": text} if self.ensure == "present" else {}
            yield Claim("path", path, {"ensure": self.ensure, **content})
        yield from self._unit.claims()
        if self.user is not None and self.ensure == "present":
            yield Claim("user", self.user, {"ensure": "present"})

    @classmethod
    def unavailable_reason(cls, provider: str) -> str | None:
        """The reason if systemd does not run."""
        return Service.unavailable_reason(provider)

    async def observe(self) -> TimerState:
        """Both unit files, and the state of the timer.

        Raises ResourceError when systemd does not answer, the user does not exist, a unit of that name comes from
        elsewhere, or another user can exchange the working directory of root.
        """
        if self.ensure == "present":
            if self.cwd is not None and self.user in (None, "root"):
                await fragile_mounts().ask(self.cwd)
                refuse_foreign_place(self.cwd, "where systemd starts a command of root")
            for path in self._paths:
                own_unit_files.refuse_foreign(os.path.basename(path), _DIRECTORY)
            if self.user is not None and accounts.known(self.user, "root") is None:
                await accounts.look_up(self.user, "root")
        service, timer = map(self._find, self._paths)
        return TimerState(service, timer, await self._unit.observe())

    def plan(self, state: TimerState, *, refresh: bool) -> Plan:  # noqa: ARG002  a timer has nothing to refresh
        """The unit files first, then the timer; for absent, the other way round."""
        found = (state.service, state.timer)
        if self.ensure == "absent":
            return (*self._stop(state.unit), *self._remove(found))
        files = tuple(self._write(found))
        if not files and state.timer is not None:
            return self._unit.plan(state.unit, refresh=False)
        return (*files, *self._activate(state.unit))

    async def preflight(self, state: TimerState) -> None:
        """Ask systemd whether it understands the calendar events, and whether the files can be written."""
        if self.ensure == "absent":
            return
        await calendar.refuse_misread(self.on_calendar)
        for path in self._paths:
            shared_lines.refuse_unwritable(path)
        if state.unit.is_there:
            await self._unit.preflight(state.unit)

    async def describe(self) -> Mapping[str, Any]:
        """Whether the timer exists, and whether it runs and starts at boot."""
        unit = await self._unit.observe()
        if self._find(self._paths[1]) is None and not unit.is_there:
            return {"ensure": "absent"}
        at_boot = (await self._unit.describe()).get("enable", False)
        return {"ensure": "present", "running": unit.is_running, "enable": at_boot}

    async def reversal(self, state: TimerState) -> Self:
        """No timer, if there was none."""
        if state.service is not None or state.timer is not None:
            words = f"the units of {self.name} were there before, and reverse could not restore them"
            raise ResourceError(words, "remove reverse; a timer that leaves the manifest then stays")
        return type(self)(name=self.name, ensure="absent")

    @cached_property
    def _unit(self) -> Service:
        """The timer unit as a service: running and enabled, or neither."""
        is_on = self.ensure == "present"
        return Service(name=f"{self.name}.timer", ensure="running" if is_on else "stopped", enable=is_on)

    @property
    def _paths(self) -> tuple[str, str]:
        return (f"{_DIRECTORY}/{self.name}.service", f"{_DIRECTORY}/{self.name}.timer")

    @property
    def _words(self) -> list[str]:
        command = self.command or ""
        return ["/bin/sh", "-c", command] if self.shell else split_words(command)

    @property
    def _texts(self) -> tuple[str, str]:
        about = self.description or self.name
        task = Task(about, self._words, self.user, self.cwd, self.environment)
        times = Times(self.on_calendar, self.after_boot, self.every, self.persistent, self.random_delay)
        return service_text(task), timer_text(about, times)

    def _find(self, path: str) -> Found | None:
        """The unit file; None if there is none. Raises ResourceError if the unit is masked but must be present."""
        if not os.path.islink(path) or os.path.realpath(path) != os.devnull:
            return shared_lines.find(path)
        if self.ensure == "present":
            unit = os.path.basename(path)
            raise ResourceError(
                f"{unit} is masked", f"unmask it: systemctl unmask {unit}, or write ensure: absent"
            )
        return None

    def _write(self, found: tuple[Found | None, ...]) -> Iterable[Action]:
        for path, text, file in zip(self._paths, self._texts, found, strict=True):
            yield from own_file.steps_of(path, path, text, file, partial(self._store, path, text))

    async def _store(self, path: str, text: str) -> None:
        await calendar.refuse_misread(self.on_calendar)
        await write_file(path, Inline(text), own_file.ATTRIBUTES)

    def _activate(self, unit: UnitState) -> Plan:
        """Let systemd read the files, and turn the timer on, as far as it is not."""
        words = [] if unit.is_running else ["started the timer"]
        words += [] if unit.for_good else ["enabled it"]
        return (Action.proven(" and ".join(words) or "had systemd read them", self._turn_on),)

    async def _turn_on(self) -> None:
        await self._read_again()
        for action in self._unit.plan(await self._unit.observe(), refresh=False):
            await action.make()

    async def _read_again(self) -> None:
        units = list(map(os.path.basename, self._paths))
        await own_unit_files.let_systemd_read(self._unit, units, must_load=self.ensure == "present")

    def _stop(self, unit: UnitState) -> Plan:
        if not unit.is_there:
            return ()
        return self._unit.plan(unit, refresh=False)

    def _remove(self, found: tuple[Found | None, ...]) -> Iterable[Action]:
        there = [path for path, file in zip(self._paths, found, strict=True) if file is not None]
        if there:
            yield Action.proven(f"removed {' and '.join(there)}", partial(self._unlink, there))

    async def _unlink(self, paths: list[str]) -> None:
        for path in paths:
            await remove_path(path, recursive=False)
        await self._read_again()
