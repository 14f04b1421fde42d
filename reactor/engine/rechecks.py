"""Which failures a run without watches checks once more before it ends.

While watching, an event or the next retry finds what a later change has mended: the package that brings the unit, the
mount that was in the way. Without, what failed is checked again when the run comes to rest, if another resource has
changed something since its check began.
"""

from __future__ import annotations

from collections.abc import Collection

from reactor.engine.change_log import ChangeLog
from reactor.graph.topology import Topology


class Rechecks:
    """Chooses them. Each pass after the first needs fewer failures than any before it, so the run ends."""

    def __init__(self, log: ChangeLog) -> None:
        self._log = log
        self._seen = 0
        self._fewest = float("inf")
        self._topology: Topology | None = None

    @property
    def is_due(self) -> bool:
        """Whether anything was changed since the last pass."""
        return self._log.changes > self._seen

    def take(self, failed: Collection[int], blocked: Collection[int], topology: Topology) -> list[int]:
        """The vertices of ``failed`` to check again; ``blocked`` are those that wait for them.

        ``topology`` tells generations apart: in another one, other things may fail.
        """
        if topology is not self._topology:
            self._topology, self._fewest = topology, float("inf")
        self._seen = self._log.changes
        left = len({*failed, *blocked})
        found = [vertex for vertex in sorted(failed) if self._log.others_since(vertex)]
        if not found or left >= self._fewest:
            return []
        self._fewest = left
        return found
