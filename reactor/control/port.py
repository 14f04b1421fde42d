"""A TCP port that shows the metrics of one run, and nothing else."""

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


class MetricsPort:
    """Listens from the moment it is made, so that a port that can't be had is known before the run. Raises OSError."""

    def __init__(self, address: Address, token: str | None) -> None:
        self._token = token
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        self._listener = socket.create_server((address.host, address.port), family=family, backlog=BACKLOG)
        self._listener.setblocking(False)

    @property
    def address(self) -> Address:
        """Where it listens."""
        host, port, *_ = self._listener.getsockname()
        return Address(host, port)

    async def run(self, tally: Tally, engine: Engine, tell: Callable[[str], None]) -> None:
        """Serve until cancelled."""
        await serve(self._listener, "reactor.control.metrics", Shown(tally, engine, self._token), tell)

    def close(self) -> None:
        """Listen no longer."""
        self._listener.close()
