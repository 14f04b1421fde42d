"""The audit: checks every resource about every half hour, and so finds drift that no event announced.

`AuditFound` counts that drift. The count should stay 0.
"""

from __future__ import annotations

import random

import trio

from reactor.engine.dispatcher import Dispatcher
from reactor.engine.events import Cause

CHUNK = 64
PAUSE = 0.01


class Audit:
    """Marks every vertex about every ``interval`` seconds.

    A jitter of ±10 % keeps hosts from doing it at the same time.
    """

    def __init__(self, dispatcher: Dispatcher, interval: float) -> None:
        self._dispatcher = dispatcher
        self._interval = interval

    async def run(self) -> None:
        """Audit until cancelled."""
        while True:
            await trio.sleep(self._interval * random.uniform(0.9, 1.1))  # noqa: S311 - it needs no secrecy
            await self.mark_all()

    async def mark_all(self) -> None:
        """Mark every vertex, in chunks: events that arrive in between are not delayed."""
        vertices = sorted(self._dispatcher.vertex_table.present)
        for first in range(0, len(vertices), CHUNK):
            by_cause: dict[Cause, list[int]] = {}
            for vertex in vertices[first : first + CHUNK]:
                by_cause.setdefault(self._causes(vertex), []).append(vertex)
            for cause, marked in by_cause.items():
                self._dispatcher.mark_each(marked, cause)
            await trio.sleep(PAUSE)

    def _causes(self, vertex: int) -> Cause:
        """The causes of the check. Where the manifest lets the clock advance, a change may be intended: it is no drift."""
        resource = self._dispatcher.vertex_table.resources[vertex]
        if resource.meta.now == "load" or (deferred := resource.declared.deferred) is None:
            return Cause.AUDIT
        deferred.advance_clock()
        return Cause.AUDIT | Cause.INTENT
