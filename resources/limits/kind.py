"""The kind `limits`: its properties, state and plan."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, WithJsonSchema

from reactor import (
    Claim,
    PathState,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    ResourceError,
    Watch,
)
from reactor.resources import own_file, shared_lines
from reactor.resources.managed_header import HEADER
from reactor.resources.shared_lines import Found

_DIRECTORY = "/etc/security/limits.d"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_DOMAIN = re.compile(r"\*|[@%]?[A-Za-z_][A-Za-z0-9_.-]*\$?|[@%]?(\d+:\d*|:\d+|\d+)|%")
_UNLIMITED = "unlimited"
_RANGES = {"nice": (-20, 19), "priority": (-20, 19), "rtprio": (0, 99)}
"""The lowest and the highest value of the items that are no amounts."""

Value = int | Literal["unlimited"]


def _check_value(value: Any) -> Any:
    """Accept a number, ``unlimited``, or both of them by ``soft`` and ``hard``."""
    parts = value if isinstance(value, dict) else {"soft": value}
    if not parts or not set(parts) <= {"soft", "hard"}:
        raise ValueError("a limit is a number, unlimited, or {soft: ..., hard: ...}")
    for each in parts.values():
        if isinstance(each, bool) or not (isinstance(each, int) or each == _UNLIMITED):
            raise ValueError(f"{each!r} is not a limit: write a number, or unlimited")
    return value


Limit = Annotated[
    Any,
    AfterValidator(_check_value),
    WithJsonSchema({"anyOf": [{"type": "integer"}, {"const": _UNLIMITED}, {"type": "object"}]}),
]
"""A limit: a number, ``unlimited``, or ``{soft: 1024, hard: 4096}``."""


class Limits(Resource[Found | None], kind="limits"):
    """Manage the limits of one user or group, in a file of its own in `/etc/security/limits.d`."""

    example = "www-data --nofile 65536"
    provides_only_its_own = True

    ensure: Literal["present", "absent"] = "present"
    domain: str | None = None
    """Whose limits: a user, `@group`, `*` for all users, or a range of ids such as `1000:`; by default the name."""
    nofile: Limit | None = None
    """How many files a process may open."""
    nproc: Limit | None = None
    """How many processes the user may have."""
    core: Limit | None = None
    """The size of core dumps, in KiB."""
    memlock: Limit | None = None
    """The memory that may be locked, in KiB."""
    stack: Limit | None = None
    """The size of the stack, in KiB."""
    data: Limit | None = None
    """The size of the data of a process, in KiB."""
    fsize: Limit | None = None
    """The size of a file, in KiB."""
    address_space: Limit | None = Field(default=None, alias="as")
    """The address space of a process, in KiB."""
    rss: Limit | None = None
    """The resident memory, in KiB. Linux ignores it."""
    cpu: Limit | None = None
    """The processor time of a process, in minutes."""
    locks: Limit | None = None
    """How many files may be locked."""
    sigpending: Limit | None = None
    """How many signals may be pending."""
    msgqueue: Limit | None = None
    """The memory of message queues, in bytes."""
    maxlogins: Limit | None = None
    """How many logins the user may have."""
    maxsyslogins: Limit | None = None
    """How many logins the host may have."""
    nice: Limit | None = None
    """The lowest nice value, from -20 to 19."""
    rtprio: Limit | None = None
    """The highest real-time priority, from 0 to 99."""
    priority: Limit | None = None
    """The nice value of the processes of the user, from -20 to 19."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Names that are no file or no domain, no limits at all, and limits that would keep users out."""
        yield from super().property_problems()
        if not _NAME.fullmatch(self.name):
            words = f"{self.name!r} is not the name of a file"
            yield PropertyProblem(
                ("name",), words, "use letters, digits and . _ -, and write whose limits as domain"
            )
        if not _DOMAIN.fullmatch(self._domain):
            where = "name" if self.domain is None else "domain"
            hint = "write a user, @group, *, or a range of ids such as 1000:"
            yield PropertyProblem((where,), f"{self._domain!r} is neither a user nor a group", hint)
        given = self._given
        if self.ensure == "present" and not given:
            yield PropertyProblem((), "no limit is given", "add one, such as nofile: 65536")
        if self.ensure == "absent" and given:
            item = next(iter(given))
            yield PropertyProblem((item,), f"{item} is only valid with 'ensure: present'", f"remove {item}")
        for item, limit in given.items():
            yield from _faults_of(item, limit)

    def watches(self) -> Iterable[Watch]:
        """Its file."""
        yield PathWatch(self._path)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: Its file.

        Depends on: The directory of its file.
        """
        file = (self._path,)
        if self.ensure == "absent":
            return Relations(removes=file, depends_on=(_DIRECTORY,))
        return Relations(provides=file, depends_on=(_DIRECTORY,))

    def sandbox_access(self) -> Iterable[str]:
        """Its file."""
        return (self._path,)

    def claims(self) -> Iterable[Claim]:
        """Its file, and each limit: of two files with another one, the later would win."""
        yield Claim.of_file(self._path, self._text, owner="root", group="root", mode=own_file.ATTRIBUTES.mode)
        for item, kind, value in self._limits:
            yield Claim(f"{kind} limit {item} of", self._domain, {item: value})

    def lasting_state(self) -> Sequence[PathState]:
        """Its file."""
        return (PathState(self._path, "read"),)

    async def observe(self) -> Found | None:
        """Its file; None if there is none. Raises ResourceError when it can't be read."""
        return shared_lines.find(self._path)

    def plan(self, state: Found | None, *, refresh: bool) -> Plan:  # noqa: ARG002  limits have nothing to refresh
        """Write the file, correct its owner and mode, or remove it."""
        return tuple(own_file.steps_of("the limits", self._path, self._text, state))

    async def preflight(self, state: Found | None) -> None:
        """Check that the file can be written."""
        shared_lines.refuse_unwritable(state.path if state else self._path)

    async def reversal(self, state: Found | None) -> Self:
        """No limits, if there were none."""
        if state is not None:
            words = f"{self._path} was there before, and reverse could not restore it"
            raise ResourceError(words, "remove reverse; limits that leave the manifest then stay")
        return type(self)(name=self.name, ensure="absent")

    @property
    def _domain(self) -> str:
        return self.name if self.domain is None else self.domain

    @property
    def _path(self) -> str:
        return f"{_DIRECTORY}/{self.name}.conf"

    @property
    def _given(self) -> dict[str, Any]:
        """The limits by item, in the order of the properties."""
        own = type(self).model_fields.keys() - Resource.model_fields.keys() - {"domain"}
        values = {name: getattr(self, name) for name in type(self).model_fields if name in own}
        return {
            "as" if name == "address_space" else name: value
            for name, value in values.items()
            if value is not None
        }

    @property
    def _limits(self) -> Iterator[tuple[str, str, Value]]:
        for item, limit in self._given.items():
            parts: Mapping[str, Value] = limit if isinstance(limit, dict) else {"soft": limit, "hard": limit}
            yield from ((item, kind, value) for kind, value in parts.items())

    @property
    def _text(self) -> str | None:
        """The desired content of the file; None for no file."""
        if self.ensure == "absent":
            return None
        lines = []
        for item, limit in self._given.items():
            parts = limit if isinstance(limit, dict) else {"-": limit}
            lines += [f"{self._domain} {kind} {item} {value}\n" for kind, value in parts.items()]
        return HEADER + "".join(lines)


def _faults_of(item: str, limit: Any) -> Iterator[PropertyProblem]:
    """The problems of a limit."""
    parts = limit if isinstance(limit, dict) else {"soft": limit}
    numbers = {kind: value for kind, value in parts.items() if value != _UNLIMITED}
    if item == "nofile" and len(numbers) < len(parts):
        words = "with nofile: unlimited, no user could log in: the kernel refuses it"
        yield PropertyProblem((item,), words, "write a number of at most fs.nr_open, such as 1048576")
    low, high = _RANGES.get(item, (0, 2**63 - 1))
    for value in numbers.values():
        if not low <= value <= high:
            yield PropertyProblem((item,), f"{item} goes from {low} to {high}, not {value}", "correct it")
    if item in _RANGES and len(numbers) < len(parts):
        yield PropertyProblem((item,), f"{item} can't be unlimited", f"write a number from {low} to {high}")
    soft, hard = parts.get("soft"), parts.get("hard")
    if (
        hard is not None
        and hard != _UNLIMITED
        and item not in _RANGES
        and (soft == _UNLIMITED or (soft or 0) > hard)
    ):
        yield PropertyProblem(
            (item,), f"the soft limit {soft} is above the hard one, {hard}", "correct one of them"
        )
