"""The final check of a run without watches: it finds what a change of one resource has undone in another.

Kinds whose resources are applied in groups share one thing: installing one package may install or remove others. Other
kinds name the kinds that they may undo: starting a service stops a conflicting one. In a run with watches, events lead
to a check of the affected resources. Without watches, they are checked once more before the run ends. That check
repairs nothing: two resources that undo each other would keep the run from ending. Only what can't undo the other in turn
is repaired, such as a file that a package has brought after it was found absent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

from reactor.engine.admission import is_shared
from reactor.engine.check import CheckResult, check
from reactor.engine.event_recorder import Results
from reactor.engine.events import Result
from reactor.engine.outcome import Outcome
from reactor.engine.vertex_table import VertexTable
from reactor.resource.base import Resource

_HINT: Final = (
    "if one of them installs or removes the other, they can't both be as declared: correct one of them"
)
_NAMED: Final = 3


class FinalCheck:
    """Records which vertices changed something since the last final check, and what that check found."""

    def __init__(self, vertex_table: VertexTable, results: Results) -> None:
        self._vertex_table = vertex_table
        self._results = results
        self._changers: dict[str, set[int]] = {}
        self._overwritten: set[str] = set()
        self.is_under_way = False
        self.found: dict[int, CheckResult] = {}
        """The results on the vertices that are no longer as desired."""

    @property
    def is_due(self) -> bool:
        """Whether anything was changed that may have undone another resource."""
        return bool(self._changers or self._overwritten)

    def changes(self, vertex: int) -> None:
        """Record that the check of ``vertex`` is about to change something."""
        resource = self._vertex_table.resources[vertex]
        if is_shared(resource):
            self._changers.setdefault(resource.kind, set()).add(vertex)
        for kind in resource.may_undo:
            self._changers.setdefault(kind, set()).add(vertex)
        self._overwritten |= resource.may_overwrite

    async def take(self, blocked: Collection[int]) -> list[int]:
        """Check every vertex that was as desired and that a change may have undone.

        Return those that no longer are as desired. Those that are not in `found` are to be repaired.
        """
        changers, self._changers = self._changers, {}
        overwritten, self._overwritten = self._overwritten, set()
        undone = []
        self.is_under_way = True
        for vertex, resource in self._settled(changers.keys() | overwritten, blocked):
            if resource.kind not in changers and resource.declared.form.is_ccm:
                continue  # in order, and once
            result = await check(resource, refresh=False, noop=True, diff=False, before_apply=_never)
            if result.outcome is Outcome.OK:
                continue
            undone.append(vertex)
            if resource.kind in changers:
                self.found[vertex] = self._undone(result, changers[resource.kind] - {vertex})
        self.is_under_way = False
        return undone

    def _settled(self, kinds: Collection[str], blocked: Collection[int]) -> Iterator[tuple[int, Resource]]:
        """The vertices of ``kinds`` that were as desired.

        If names repeat, only the last one, which decides the final state.
        """
        resources = (
            (vertex, self._vertex_table.resources[vertex]) for vertex in sorted(self._vertex_table.present)
        )
        last = {(each.kind, each.name): (vertex, each) for vertex, each in resources if each.kind in kinds}
        for vertex, resource in last.values():
            is_judged = not (self._vertex_table.noop(vertex) or resource.meta.monitor_only)
            if is_judged and self._results.result(vertex, blocked) in (Result.OK, Result.CHANGED):
                yield vertex, resource

    def _undone(self, result: CheckResult, changers: Collection[int]) -> CheckResult:
        names = [self._vertex_table.refs[vertex] for vertex in sorted(changers)]
        more = ", ..." if len(names) > _NAMED else ""
        since = f", since {', '.join(names[:_NAMED])}{more} was changed" if names else ""
        left = result.error or "; ".join(result.actions)
        return CheckResult(
            Outcome.FAILED,
            error=f"as desired at first, but no longer{since}: {left}",
            hint=_HINT,
            code="R0504",
        )


async def _never(_: Any) -> None:
    """Do nothing: the final check applies nothing."""
