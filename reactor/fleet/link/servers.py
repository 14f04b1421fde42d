"""The addresses of servers, and the pool to try: the configured servers, and the servers that the cluster announces."""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from reactor.fleet.link.errors import ContextError

_PORT = 4222
_MOST_DISCOVERED = 64
_LONGEST_DISCOVERED = 300


@dataclass(frozen=True, slots=True)
class Server:
    """One address. ``tls_name``: the name that its certificate must have. ``discovered``: by a server."""

    host: str
    port: int
    secure: bool = False
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    tls_name: str = ""
    discovered: bool = False

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'tls' if self.secure else 'nats'}://{host}:{self.port}"


def parse_server(text: str) -> Server:
    """Parse ``nats://user:password@host:port``; scheme and port may be missing. Raises ContextError."""
    hint = "write it as nats://host:4222 or tls://host:4222"
    text = text.strip()
    try:
        parts = urlsplit(text if "://" in text else f"nats://{text}")
        host, port = parts.hostname, parts.port or _PORT
    except ValueError:  # its message may contain the password
        raise ContextError("the URL of a NATS server has an invalid host or port", hint) from None
    if parts.scheme in ("ws", "wss"):
        raise ContextError(
            f"the NATS server {parts.scheme}://{host} is a WebSocket, which reactor does not use", hint
        )
    if not host or parts.scheme not in ("nats", "tls"):
        raise ContextError(
            f"the URL of a NATS server has no host, or an unknown scheme: {parts.scheme!r}", hint
        )
    user = unquote(parts.username) if parts.username else None
    password = unquote(parts.password) if parts.password is not None else None
    return Server(host, port, parts.scheme == "tls", user, password, tls_name=host)


class Pool:
    """The servers in the order in which they are tried. The configured ones always stay."""

    def __init__(self, servers: Iterable[str]) -> None:
        """Raises ContextError."""
        self._servers = [parse_server(each) for each in servers]
        if not self._servers:
            raise ContextError("no NATS server is configured", "give the URL of one: nats://host:4222")
        random.shuffle(self._servers)

    def __len__(self) -> int:
        return len(self._servers)

    def __iter__(self) -> Iterator[Server]:
        return iter(tuple(self._servers))

    def next(self) -> Server:
        """Return the next server to try, and move it to the end."""
        server = self._servers.pop(0)
        self._servers.append(server)
        return server

    def update_discovered(self, urls: object, by: Server) -> None:
        """Replace the discovered servers by the ones that a server of the cluster announces.

        They get the identity and the TLS of that server, because they are in the same cluster.
        """
        if not isinstance(urls, list):
            return
        known = {(each.host, each.port) for each in self._servers if not each.discovered}
        discovered: dict[tuple[str, int], Server] = {}
        for url in urls[:_MOST_DISCOVERED]:
            server = _discovered(url, by)
            if server is not None and (server.host, server.port) not in known:
                discovered[server.host, server.port] = server
        self._servers = [
            each
            for each in self._servers
            if not each.discovered or discovered.pop((each.host, each.port), None) is not None
        ]
        for server in discovered.values():
            self._servers.insert(random.randint(0, max(len(self._servers) - 1, 0)), server)  # noqa: S311 - spreads load


def _discovered(url: object, by: Server) -> Server | None:
    """Return the server that another one announces, None if ``url`` is no address."""
    if not isinstance(url, str) or len(url) > _LONGEST_DISCOVERED:
        return None
    try:
        discovered = parse_server(url)
    except ContextError:
        return None
    name = by.tls_name if _is_address(discovered.host) else discovered.host
    return Server(
        discovered.host,
        discovered.port,
        by.secure or discovered.secure,
        by.user,
        by.password,
        name,
        discovered=True,
    )


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
