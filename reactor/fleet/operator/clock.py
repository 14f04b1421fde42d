"""The clock of the servers.

The soak time of waves is measured by it, so the clocks of operators' machines do not matter.
"""

from __future__ import annotations

from datetime import datetime

from reactor.clock import uptime
from reactor.fleet.bucket_names import CHANNELS
from reactor.fleet.link.errors import ForeignServerError
from reactor.fleet.link.jetstream import JetStream


class ServerClock:
    """The clock of the servers: `measure` asks one, and `now` goes on from there, whatever the local clock is set to."""

    def __init__(self, js: JetStream) -> None:
        self._js = js
        self._began: float | None = None
        """When this machine started, on the clock of the servers."""

    async def measure(self) -> float:
        """Ask a server; return seconds since 1970 on its clock. Raises LinkError."""
        asked = uptime()
        time_text = (await self._js.stream_info(f"KV_{CHANNELS}")).get("ts")
        try:
            found = datetime.fromisoformat(str(time_text)).timestamp()
        except ValueError as error:
            raise ForeignServerError(f"the server gives no time: {time_text!r}") from error
        self._began = found - (asked + uptime()) / 2
        return self._began + uptime()

    async def now(self) -> float:
        """Seconds since 1970 on the server's clock. Asks a server the first time. Raises LinkError."""
        return await self.measure() if self._began is None else self._began + uptime()
