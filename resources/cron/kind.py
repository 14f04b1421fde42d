"""The kind `cron`: its properties, and the rules for their combinations."""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, Self

from pydantic import Field

from reactor import (
    Action,
    Claim,
    Diff,
    PathState,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    ResourceError,
    Watch,
)
from reactor.hostfs import Attributes, accounts, accounts_of, set_attributes
from reactor.resources import own_file, shared_lines
from reactor.resources.accounts.property_types import AccountName
from reactor.resources.cron import job as jobs
from reactor.resources.cron import schedule as schedules
from reactor.resources.cron.job import Job
from reactor.resources.cron.property_types import (
    CommandLine,
    Day,
    Environment,
    Hour,
    Minute,
    Month,
    Schedule,
    Weekday,
)
from reactor.resources.named_programs import started_by_shell
from reactor.resources.owned_lines import SharedFile
from reactor.resources.shared_lines import Found

_DIRECTORY = "/etc/cron.d"
_SPOOLS = ("/var/spool/cron/crontabs", "/var/spool/cron")
"""The directories of the tables of users, of Debian and of others. The first that exists is used."""
DAEMONS = (
    "/usr/sbin/cron", "/usr/sbin/crond", "/usr/lib/systemd/system-generators/systemd-crontab-generator",
    "/lib/systemd/system-generators/systemd-crontab-generator",
)  # fmt: skip
_FILE_NAME = re.compile(r"[A-Za-z0-9_-]+")
_TABLE_MODE = 0o600


