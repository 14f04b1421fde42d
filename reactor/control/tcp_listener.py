"""TCP ports on which a run shows something, and the one that shows its metrics and nothing else."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass

from reactor.control.address import Address
from reactor.control.server import BACKLOG, serve
from reactor.engine.engine import Engine
from reactor.metrics.tally import Tally


@dataclass(frozen=True, slots=True)
class Shown:
    """What a port shows: the numbers of a run, to anybody or to those who know the ``token``."""

    tally: Tally
    engine: Engine
    token: str | None


class TcpListener:
    """Listens from the moment it is made, so that a port that can't be had is known before the run. Raises OSError."""

    def __init__(self, address: Address) -> None:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        self.listener = socket.create_server((address.host, address.port), family=family, backlog=BACKLOG)
        self.listener.setblocking(False)

    @property
    def address(self) -> Address:
        """Where it listens."""
        host, port, *_ = self.listener.getsockname()
        return Address(host, port)

    def close(self) -> None:
        """Listen no longer."""
        self.listener.close()


class MetricsPort(TcpListener):
    """Shows the metrics of a run, to those who know the ``token`` if there is one."""

    def __init__(self, address: Address, token: str | None) -> None:
        super().__init__(address)
        self._token = token

    @property
    def url(self) -> str:
        """What Prometheus is to scrape."""
        return f"http://{self.address.as_reached}/metrics"

    async def run(self, tally: Tally, engine: Engine, warn: Callable[[str], None]) -> None:
        """Serve until cancelled."""
        await serve(self.listener, "reactor.control.metrics", Shown(tally, engine, self._token), warn)
