"""The kind `timezone`: its properties, state and plan."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import AfterValidator

from reactor import (
    Action,
    Claim,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    ResourceError,
    Watch,
)
from reactor.hostfs import refuse_replacement
from reactor.resources import textfile
from reactor.resources.default_name import name_problems
from reactor.resources.system_link import read_link, write_link

LOCALTIME = "/etc/localtime"
TIMEZONE = "/etc/timezone"
ZONES = "/usr/share/zoneinfo"
_DEBIAN = "/etc/debian_version"
_ZONE = re.compile(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*")
_NO_REGIONS = ("posix", "right")
_DEFAULT = "UTC"  # of a host without the link; see localtime(5)


def _check_zone(name: str) -> str:
    if not _ZONE.fullmatch(name) or name.partition("/")[0] in _NO_REGIONS:
        raise ValueError(f"{name!r} is not a time zone: write it as in Europe/Vienna or Etc/UTC")
    return name


class TimezoneState(NamedTuple):
    """The zone that /etc/localtime says, None if it says none; the content of /etc/timezone; what the host knows.

    ``text`` is None if there is no such file. ``is_known`` says whether the data of the zone are installed, and ``similar``
    is a zone that is, with a name like the desired one.
    """

    zone: str | None
    text: str | None
    is_known: bool = True
    similar: str | None = None
    is_debian: bool = False


class Timezone(Resource[TimezoneState], kind="timezone"):
    """Manage the time zone of the host."""

    example = "Europe/Vienna"
    provides_only_its_own = True

    ensure: Literal["present"] = "present"
    """Has no effect; accepted because every resource has it."""
    zone: Annotated[str, AfterValidator(_check_zone)] | None = None
    """The time zone; by default the name of the resource."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """An invalid resource name, if it is used as the time zone."""
        yield from super().property_problems()
        yield from name_problems(self, "zone", _check_zone)

    def watches(self) -> Iterable[Watch]:
        """The link, the file of Debian, and the data of the zone."""
        yield PathWatch(LOCALTIME)
        yield PathWatch(TIMEZONE)
        yield PathWatch(f"{ZONES}/{self._wanted}", is_input=True)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: The link and the file.
        """
        return Relations(provides=(LOCALTIME, TIMEZONE))

    def sandbox_access(self) -> Iterable[str]:
        """The link and the file."""
        return (LOCALTIME, TIMEZONE)

    def claims(self) -> Iterable[Claim]:
        """The time zone, of which a host has only one, and its files."""
        yield Claim("system", "time zone", {"zone": self._wanted})
        yield Claim("path", LOCALTIME, {"ensure": "link"})
        yield Claim("path", TIMEZONE, {"ensure": "present", "content": f"{self._wanted}\n"})

    async def observe(self) -> TimezoneState:
        """The time zone. Raises ResourceError when a file can't be read."""
        wanted = self._wanted
        is_known = os.path.isfile(f"{ZONES}/{wanted}")  # noqa: ASYNC240 - a local file
        similar = None if is_known else next(iter(difflib.get_close_matches(wanted, _installed(), 1)), None)
        link = read_link(LOCALTIME)
        text = textfile.read(TIMEZONE)
        is_debian = os.path.exists(_DEBIAN)  # noqa: ASYNC240 - a local file
        return TimezoneState(_DEFAULT if link is None else _zone_of(link), text, is_known, similar, is_debian)

    def plan(self, state: TimezoneState, *, refresh: bool) -> Plan:  # noqa: ARG002  a zone has nothing to refresh
        """Set the link, then the file. Raises ResourceError when the data of the zone are missing."""
        wanted = self._wanted
        if not state.is_known:
            hint = f"did you mean {state.similar}?" if state.similar else "install the package tzdata"
            words = f"there is no time zone {wanted} in {ZONES}"
            raise ResourceError(words, hint, missing=f"{ZONES}/{wanted}")
        steps = []
        if state.zone != wanted:
            words = f"set the time zone to {wanted}" + (f", from {state.zone}" if state.zone else "")
            run = partial(write_link, LOCALTIME, f"..{ZONES}/{wanted}")
            steps.append(Action.proven(words, run))
        text = f"{wanted}\n"
        if state.text != text and (state.is_debian or state.text is not None):
            steps.append(textfile.replace_step(TIMEZONE, text, title=f"{wanted} to {TIMEZONE}"))
        return tuple(steps)

    async def preflight(self, state: TimezoneState) -> None:
        """Check that the link and the file can be replaced."""
        if state.zone != self._wanted:
            refuse_replacement(LOCALTIME)
        if state.text != f"{self._wanted}\n":
            textfile.refuse_unwritable(TIMEZONE)

    async def reversal(self, state: TimezoneState) -> Self:
        """The time zone as it was."""
        if state.zone is None:
            words = f"{LOCALTIME} says no time zone, so reverse could not restore it"
            raise ResourceError(words, "make it a link, or remove reverse")
        return type(self)(name=self.name, zone=state.zone)

    @property
    def _wanted(self) -> str:
        return self.zone or self.name


def _zone_of(link: str) -> str | None:
    """The zone that the target of the link names; None if it leads elsewhere."""
    path = os.path.normpath(os.path.join(os.path.dirname(LOCALTIME), link))
    return path.removeprefix(f"{ZONES}/") if path.startswith(f"{ZONES}/") else None


def _installed() -> Iterator[str]:
    """The zones whose data are installed."""
    for directory, below, names in os.walk(ZONES):
        if directory == ZONES:
            below[:] = [each for each in below if each not in _NO_REGIONS]
        yield from (os.path.join(directory, name).removeprefix(f"{ZONES}/") for name in names)
