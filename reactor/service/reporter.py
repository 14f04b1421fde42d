"""Notifies the service manager about one run: a sink of its events, and a task beside its engine."""

from __future__ import annotations

import trio

from reactor.engine.engine import Engine
from reactor.engine.events import Event, Reloaded, ReloadRejected
from reactor.number_format import counted
from reactor.resource.redaction import redact
from reactor.service.notify import Notifier

INTERVAL = 1.0
"""Seconds between two status lines."""

_NAMED = 3
_ENDS_OF_RELOADS = {Reloaded, ReloadRejected}


class Reporter:
    """Sends readiness, status lines, reloads, keep-alives and the end to the service manager."""

    def __init__(self, notifier: Notifier) -> None:
        self._notifier = notifier
        self._engine: Engine | None = None
        self._rejected = False
        self._new_data = trio.Event()

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if type(event) in _ENDS_OF_RELOADS:
            self._rejected = type(event) is ReloadRejected
            self._notifier.ready(self._status())
        self._new_data.set()

    def loading(self) -> None:
        """Report that the manifest is being reloaded. May be called from any thread."""
        self._notifier.reloading()

    async def run(self, engine: Engine) -> None:
        """Report readiness, then the status, until cancelled."""
        self._engine = engine
        self._notifier.ready("starting")
        async with trio.open_nursery() as nursery:
            if self._notifier.watchdog is not None:
                nursery.start_soon(self._stay_alive, self._notifier.watchdog / 2)
            nursery.start_soon(self._report)

    def ending(self) -> None:
        """Report that the engine has ended."""
        self._notifier.stopping()

    async def _stay_alive(self, interval: float) -> None:
        """Send keep-alives. They come from the event loop, so they stop if the loop hangs."""
        while True:
            self._notifier.alive()
            await trio.sleep(interval)

    async def _report(self) -> None:
        reported = ""
        while True:
            await self._new_data.wait()
            self._new_data = trio.Event()
            if (status := self._status()) != reported:
                reported = status
                self._notifier.status(status)
            await trio.sleep(INTERVAL)

    def _status(self) -> str:
        status = "starting" if self._engine is None else resource_status(self._engine)
        return f"{status}; the new version of the manifest is invalid" if self._rejected else status


def resource_status(engine: Engine) -> str:
    """The status of the resources, in one line."""
    scheduler = engine.scheduler
    total = counted(len(engine.vertex_table.present), "resource")
    if scheduler.converged:
        return f"converged: {total}"
    failed = sorted(scheduler.blocking.failed)
    names = [engine.vertex_table.refs[vertex] for vertex in failed[:_NAMED]]
    more = ", ..." if len(failed) > _NAMED else ""
    parts = {
        f"{len(failed)} failed ({redact(', '.join(names))}{more})": failed,
        f"{len(scheduler.blocking.blocked)} blocked": scheduler.blocking.blocked,
        f"{scheduler.order.active_count} in motion": scheduler.order.active_count,
    }
    return f"{', '.join(text for text, any_such in parts.items() if any_such)}, of {total}"
