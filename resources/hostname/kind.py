"""The kind `hostname`: its properties, state and plan."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import AfterValidator, ValidationError

from reactor import (
    Action,
    Claim,
    Flag,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    ResourceError,
    SandboxAccess,
    Watch,
)
from reactor.hostfs import Attributes, ErrorContext
from reactor.resources import shared_lines, textfile
from reactor.resources.default_name import name_problems
from reactor.resources.hosts.host_lines import HOSTS, with_own_name
from reactor.resources.owned_lines import PART
from reactor.resources.process import split_words
from reactor.watchers.readiness import HOST_NAME, ReadinessWatch

_MAX_LENGTH = 64  # the limit of sethostname(2)
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?")
HOSTNAME = "/etc/hostname"
MACHINE_INFO = "/etc/machine-info"
_PRETTY = "PRETTY_HOSTNAME"
_SPECIAL = re.compile(r'([\\"$`])')


def _check_host_name(name: str) -> str:
    """Accept host names as in hostname(7), also with underscores, which many host names contain."""
    if len(name) > _MAX_LENGTH:
        raise ValueError(f"a host name has at most {_MAX_LENGTH} characters, this one has {len(name)}")
    if not all(_LABEL.fullmatch(label) for label in name.split(".")):
        raise ValueError(
            f"{name!r} is not a host name: write labels of letters, digits and -, with dots between them"
        )
    return name


def _check_pretty(name: str) -> str:
    if not name.strip() or not name.isprintable():
        raise ValueError("a pretty host name is one line of text")
    return name


class HostnameState(NamedTuple):
    """The names of the host; None for a name that is not set."""

    running: str
    static: str | None
    pretty: str | None = None
    lacks_address: bool = False
    """Whether /etc/hosts must get an address for the host name."""


class Hostname(Resource[HostnameState], kind="hostname"):
    """Manage the name of the host, both the running one and the one after the next boot."""

    example = "web1"
    provides_only_its_own = True

    ensure: Literal["present"] = "present"
    """Has no effect; accepted because every resource has it."""
    hostname: Annotated[str, AfterValidator(_check_host_name)] | None = None
    """The host name; by default the name of the resource."""
    pretty: Annotated[str, AfterValidator(_check_pretty)] | None = None
    """The pretty host name, such as `Web server 1`, in `/etc/machine-info`."""

    hosts: Flag = False
    """Whether `/etc/hosts` has an address for the host name: that of any line, or else 127.0.1.1."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """An invalid resource name, if it is used as the host name."""
        yield from super().property_problems()
        yield from name_problems(self, "hostname", _check_host_name)

    def watches(self) -> Iterable[Watch]:
        """The running host name, which sethostname(2) changes, and the files."""
        yield ReadinessWatch(HOST_NAME)
        yield from map(PathWatch, self._files)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Depends on: The files with the names, which other resources may manage.
        """
        return Relations(depends_on=self._files)

    @property
    def _files(self) -> tuple[str, ...]:
        pretty = () if self.pretty is None else (MACHINE_INFO,)
        return (HOSTNAME, *pretty, *((HOSTS,) if self.hosts else ()))

    def sandbox_access(self) -> Iterable[SandboxAccess | str]:
        """The permission to set the host name, and the files."""
        yield SandboxAccess.HOSTNAME
        yield from self._files

    def claims(self) -> Iterable[Claim]:
        """The names of the host: it has only one of each."""
        yield Claim("path", HOSTNAME, {"ensure": "present", "content": self._text})
        if self.pretty is not None:
            yield Claim("system", "host name", {"pretty": self.pretty})
        if self.hosts:
            yield Claim("path", HOSTS, {"ensure": "present", "content": PART})

    async def observe(self) -> HostnameState:
        """The names of the host. Raises ResourceError when a file can't be read."""
        static = static_name(textfile.read(HOSTNAME) or "")
        pretty = pretty_name(textfile.read(MACHINE_INFO) or "") if self.pretty is not None else None
        found = shared_lines.find(HOSTS) if self.hosts else None
        lines = found.lines if found else []
        lacks_address = self.hosts and self._with_own_name(lines) != lines
        return HostnameState(os.uname().nodename, static, pretty, lacks_address)

    def plan(self, state: HostnameState, *, refresh: bool) -> Plan:  # noqa: ARG002  a name has nothing to refresh
        """One step for each name that differs."""
        plan = []
        if state.static != self._wanted:
            plan.append(_set("host name", state.static, self._wanted, HOSTNAME, lambda _: self._text))
        if state.running != self._wanted:
            words = f"set the running host name to {self._wanted}, from {state.running}"
            plan.append(Action.proven(words, self._set_running))
        if self.pretty is not None and state.pretty != self.pretty:
            change = partial(with_pretty_name, name=self.pretty)
            plan.append(_set("pretty host name", state.pretty, self.pretty, MACHINE_INFO, change))
        if state.lacks_address:
            edits = [self._with_own_name]
            run = partial(shared_lines.edit, HOSTS, edits, Attributes(0, 0, 0o644))
            diff = partial(shared_lines.diff, HOSTS, edits)
            words = f"{self._wanted} an address in {HOSTS}"
            plan.append(Action(f"Would have given {words}", f"gave {words}", run, diff, is_proof=True))
        return tuple(plan)

    async def preflight(self, state: HostnameState) -> None:
        """Check that the files can be written."""
        if state.static != self._wanted:
            textfile.refuse_unwritable(HOSTNAME)
        if self.pretty is not None and state.pretty != self.pretty:
            textfile.refuse_unwritable(MACHINE_INFO)
        if state.lacks_address:
            textfile.refuse_unwritable(HOSTS)

    async def reversal(self, state: HostnameState) -> Self:
        """The names as they were. A pretty host name stays if there was none before."""
        former = state.static or state.running
        try:
            return type(self)(name=self.name, hostname=former, pretty=state.pretty, hosts=self.hosts)
        except ValidationError as error:
            words = f"reverse could not restore the host name {former!r}"
            raise ResourceError(words, "change it by hand, or remove reverse") from error

    def _with_own_name(self, lines: Sequence[bytes]) -> list[bytes]:
        return with_own_name(lines, self._wanted)

    @property
    def _wanted(self) -> str:
        return self.hostname or self.name

    @property
    def _text(self) -> str:
        return f"{self._wanted}\n"

    async def _set_running(self) -> None:
        with ErrorContext("set the host name"):
            socket.sethostname(self._wanted)


