"""How each resource stands, and what the run amounts to."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from reactor.engine.events import Result, Skipped


class Ledger:
    """The last result of every vertex, by vertex number; a change made earlier in the run is remembered."""

    def __init__(self, refs: Sequence[str]) -> None:
        self._refs = refs
        self._results: list[Result | None] = [None] * len(refs)
        self._changed: set[int] = set()
        self.changes = 0
        """How many checks changed something."""

    def book(self, vertex: int, result: Result) -> None:
        """Record how a check of ``vertex`` ended."""
        self._results[vertex] = result
        if result is Result.CHANGED:
            self.changes += 1
            self._changed.add(vertex)

    def result(self, vertex: int, blocked: Collection[int]) -> Result | None:
        """How ``vertex`` stands; None when it was never checked."""
        if vertex in blocked:
            return Result.BLOCKED
        if vertex in self._changed and self._results[vertex] is Result.OK:
            return Result.CHANGED
        return self._results[vertex]

    def results(self, blocked: Collection[int]) -> dict[str, Result | None]:
        """How every resource stands, by ref."""
        return {ref: self.result(vertex, blocked) for vertex, ref in enumerate(self._refs)}

    def close(self, blocked: Collection[int], now: float, reason: str) -> list[Skipped]:
        """The run is over: what was neither checked nor blocked is skipped, for ``reason``."""
        left = [v for v, result in enumerate(self._results) if result is None and v not in blocked]
        for vertex in left:
            self._results[vertex] = Result.SKIPPED
        return [Skipped(now, self._refs[vertex], reason) for vertex in left]

    def counts(self, blocked: Collection[int]) -> dict[str, int]:
        """How many resources stand how; every `Result` is a key."""
        counts = dict.fromkeys((str(result) for result in Result), 0)
        for vertex in range(len(self._refs)):
            if (result := self.result(vertex, blocked)) is not None:
                counts[result] += 1
        return counts
