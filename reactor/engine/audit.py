"""The slow audit: re-check everything now and then, and count drift that no event announced.

That count is the honesty metric of watching, and should stay 0.
"""

from __future__ import annotations

import random

import trio

from reactor.engine.events import Cause
from reactor.engine.mark_sink import MarkSink

CHUNK = 64
PAUSE = 0.01


class Audit:
    """Marks every vertex about every ``interval`` seconds, spread by ±10 % so that hosts do not march in step."""

    def __init__(self, engine: MarkSink, interval: float) -> None:
        self._engine = engine
        self._interval = interval

    async def run(self) -> None:
        """Audit until cancelled. Goes through the vertices in chunks, so that live events are not held up."""
        while True:
            await trio.sleep(self._interval * random.uniform(0.9, 1.1))  # noqa: S311 - it needs no secrecy
            vertices = sorted(self._engine.vertex_table.present)
            for first in range(0, len(vertices), CHUNK):
                for vertex in vertices[first : first + CHUNK]:
                    self._engine.mark(vertex, Cause.AUDIT)
                await trio.sleep(PAUSE)
