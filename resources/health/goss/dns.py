"""The rule ``dns``: the addresses or records of a name."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from typing import Annotated, Any

import trio

from reactor import ResourceError, readable_text
from reactor.resources.health.goss.matchers import Expected
from reactor.resources.health.goss.rule import Milliseconds, Rule, answer_within

_TYPED = re.compile(r"(A|AAAA|CAA|CNAME|MX|NS|PTR|SRV|TXT):(.+)")
_SERVER = re.compile(r"\[([^\]]+)\](?::(\d{1,5}))?|([^:]+)(?::(\d{1,5}))?|([0-9A-Fa-f:]+)")
_DNS_PORT = 53
_NO_SUCH_NAME = frozenset((socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)))


def _split_server(text: str) -> tuple[str, int]:
    match = _SERVER.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a server: write it as 8.8.8.8, 8.8.8.8:53 or [::1]:53")
    bracketed, its_port, host, port, six = match.groups()
    return bracketed or host or six, int(its_port or port or _DNS_PORT)


class DnsRule(Rule):
    """The records of a name. The key is the name, or a record type and a name, such as ``MX:example.com``.

    For a record type, a DNS server is asked.
    """

    resolve: str | None = None
    """The name; by default the key."""
    resolvable: Expected = True
    addrs: Expected = None
    server: Annotated[str, readable_text(_split_server)] | None = None
    """The DNS server, optionally with a port. By default the resolver of the host is used."""
    timeout: Milliseconds = 500
    """The longest wait for the answer, in milliseconds."""

    async def find(self, key: str) -> Mapping[str, Any]:
        """Resolve the name. Raises ResourceError when there is no answer in time."""
        with answer_within(self.timeout):
            addresses = await self._resolve(self.resolve or key)
        return {"resolvable": bool(addresses), "addrs": sorted(addresses)}

    async def _resolve(self, name: str) -> list[str]:
        typed = _TYPED.fullmatch(name)
        if typed is None and self.server is None:
            return await _look_up(name)
        from reactor.resources.health.goss import nameserver  # noqa: PLC0415 - dnspython is slow to import, and rarely needed

        server = None if self.server is None else await _address(self.server)
        if typed is None:
            return await nameserver.ask(name, ("A", "AAAA"), server)
        return await nameserver.ask(typed[2], (typed[1],), server)


async def _address(server: str) -> tuple[str, int]:
    name, port = _split_server(server)
    if not (found := await _look_up(name)):
        raise ResourceError(f"the name of the server {name} does not resolve")
    return found[0], port


def refuse_no_answer(name: str, error: socket.gaierror) -> None:
    """Raise ResourceError unless ``error`` says that the name does not exist. Any other error is no answer."""
    if error.errno not in _NO_SUCH_NAME:
        hint = "check that the name servers in /etc/resolv.conf can be reached"
        raise ResourceError(f"the lookup of {name} failed: {error.strerror}", hint) from error


async def _look_up(name: str) -> list[str]:
    """The addresses of a host name, from the resolver of this host. Raises ResourceError when the look-up fails."""
    try:
        found = await trio.socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except UnicodeError:
        return []
    except socket.gaierror as error:
        refuse_no_answer(name, error)
        return []
    return list(dict.fromkeys(str(address[0]) for *_, address in found))
