"""Finds and writes the lines of hosts(5). Malformed lines stay as they are."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from reactor.resources.shared_lines import replaced

HOSTS = "/etc/hosts"
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


OWN_ADDRESS = ipaddress.ip_address("127.0.1.1")
"""The address of this host itself, where it has no permanent one, as in Debian."""


class HostLine(NamedTuple):
    """A line: its address, its names, of which the first is the canonical one, and a comment with its ``#``."""

    address: Address
    names: tuple[str, ...]
    comment: str = ""

    def has(self, name: str) -> bool:
        """Whether ``name`` is one of the names, which have no case."""
        return name.lower() in (each.lower() for each in self.names)

    @property
    def text(self) -> bytes:
        """The line, without its end."""
        comment = f" {self.comment}" if self.comment else ""
        return f"{self.address}\t{' '.join(self.names)}{comment}".encode("utf-8", "surrogateescape")


@lru_cache(maxsize=4096)
def parse_line(line: bytes) -> HostLine | None:
    """The host in ``line``; None for a comment, an empty or a malformed line."""
    text, mark, comment = line.decode("utf-8", "surrogateescape").rstrip("\r\n").partition("#")
    words = text.split()
    if len(words) < 2:  # noqa: PLR2004 - an address and a name
        return None
    try:
        return HostLine(ipaddress.ip_address(words[0]), tuple(words[1:]), mark + comment)
    except ValueError:
        return None


def with_own_name(lines: Sequence[bytes], name: str) -> list[bytes]:
    """``lines`` in which the name of this host, and the part before its first dot, have an address.

    If they have none, they become those of 127.0.1.1, in place of former names.
    """
    short = name.partition(".")[0]
    names = (name,) if short == name else (name, short)
    found = [parse_line(line) for line in lines]
    if all(any(each is not None and each.has(name) for each in found) for name in names):
        return [*lines]
    places = [at for at, each in enumerate(found) if each is not None and each.address == OWN_ADDRESS]
    former = found[places[0]] if places else None
    return replaced(lines, places[:1], HostLine(OWN_ADDRESS, names, former.comment if former else "").text)


class DesiredHost(NamedTuple):
    """The desired line of a host. Without an address, there must be none. ``aliases`` None keeps those of its line."""

    host: str
    address: Address | None
    aliases: tuple[str, ...] | None
    is_present: bool

    def differences(self, lines: Sequence[bytes]) -> list[str]:
        """The changes that ``lines`` need, in words."""
        if self.apply(lines) == [*lines]:
            return []
        if not self.is_present:
            return ["removed the host"]
        is_known = any(self._concerns(each) and each.has(self.host) for each in _parsed(lines))
        return [f"changed the host to {self.address}" if is_known else "added the host"]

    def apply(self, lines: Sequence[bytes]) -> list[bytes]:
        """The desired lines. Other names keep the address that they have."""
        after: list[bytes] = []
        own: list[int] = []
        for line in lines:
            found = parse_line(line)
            if found is None or not self._concerns(found):
                after.append(line)
            elif self.is_present and found.names[0].lower() == self.host.lower():
                own.append(len(after))
                after.append(line)
            elif self._is_right(found) or (names := self._others(found)) == found.names:
                after.append(line)
            elif names:
                after.append(found._replace(names=names).text + line[len(line.rstrip(b"\r\n")) :])
        return self._completed(after, own) if self.is_present and self.address else after

    def _completed(self, lines: list[bytes], own: list[int]) -> list[bytes]:
        """``lines`` with the address and all names. ``own`` has the indexes of the lines with the canonical name."""
        found = parse_line(lines[own[0]]) if own else None
        aliases = self.aliases or ()
        if found is not None and self.aliases is None:
            aliases = found.names[1:]
        names = (self.host, *aliases)
        if found is None:
            known = [each for each in _parsed(lines) if self._is_right(each)]
            if all(any(each.has(name) for each in known) for name in names):
                return lines
            return replaced(lines, [], HostLine(self._own_address, names).text)
        same = [name.lower() for name in found.names] == [name.lower() for name in names]
        if same and found.address == self.address:
            return replaced(lines, own, lines[own[0]].rstrip(b"\r\n"))
        return replaced(lines, own, found._replace(address=self._own_address, names=names).text)

    @property
    def _own_address(self) -> Address:
        if self.address is None:
            raise ValueError("a present host has an address")
        return self.address

    def _concerns(self, line: HostLine) -> bool:
        """Whether the line may have one of the names, and an address of the same sort."""
        if self.address is not None and line.address.version != self.address.version:
            return False
        return self._others(line) != line.names

    def _is_right(self, line: HostLine) -> bool:
        return self.is_present and line.address == self.address

    def _others(self, line: HostLine) -> tuple[str, ...]:
        ours = {name.lower() for name in (self.host, *(self.aliases or ()))}
        return tuple(name for name in line.names if name.lower() not in ours)


def _parsed(lines: Sequence[bytes]) -> list[HostLine]:
    return [each for each in map(parse_line, lines) if each is not None]
