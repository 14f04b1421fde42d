"""Decides resources that need no check of their own (composites, ``control`` conditions).

Also resolves deferred values before the others are checked.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from reactor.engine.blocking import Blocking
from reactor.engine.check import AS_DESIRED, CheckResult
from reactor.engine.event_recorder import Results
from reactor.engine.events import Result
from reactor.engine.outcome import Outcome
from reactor.engine.vertex_table import VertexTable
from reactor.resource.base import Resource
from reactor.resource.declared import Deferred, TooLongError
from reactor.resource.plan import ResourceError
from reactor.resource.threads import in_thread
from reactor.resource.watch import Watch

_NAMED = 3
_BRIEF_SECONDS = 0.02
"""The time limit for all conditions together where evaluating them blocks everything else."""
_BAD = (Result.FAILED, Result.BLOCKED)


class GraphIndex:
    """Which vertices use which outputs, which composites each member has, and the deferred values of vertices."""

    def __init__(self, resources: Mapping[str, Resource], number: Mapping[str, int]) -> None:
        self.consumers: dict[str, list[int]] = {}
        self.composites: dict[int, list[int]] = {}
        self.deferred: dict[int, Deferred] = {}
        for vertex, resource in sorted(
            (number[ref], each) for ref, each in resources.items() if _is_special(each)
        ):
            if (deferred := resource.declared.deferred) is not None:
                self.deferred[vertex] = deferred
                for name in deferred.takes:
                    self.consumers.setdefault(name, []).append(vertex)
            for ref in resource.declared.members:
                self.composites.setdefault(number[ref], []).append(vertex)


def _is_special(resource: Resource) -> bool:
    declared = resource.declared
    return declared.deferred is not None or bool(declared.members)


class Prechecks:
    """Resolves deferred values and conditions, and decides how a composite ended.

    ``changed`` is called with a vertex whose resource was replaced by one with other watches.
    """

    def __init__(self, vertex_table: VertexTable, results: Results, changed: Callable[[int], None]) -> None:
        self._vertex_table = vertex_table
        self._results = results
        self._changed = changed
        self._outputs: dict[str, Mapping[str, Any] | None] = {}
        self._consumers: dict[str, list[int]] = {}
        self._composites: dict[int, list[int]] = {}
        self._bad: dict[int, Result | None] = {}
        self.has_consumers = False
        """Whether any resource uses outputs of another; if not, `publish` does nothing."""
        self.has_composites = False
        """Whether there are composites; if not, `affected_composites` finds nothing."""

    def index_graph(self, index: GraphIndex) -> Mapping[int, Collection[int]]:
        """Use the ``index`` of a new generation. Return the composites of each member."""
        self._consumers, self._composites = index.consumers, index.composites
        self._bad.clear()
        self.has_consumers, self.has_composites = bool(self._consumers), bool(self._composites)
        return self._composites

    async def result(
        self, vertex: int, blocking: Blocking, *, refresh: bool, noop: bool
    ) -> CheckResult | None:
        """The result if no check is needed; None if the resource of ``vertex`` must be checked as it is now."""
        resource = self._vertex_table.resources[vertex]
        if resource.declared.members:
            return self._judge(resource, blocking, refresh=refresh, noop=noop)
        if (deferred := resource.declared.deferred) is None:
            return None
        watches = _watches(resource)
        try:
            try:
                reason, resource = self._settled(deferred, resource, briefly=True)
            except TooLongError:
                reason, resource = await in_thread(partial(self._settled, deferred, resource, briefly=False))
            # A reload may have happened meanwhile.
            if self._vertex_table.resources[vertex].declared.deferred is deferred:
                self._vertex_table.resources[vertex] = resource
        except ResourceError as error:
            return CheckResult.failed(error)
        except OSError as error:
            return CheckResult(
                Outcome.FAILED, error=f"its values can't be evaluated: {error.strerror}", code="R0502"
            )
        finally:
            if watches != _watches(resource):
                self._changed(vertex)
        return None if reason is None else CheckResult(Outcome.OK, declined=reason)

    def _settled(
        self, deferred: Deferred, resource: Resource, *, briefly: bool
    ) -> tuple[str | None, Resource]:
        """Why ``resource`` is not managed here, or None; and ``resource`` with its current values.

        Raises ResourceError, and TooLongError if ``briefly`` and the time is not enough.
        """
        reason = deferred.declined(self._outputs.get, briefly=briefly)
        if reason is None:
            resource = deferred.settle(resource, self._outputs.get, briefly=briefly)
        return reason, resource

    def settle_all(self, resources: dict[str, Resource]) -> None:
        """Resolve the deferred values of ``resources``, the next generation.

        The generations are compared by these values. May take seconds: call it in a thread, before the next
        generation comes into force.
        """
        for ref, resource in resources.items():
            if (deferred := resource.declared.deferred) is not None:
                with suppress(ResourceError):  # the check reports it
                    resources[ref] = deferred.settle(resource, self._outputs.get)

    def evaluate_conditions(
        self, deferred: Mapping[int, Deferred], *, briefly: bool
    ) -> dict[int, bool | None]:
        """Whether the conditions of each vertex are not met; None if evaluating them takes too long.

        Unless ``briefly``, call it in a thread: it may take seconds.
        """
        deadline = time.monotonic() + _BRIEF_SECONDS if briefly else math.inf
        return {
            vertex: None if time.monotonic() > deadline else self._is_declined(each, briefly=briefly)
            for vertex, each in deferred.items()
        }

    def changed_conditions(self, declined: Mapping[int, bool | None]) -> list[int]:
        """The vertices whose conditions now give another answer, although their properties are unchanged.

        ``declined`` are the answers. Vertices without one are included: their checks decide.
        """
        return [
            vertex
            for vertex, is_declined in declined.items()
            if is_declined is not (self._results.result(vertex, ()) is Result.SKIPPED)
        ]

    def _is_declined(self, deferred: Deferred, *, briefly: bool) -> bool | None:
        """Whether the conditions are not met; None if evaluating them takes too long."""
        try:
            return deferred.declined(self._outputs.get, briefly=briefly) is not None
        except ResourceError:
            return False
        except TooLongError:
            return None

    def _judge(self, resource: Resource, blocking: Blocking, *, refresh: bool, noop: bool) -> CheckResult:
        members = [self._vertex_table.number(ref) for ref in resource.declared.members]
        results = {vertex: self._results.result(vertex, blocking.blocked) for vertex in members}
        if bad := [each for each in members if results[each] in _BAD and not blocking.is_order_ended(each)]:
            return self._failure(bad, all_blocked=all(results[each] is Result.BLOCKED for each in bad))
        if refresh and not noop:  # also if others would change: subscribers must hear of those that did
            return CheckResult(Outcome.CHANGED, ("resources of the child manifest changed",))
        if Result.WOULD_CHANGE in results.values():
            return CheckResult(Outcome.WOULD_CHANGE, ("Would have changed resources of the child manifest",))
        if refresh:
            return CheckResult(
                Outcome.WOULD_CHANGE,
                ("Would have refreshed its subscribers: resources of the child manifest changed",),
            )
        return AS_DESIRED

    def _failure(self, bad: Sequence[int], *, all_blocked: bool) -> CheckResult:
        """The failure of a composite whose members ``bad`` failed or are blocked."""
        names = [self._vertex_table.refs[vertex] for vertex in bad[:_NAMED]]
        waits = [self._results.waits[each] for each in bad if each in self._results.waits]
        if waits and all_blocked:
            return CheckResult(Outcome.FAILED, error=f"{names[0]} waits for it", waits_for=waits[0])
        text = f"child manifest had {len(bad)} failed resources"
        more = ", ..." if len(bad) > _NAMED else ""
        return CheckResult(Outcome.FAILED, error=text, hint=f"see {', '.join(names)}{more}", code="R0508")

    def affected_composites(self, vertices: Iterable[int], blocked: Collection[int]) -> list[int]:
        """The composites of those of ``vertices`` that became bad, good again, or bad in another way, since the last call."""
        found = []
        for vertex in vertices:
            if vertex not in self._composites:
                continue
            result = self._results.result(vertex, blocked)
            if (bad := result if result in _BAD else None) != self._bad.get(vertex):
                self._bad[vertex] = bad
                found += self._composites[vertex]
        return found

    async def publish(self, resource: Resource) -> list[int]:
        """Read the outputs of ``resource``, which is as desired.

        Return the vertices that use outputs which have changed. Raises ResourceError or OSError when the outputs can't
        be read.
        """
        names = [resource.ref, f"{resource.kind}#{resource.name}"]
        if resource.alias is not None:
            names.append(f"{resource.kind}#{resource.alias}")
        wanted = [name for name in dict.fromkeys(names) if name in self._consumers]
        if not wanted:
            return []
        values = await resource.outputs()
        changed = [name for name in wanted if self._outputs.get(name) != values]
        self._outputs.update(dict.fromkeys(wanted, values))
        return sorted({taker for name in changed for taker in self._consumers[name]})


def _watches(resource: Resource) -> tuple[list[Watch], frozenset[str]]:
    """The watches of ``resource``, and the paths that its deferred values read. Both depend on its properties."""
    deferred = resource.declared.deferred
    return list(resource.watches()), deferred.reads if deferred is not None else frozenset()
