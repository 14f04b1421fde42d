"""The clock of the servers.

The soak time of waves is measured by it, so the clocks of operators' machines do not matter.
"""

from __future__ import annotations

import time
from datetime import datetime

from reactor.fleet.bucket_names import CHANNELS
from reactor.fleet.link.errors import ForeignServerError
from reactor.fleet.link.jetstream import JetStream


class ServerClock:
    """The clock of the servers. Its difference from the local clock is measured once, and again by `measure`."""

    def __init__(self, js: JetStream) -> None:
        self._js = js
        self._ahead: float | None = None

    async def measure(self) -> float:
        """Ask a server; return how many seconds its clock is ahead of ours. Raises LinkError."""
        began = time.time()
        time_text = (await self._js.stream_info(f"KV_{CHANNELS}")).get("ts")
        try:
            found = datetime.fromisoformat(str(time_text)).timestamp()
        except ValueError as error:
            raise ForeignServerError(f"the server gives no time: {time_text!r}") from error
        self._ahead = found - (began + time.time()) / 2
        return self._ahead

    async def now(self) -> float:
        """Seconds since 1970 on the server's clock. Raises LinkError."""
        ahead = self._ahead if self._ahead is not None else await self.measure()
        return time.time() + ahead