class Cron(SharedFile, kind="cron"):
    """Manage one job of cron: when which command runs as which user."""

    example = "backup --command /usr/local/bin/backup --schedule '0 3 * * *'"
    provides_only_its_own = True

    ensure: Literal["present", "absent"] = "present"
    command: CommandLine | None = None
    """The command, as a shell reads it: a ``%`` needs no backslash."""
    user: AccountName = "root"
    """The user that it runs as."""
    schedule: Schedule | None = None
    """When it runs: five fields, as in `0 3 * * *`, or `@daily`, `@hourly`, `@reboot` and so on."""
    minute: Minute | None = None
    """The minutes, such as `0`, `*/10` or `0,30`."""
    hour: Hour | None = None
    """The hours; unset, every hour."""
    day: Day | None = None
    """The days of the month; unset, every day."""
    month: Month | None = None
    """The months, by number or as in `jan`; unset, every month."""
    weekday: Weekday | None = None
    """The days of the week, by number (0 and 7 are Sunday) or as in `mon-fri`; unset, every day."""
    environment: Environment = Field(default_factory=dict)
    """Variables for the command, such as `PATH` and `MAILTO`."""
    table: Literal["system", "user"] = "system"
    """Where the job is: `system` is a file of its own in `/etc/cron.d`, `user` is the table that `crontab -l` shows."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        if self.table == "system" and not _FILE_NAME.fullmatch(self.name):
            words = f"cron ignores a file with the name {self.name!r}"
            yield PropertyProblem(
                ("name",), words, "use letters, digits, _ and -, and no dots, as in backup-db"
            )
        elif not self.name.isprintable() or self.name != self.name.strip():
            yield PropertyProblem(
                ("name",), "the name must be one line of text", "write a name such as backup"
            )
        if self.table == "user" and self.environment:
            words = "in the table of a user, variables hold for all jobs that follow"
            yield PropertyProblem(("environment",), words, "remove table: user, or set them in the command")
        if self.ensure == "absent":
            return
        if self.command is None:
            yield PropertyProblem(
                (), "command is required, unless ensure is absent", "add it: command: /usr/local/bin/backup"
            )
        yield from self._problems_of_time()

    def _problems_of_time(self) -> Iterable[PropertyProblem]:
        fields = {field.name: getattr(self, field.name) for field in schedules.FIELDS}
        given = [name for name, value in fields.items() if value is not None]
        if self.schedule is not None:
            if given:
                yield PropertyProblem(
                    (given[0],), f"schedule and {given[0]} are mutually exclusive", "remove one of them"
                )
        elif not given:
            hint = 'add schedule: "0 3 * * *", or minute and hour'
            yield PropertyProblem((), "nothing says when it runs", hint)
        elif self.minute is None:
            words = f"without minute, it would run every minute of that {given[0]}"
            yield PropertyProblem(
                (given[0],), words, 'add minute: "0"; if it shall run every minute, write minute: "*"'
            )
        elif self.hour is None and (self.day or self.month or self.weekday):
            words = f"without hour, it would run every hour of that {given[1]}"
            yield PropertyProblem(
                (given[1],), words, 'add hour: "0"; if it shall run every hour, write hour: "*"'
            )
        else:
            try:
                schedules.check(self._schedule)
            except ValueError as error:
                yield PropertyProblem(("day",), str(error), "correct day or month")

    def warnings(self) -> Iterable[PropertyProblem]:
        """A ``%`` with a backslash, which is only needed in the files of cron."""
        if self.command is not None and "\\%" in self.command:
            hint = "write % alone: its backslash is added"
            yield PropertyProblem(("command",), "the shell will see the backslash before %", hint)

    def watches(self) -> Iterable[Watch]:
        """The file, and the programs of cron."""
        yield PathWatch(self._path)
        if self.ensure == "present":
            yield from map(PathWatch, DAEMONS[:2])

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: Its file in `/etc/cron.d`.

        Depends on: The directory of the file, the user, and the program of cron.
        """
        needed = (
            os.path.dirname(self._path),
            *accounts_of(self.user, None),
            *(DAEMONS if self.ensure == "present" else ()),
        )
        programs = tuple(started_by_shell(self.command or "")) if self.ensure == "present" else ()
        if self.table == "user":
            return Relations(depends_on=needed, names=programs)
        file = (self._path,)
        return (
            Relations(removes=file, depends_on=needed)
            if self.ensure == "absent"
            else Relations(provides=file, depends_on=needed, names=programs)
        )

    def sandbox_access(self) -> Iterable[str]:
        """The file."""
        return (self._path,)

    def claims(self) -> Iterable[Claim]:
        """The job, its user, and the file."""
        desired = {"ensure": self.ensure, "command": self.command, "schedule": self._schedule}
        yield Claim("job of cron", f"{self.name} in {self._path}", desired)
        if self.ensure == "present" and self.user != "root":
            yield Claim("user", self.user, {"ensure": "present"})
        if self.table == "user":
            wishes = {"content": f"table of {self.user}"}  # one job may go while another comes
            yield Claim(
                "path", self._path, wishes | ({"ensure": "present"} if self.ensure == "present" else {})
            )
        else:
            mode = own_file.ATTRIBUTES.mode
            yield Claim.of_file(self._path, self._text, owner="root", group="root", mode=mode)

    def lasting_state(self) -> Sequence[PathState] | None:
        """The file, and the program of cron. Other users than root may be found elsewhere than in a file."""
        if self.ensure == "present" and self.user != "root":
            return None
        programs = [*filter(_is_program, DAEMONS)] if self.ensure == "present" else []
        spools = _SPOOLS if self.table == "user" else ()
        return tuple(PathState(path, "read") for path in (self._path, *programs[:1], *spools[:1]))

    async def observe(self) -> Found | None:
        """The file of the job; None if there is none.

        Raises ResourceError when no cron is installed, or the user does not exist.
        """
        if self.ensure == "present":
            if not any(map(_is_program, DAEMONS)):
                hint = "install one: package: [cron: {}]"
                raise ResourceError(
                    "no cron is installed, and nothing would run the job", hint, missing=DAEMONS[0]
                )
            await self._uid()
        return shared_lines.find(self._path)

    def plan(self, state: Found | None, *, refresh: bool) -> Plan:  # noqa: ARG002  a job has nothing to refresh
        """One write of the file, or its owner and mode, which cron insists on."""
        if self.table == "user":
            return self._plan_table(state)
        return tuple(own_file.steps_of("the job", self._path, self._text, state, made="added"))

    async def preflight(self, state: Found | None) -> None:
        """Check that the file can be written."""
        shared_lines.refuse_unwritable(state.path if state else self._path)

    async def reversal(self, state: Found | None) -> Self:
        """No job, if there was none."""
        if self._is_there(state):
            words = f"the job {self.name} was there before, and reverse could not restore it"
            raise ResourceError(words, "remove reverse; a job that leaves the manifest then stays")
        return type(self)(name=self.name, user=self.user, table=self.table, ensure="absent")

    def is_undone_by(self, recorded: Self) -> bool | None:
        """Always, unless the job is in another file now."""
        return True if recorded._path == self._path else None

    async def describe(self) -> Mapping[str, Any]:
        """Whether the job is there, and its file."""
        is_there = self._is_there(shared_lines.find(self._path))
        return {"ensure": "present" if is_there else "absent", "path": self._path}

    def group_key(self) -> Hashable | None:
        """The jobs of one user's table are written together."""
        return self.user if self.table == "user" else None

    def _plan_table(self, state: Found | None) -> Plan:
        is_present = self.ensure == "present"
        steps = []
        if differences := jobs.differences(state.lines if state else [], self._job, is_present=is_present):
            diff = partial(_table_diff, self._path, self._changed)
            steps.append(Action.proven(differences[0], partial(self.edit, [self]), diff))
        if state is not None and is_present and state.attributes.mode != _TABLE_MODE:
            wanted = state.attributes._replace(mode=_TABLE_MODE)
            words = f"changed mode of the table from {state.attributes.mode:04o} to {_TABLE_MODE:04o}"
            steps.append(Action.proven(words, partial(set_attributes, state.path, wanted)))
        return tuple(steps)

    def _is_there(self, state: Found | None) -> bool:
        if state is None or self.table == "system":
            return state is not None
        return bool(jobs.differences(state.lines, self._job, is_present=False))

    async def edit(self, members: Sequence[Self]) -> None:
        """Write the table once for all jobs. Raises ResourceError."""
        uid = await self._uid() if self.ensure == "present" else 0
        try:
            group = os.stat(os.path.dirname(self._path)).st_gid
        except OSError:
            group = 0
        changes = [each._changed for each in members]  # noqa: SLF001
        await shared_lines.edit(self._path, changes, Attributes(uid, group, _TABLE_MODE))

    def _changed(self, lines: Sequence[bytes]) -> list[bytes]:
        return jobs.changed(lines, self._job, is_present=self.ensure == "present")

    async def _uid(self) -> int:
        ids = accounts.known(self.user, "root") or await accounts.look_up(self.user, "root")
        return ids[0]

    @property
    def _path(self) -> str:
        if self.table == "system":
            return f"{_DIRECTORY}/{self.name}"
        spool = next(filter(os.path.isdir, _SPOOLS), _SPOOLS[0])
        return f"{spool}/{self.user}"

    @property
    def _schedule(self) -> str:
        return self.schedule or " ".join(getattr(self, field.name) or "*" for field in schedules.FIELDS)

    @property
    def _job(self) -> Job:
        return Job(self.name, self._schedule, self.command or "", self.user if self.table == "system" else "")

    @property
    def _text(self) -> str | None:
        """The desired content of the file of cron.d; None for no file."""
        return None if self.ensure == "absent" else jobs.file_of(self._job, self.environment)


def _is_program(path: str) -> bool:
    return os.access(path, os.X_OK)


async def _table_diff(path: str, change: shared_lines.Change) -> Diff:
    return await shared_lines.diff(path, [change])
