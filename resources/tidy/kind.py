"""The kind `tidy`: its properties, and the rules for their combinations."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable
from functools import cached_property, partial
from typing import Annotated, Literal

import trio
from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from reactor import (
    AbsolutePath,
    Action,
    ChangedPaths,
    Claim,
    Diff,
    Duration,
    Flag,
    OneOrMany,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    SandboxAccess,
    Watch,
    escaped,
)
from reactor.resources.tidy.rule import Rule, parse_size, shown_size
from reactor.resources.tidy.sweep import Due, Found, Sweep, refuse_unremovable
from reactor.watchers.alarms import Alarm, AlarmWatch

_SHOWN = 100
"""The most paths that a diff lists."""
_NAMED = 3
"""The most paths that a sentence names."""


def _check_pattern(pattern: str) -> str:
    if not pattern or "/" in pattern or "\0" in pattern:
        raise ValueError(f"{pattern!r} is not a pattern for the name of a file: write *.log")
    return pattern


Size = Annotated[int, BeforeValidator(parse_size), WithJsonSchema({"type": ["string", "integer"]})]
Patterns = OneOrMany[Annotated[str, AfterValidator(_check_pattern)]]


class Tidy(Resource[Found], kind="tidy"):
    """Remove the files of a directory that are too old or too large."""

    example = "/var/tmp/app --age 30d --matches '*.log'"  # noqa: S108 - an example that needs no root
    needed_to_show = frozenset(("age",))

    name: AbsolutePath
    ensure: Literal["present"] = "present"
    age: Annotated[Duration, Field(gt=0)] | None = None
    """The age from which a file is removed: ``12h``, ``30d``, ``4w``."""
    age_stamp: Literal["mtime", "atime", "ctime"] = "mtime"
    """The time from which the age counts: of the last write, of the last access, or of the last change."""
    size: Size | None = None
    """The size from which a file is removed: ``500k``, ``10M``, ``1G``."""
    matches: Patterns = ()
    """Patterns for the names of the files: ``*.log``. Unset, any name."""
    recurse: Flag = False
    """Whether to tidy everything below the directory, too."""
    rmdirs: Flag = False
    """With ``recurse``, whether to remove directories below it that are old and empty."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        if self.age is None and self.size is None and not self.matches:
            words = "nothing says which files to remove"
            yield PropertyProblem((), words, "add age: 30d, size: 100M or matches: '*.tmp'")
        if self.name == "/":
            yield PropertyProblem(("name",), "the filesystem root can't be tidied", "name a directory")
        if self.rmdirs and not (self.recurse and self.age is not None):
            words = "rmdirs is only valid with recurse and age"
            yield PropertyProblem(("rmdirs",), words, "add recurse: true and age: 30d")
        if self.age is None and "age_stamp" in self.model_fields_set:
            yield PropertyProblem(("age_stamp",), "age_stamp is only valid with age", "add age: 30d")

    def watches(self) -> Iterable[Watch]:
        """The directory with everything in it, and the moment at which the next file is too old."""
        yield PathWatch(self.name, self._changed_paths)
        yield AlarmWatch(self._alarm)

    async def observe(self) -> Found:
        """The files that are due. Raises ResourceError when the directory, or one below it, can't be read.

        Of the latter, only after what is due elsewhere was removed.
        """
        touched, self._removed = self._removed, None
        paths = self._changed_paths.take() if touched is None else touched
        try:
            found = await self._sweep.look(paths)
        except BaseException:
            self._changed_paths.lose()
            raise
        wait = found.next_at - time.time()
        self._alarm.set(math.inf if wait == math.inf else trio.current_time() + max(0.0, wait) + _LATER)
        if found.unread is not None and not found.due:
            self._changed_paths.lose()
            raise found.unread
        return found

    def plan(self, state: Found, *, refresh: bool) -> Plan:  # noqa: ARG002 - a refresh means nothing to it
        """Remove the files that are due."""
        if not state.due:
            return ()
        words = f"removed {_counted(state.due)}: {_named(state.due)}"
        return (
            Action(
                would=f"Would have {words}",
                did=words,
                run=partial(self._remove, state),
                diff=partial(_diff_of, state.due),
                is_proof=True,
            ),
        )

    async def _remove(self, state: Found) -> None:
        self._removed = frozenset(each.path for each in state.due)
        await self._sweep.remove(state.due)
        if state.unread is not None:
            raise state.unread

    async def preflight(self, state: Found) -> None:
        """Raise the ResourceError with which the removal would fail: the file system is read-only, or chattr(1) forbids it."""
        await refuse_unremovable(state.due)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Depends on: The directory.
        """
        return Relations(depends_on=(self.name,), purges=self.name)

    def claims(self) -> Iterable[Claim]:
        """The directory, which must not be a file or a link."""
        yield Claim("path", self.name, {"ensure": "directory"})

    def might_provide(self, missing: str) -> bool:  # noqa: ARG002 - it provides nothing
        """Return False."""
        return False

    def sandbox_access(self) -> Iterable[SandboxAccess | str]:
        """The directory."""
        yield self.name

    _removed: frozenset[str] | None = None

    @cached_property
    def _changed_paths(self) -> ChangedPaths:
        return ChangedPaths()

    @cached_property
    def _alarm(self) -> Alarm:
        return Alarm()

    @cached_property
    def _sweep(self) -> Sweep:
        rule = Rule(self.age, self.size, self.matches, self.age_stamp)
        spared = self.declared.managed_paths
        return Sweep(self.name, rule, recurse=self.recurse, directories=self.rmdirs, spared=spared)


_LATER = 0.001
"""Seconds after the moment at which a file is too old: by then it is for certain."""


def _counted(due: tuple[Due, ...]) -> str:
    directories = sum(each.is_directory for each in due)
    files = len(due) - directories
    parts = [f"{files} file{'s' * (files != 1)}"] if files else []
    if directories:
        parts.append(f"{directories} director{'y' if directories == 1 else 'ies'}")
    return f"{' and '.join(parts)} ({shown_size(sum(each.size for each in due))})"


def _named(due: tuple[Due, ...]) -> str:
    names = ", ".join(os.path.basename(each.path) for each in due[:_NAMED])
    return f"{names} and {len(due) - _NAMED} more" if len(due) > _NAMED else names


async def _diff_of(due: tuple[Due, ...]) -> Diff:
    return partial(_listed, due)


async def _listed(due: tuple[Due, ...]) -> str:
    lines = [f"--- {escaped(each.path)}\n+++ /dev/null\n" for each in due[:_SHOWN]]
    return "".join(lines) + (f"and {len(due) - _SHOWN} more\n" if len(due) > _SHOWN else "")