def _set(what: str, old: str | None, new: str, path: str, change: textfile.Change) -> Action:
    words = f"set the {what} to {new}" + (f", from {old}" if old else "")
    return textfile.edit_step(words, path, change)


def static_name(text: str) -> str | None:
    """The name in the content of /etc/hostname: the first line that is neither empty nor a comment."""
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if line and not line.startswith("#")), None)


def pretty_name(text: str) -> str | None:
    """The pretty host name in the content of /etc/machine-info. The last entry counts."""
    values = [value for key, value in map(_assignment, text.splitlines()) if key == _PRETTY]
    try:
        return " ".join(split_words(values[-1])) or None if values else None
    except ValueError:  # an unterminated quote: systemd ignores such a line, too
        return None


def with_pretty_name(text: str, name: str) -> str:
    """The content of /etc/machine-info with this pretty host name; all other lines stay."""
    quoted = _SPECIAL.sub(r"\\\1", name)
    lines = text.splitlines(keepends=True)
    others = [line for line in lines if _assignment(line)[0] != _PRETTY]
    if others and not others[-1].endswith("\n"):
        others[-1] += "\n"
    return "".join([*others, f'{_PRETTY}="{quoted}"\n'])


def _assignment(line: str) -> tuple[str, str]:
    key, _, value = line.partition("=")
    return key.strip(), value.strip()
