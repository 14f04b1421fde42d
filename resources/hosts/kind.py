"""The kind `host`: its properties, and the rules for their combinations."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator

from reactor import Claim, PropertyProblem, ResourceError
from reactor.resources.default_name import name_problems
from reactor.resources.hosts.host_lines import HOSTS, DesiredHost, parse_line
from reactor.resources.owned_lines import OwnedLines
from reactor.resources.shared_lines import Found

_LABEL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_LONGEST = 253


def _check_name(name: str) -> str:
    if len(name) > _LONGEST or not all(_LABEL.fullmatch(label) for label in name.split(".")):
        raise ValueError(
            f"{name!r} is not the name of a host: write labels of letters, digits and -, with dots between"
        )
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name
    raise ValueError(f"{name!r} is an address, not the name of a host")


def _check_ip(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise ValueError(f"{text!r} is not an IP address: write it as 192.0.2.1 or 2001:db8::1") from None


HostName = Annotated[str, AfterValidator(_check_name)]
"""The name of a host."""


class Host(OwnedLines, kind="host"):
    """Manage the address of one host in `/etc/hosts`. Other lines of the file stay as they are."""

    example = "db.internal --ip 192.0.2.5 --aliases db"
    provides_only_its_own = True

    ensure: Literal["present", "absent"] = "present"
    host: HostName | None = None
    """The canonical name of the host; by default the name of the resource."""
    ip: Annotated[str, AfterValidator(_check_ip)] | None = None
    """The address. With absent and without an address, all its addresses go."""
    aliases: tuple[HostName, ...] | None = None
    """Further names of the host; unset, those in its line stay."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """A name that is none, a missing address, and a localhost elsewhere."""
        yield from super().property_problems()
        yield from name_problems(self, "host", _check_name)
        if self.ensure == "present" and self.ip is None:
            yield PropertyProblem((), "ip is required, unless ensure is absent", "add it: ip: 192.0.2.1")
        names = [name.lower() for name in self._names]
        for index, name in enumerate(names[1:]):
            if name in names[: index + 1]:
                yield PropertyProblem(("aliases", index), f"{name} is listed twice", "remove one of them")
        is_local = self.ip is not None and ipaddress.ip_address(self.ip).is_loopback
        if "localhost" in names and (self.ensure == "absent" or not is_local):
            where = ("ip",) if self.ip is not None else ("ensure",)
            yield PropertyProblem(
                where, "the host would not work without its localhost", "write ip: 127.0.0.1 or ::1"
            )

    def claims(self) -> Iterable[Claim]:
        """The file, and each name with the sort of its address."""
        yield from super().claims()
        versions = (4, 6) if self.ip is None else (ipaddress.ip_address(self.ip).version,)
        for name in self._names:
            for version in versions:
                wishes = {"ensure": self.ensure, **({"ip": self.ip} if self.ensure == "present" else {})}
                yield Claim(f"IPv{version} address of the host", name.lower(), wishes)

    @property
    def file_path(self) -> str:
        """The absolute path of the file."""
        return HOSTS

    def differences(self, lines: Sequence[bytes]) -> list[str]:
        """The changes that ``lines`` need, in words."""
        return self._wanted.differences(lines)

    def changed(self, lines: Sequence[bytes]) -> list[bytes]:
        """The desired lines."""
        return self._wanted.apply(lines)

    async def describe(self) -> Mapping[str, Any]:
        """The address and the further names of the first line of the host."""
        line = next(iter(self._lines(await self.observe())), None)
        if line is None:
            return {"ensure": "absent"}
        others = [name for name in line.names if name.lower() != self._names[0].lower()]
        return {"ensure": "present", "ip": str(line.address), "aliases": others}

    async def reversal(self, state: Found | None) -> Self:
        """The address as it was, or none."""
        lines = self._lines(state)
        if not lines:
            return type(self)(
                name=self.name, host=self._names[0], ip=self.ip, aliases=self.aliases, ensure="absent"
            )
        line = lines[0]
        if len(lines) > 1 or line.names[0].lower() != self._names[0].lower():
            words = "reverse could not restore the lines of the host"
            raise ResourceError(words, "change them by hand, or remove reverse")
        try:
            host, *aliases = line.names
            return type(self)(name=self.name, host=host, ip=str(line.address), aliases=aliases)
        except ValueError as error:  # also pydantic's
            raise ResourceError("reverse could not restore the line of the host", "remove reverse") from error

    def is_undone_by(self, recorded: Self) -> bool | None:
        """Always, unless it is another host now, or has another sort of address or a name that would stay."""
        former, names = ([name.lower() for name in each] for each in (recorded._names, self._names))
        is_same = former[0] == names[0] and recorded._version in (None, self._version or recorded._version)
        return True if is_same and (recorded.ensure == "present" or {*names} <= {*former}) else None

    def _lines(self, state: Found | None) -> list[Any]:
        found = (parse_line(line) for line in (state.lines if state else []))
        return [
            each
            for each in found
            if each is not None
            and self._version in (None, each.address.version)
            and any(map(each.has, self._names))
        ]

    @property
    def _names(self) -> tuple[str, ...]:
        return (self.host or self.name, *(self.aliases or ()))

    @property
    def _version(self) -> int | None:
        """The version of the protocol of the address; None without an address."""
        return None if self.ip is None else ipaddress.ip_address(self.ip).version

    @property
    def _wanted(self) -> DesiredHost:
        address = None if self.ip is None else ipaddress.ip_address(self.ip)
        return DesiredHost(self.host or self.name, address, self.aliases, self.ensure == "present")
