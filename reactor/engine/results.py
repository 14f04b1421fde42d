"""How each resource stands, and what the run amounts to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from reactor.engine.events import Result

_OK, _CHANGED = Result.OK, Result.CHANGED  # see `reactor.engine.outcome.Outcome`


class Results:
    """The last result of every vertex, by vertex number; a change made earlier in the run is remembered."""

    def __init__(self) -> None:
        self._results: dict[int, Result] = {}
        self._changed: set[int] = set()
        self.changes = 0
        """How many checks changed something."""

    def record(self, vertex: int, result: Result) -> None:
        """Record how a check of ``vertex`` ended."""
        self._results[vertex] = result
        if result is _CHANGED:
            self.changes += 1
            self._changed.add(vertex)

    def forget(self, vertices: Iterable[int]) -> None:
        """Know nothing of ``vertices`` any more: they have left the graph."""
        for vertex in vertices:
            self._results.pop(vertex, None)
            self._changed.discard(vertex)

    def result(self, vertex: int, blocked: Collection[int]) -> Result | None:
        """How ``vertex`` stands; None when it was never checked."""
        if vertex in blocked:
            return Result.BLOCKED
        result = self._results.get(vertex)
        return _CHANGED if result is _OK and vertex in self._changed else result

    def skip_unchecked(self, vertices: Iterable[int], blocked: Collection[int]) -> list[int]:
        """The run is over: of ``vertices``, those neither checked nor blocked are skipped, and returned."""
        left = [v for v in vertices if v not in self._results and v not in blocked]
        for vertex in left:
            self._results[vertex] = Result.SKIPPED
        return left

    def counts(self, vertices: Collection[int], blocked: Collection[int]) -> dict[str, int]:
        """How many of ``vertices`` stand how; every `Result` is a key."""
        found = Counter(map(self._results.get, vertices))
        for vertex in {*self._changed, *blocked}.intersection(vertices):
            found[self._results.get(vertex)] -= 1
            found[self.result(vertex, blocked)] += 1
        return {str(result): found[result] for result in Result}
