"""Values of a network that the expressions of one command read.

The code for that is loaded when the first one is read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reactor.resource.network_value import NetworkValue
    from reactor.source.links import LinkedValues

_SCHEME = "kv://"


class RunNetwork:
    """Implements `reactor.resource.network_value.Network`. ``context`` names the settings to connect with.

    ``state`` is the directory that keeps the last values, None for memory only. ``stream`` has the registrations;
    ``registers`` tells whether the run publishes some.
    """

    functions = frozenset({"registrations", "kvGet"})

    def __init__(self, context: str, stream: str | None = None, *, registers: bool = False) -> None:
        self.context, self.stream, self.registers = context, stream, registers
        self.state: str | None = None
        self._is_used = self._is_kept = False
        self._wake: Callable[[], None] | None = None
        self._lock = threading.Lock()

    @cached_property
    def _values(self) -> LinkedValues | None:
        from reactor.source.links import link_of

        link = link_of(_SCHEME)
        if link is None:
            return None
        values = link.network(self.context, self.stream)
        if self.state is not None:
            values.use(self.state)
        return values

    def read(self, function: str, arguments: tuple[str, ...], *, briefly: bool) -> NetworkValue | None:
        """Implements `reactor.resource.network_value.Network`."""
        if briefly and not self._is_used:
            return None
        with self._lock:
            values = self._values
            if not self._is_used:
                self._is_used = True
                if self._wake is not None:
                    self._wake()
        if values is None:
            from reactor.resource.network_value import NetworkValue

            return NetworkValue(f"{function}({', '.join(arguments)})", may_pass=False)
        return values.read(function, arguments, briefly=briefly)

    def warnings(self) -> list[str]:
        """Return the warnings about values that are not current."""
        return self._values.warnings() if self._is_used and self._values is not None else []

    def stale(self) -> dict[str, str]:
        """Return the warnings about values that are not current, by mirror file."""
        return self._values.stale() if self._is_used and self._values is not None else {}

    def keep(self) -> None:
        """Keep the values below the state directory from now on. Raises OSError."""
        self._is_kept = True
        if self._is_used and self._values is not None:
            self._values.keep()

    @property
    def is_used(self) -> bool:
        """Whether an expression has read a value."""
        return self._is_used

    async def used(self) -> None:
        """Wait until an expression reads a value."""
        import trio

        used = trio.Event()
        token = trio.lowlevel.current_trio_token()
        with self._lock:
            self._wake = lambda: token.run_sync_soon(used.set)
            if self._is_used:
                used.set()
        await used.wait()

    async def run(self, warn: Callable[[str], None]) -> None:
        """Follow the values until cancelled, once an expression has read one. ``warn`` gets warnings."""
        await self.used()
        if (values := self._values) is not None:
            if self._is_kept:
                values.keep()
            await values.run(warn)
