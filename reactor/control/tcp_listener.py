"""TCP ports that a run listens on; one serves only its metrics."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass

from reactor.control.listen_address import Address
from reactor.control.server import BACKLOG, serve
from reactor.engine.engine import Engine
from reactor.metrics.tally import Tally


@dataclass(frozen=True, slots=True)
class ServedMetrics:
    """The metrics of a run, and the token that clients must send; None for no token."""

    tally: Tally
    engine: Engine
    token: str | None


class TcpListener:
    """Listens as soon as it is created, so that a port in use is an error before the run starts. Raises OSError."""

    def __init__(self, address: Address) -> None:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        self.listener = socket.create_server((address.host, address.port), family=family, backlog=BACKLOG)
        self.listener.setblocking(False)

    @property
    def address(self) -> Address:
        """The address that it listens on."""
        host, port, *_ = self.listener.getsockname()
        return Address(host, port)

    def close(self) -> None:
        """Stop listening."""
        self.listener.close()


class MetricsPort(TcpListener):
    """Serves the metrics of a run; clients must send the ``token`` if there is one."""

    def __init__(self, address: Address, token: str | None) -> None:
        super().__init__(address)
        self._token = token

    @property
    def url(self) -> str:
        """The URL for Prometheus to scrape."""
        return f"http://{self.address.as_reached}/metrics"

    async def run(self, tally: Tally, engine: Engine, warn: Callable[[str], None]) -> None:
        """Serve until cancelled."""
        await serve(self.listener, "reactor.control.metrics", ServedMetrics(tally, engine, self._token), warn)
