"""Publishes the values that a host shares, and deletes values that its manifest no longer shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reactor.fleet.bucket_names import SHARED
from reactor.fleet.debounced_event import DebouncedEvent
from reactor.fleet.host.shared_values import LOOK
from reactor.fleet.link.direct_get import last_messages
from reactor.fleet.link.errors import LinkError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.shared_value import SharedValue, by_host

_FIRST_RETRY, _LONGEST_RETRY = 1.0, 300.0


class SharesPublisher:
    """Keeps the shared values of ``host`` on the servers equal to the values in its manifest."""

    def __init__(self, host: str, groups: Sequence[str]) -> None:
        self._host = host
        self._groups = tuple(groups)
        self._wanted: Mapping[str, Any] | None = None
        self._trigger = DebouncedEvent()

    def take(self, shares: Mapping[str, Any]) -> None:
        """Share these values from now on, and no others."""
        if shares != self._wanted:
            self._wanted = dict(shares)
            self._trigger.set()

    async def run(self, js: JetStream, warn: Callable[[str], None]) -> None:
        """Publish until cancelled. The shared values stay on the servers when the run ends."""
        retry, warned = _FIRST_RETRY, ""
        with js.connection.watched(lambda status: self._trigger.set() if status.up else None):
            while True:
                await js.connection.wait_up()
                problem = await self._publish(js)
                if problem and problem != warned and js.connection.up:
                    warn(problem)
                warned = problem
                await self._trigger.wait(retry if problem else LOOK)
                retry = min(retry * 2, _LONGEST_RETRY) if problem else _FIRST_RETRY

    async def _publish(self, js: JetStream) -> str:
        """Write what differs; return the problem, an empty string if there is none."""
        if (shares := self._wanted) is None:
            return ""
        bucket = js.key_value(SHARED)
        wanted = {
            each.key: each
            for each in (SharedValue(self._host, name, value, self._groups) for name, value in shares.items())
        }
        try:
            found = await last_messages(js, bucket.stream, [f"{bucket.prefix}{self._host}.*"])
            entries = [entry for each in found if not (entry := bucket.entry_of(each)).deleted]
            there = {each.key: (each.value, each.groups) for each in by_host(entries)}
            for key, value in wanted.items():
                if there.get(key) != (value.value, value.groups):
                    await bucket.put(key, value.to_bytes())
            for entry in entries:
                if entry.key not in wanted:
                    await bucket.delete(entry.key)
        except LinkError as error:
            return f"the values of this host are not shared: {error.message}"
        return ""
