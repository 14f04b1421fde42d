"""Ends all checks of a batch at once, if one look at what the members share shows that all are as desired.

A thousand lines of a hundred files are a hundred batches: each file is looked at once, not once for each line.
"""

from __future__ import annotations

from collections.abc import Sequence

from reactor.engine.check_completion import CheckCompletion
from reactor.engine.dispatcher import Dispatcher
from reactor.engine.events import Cause
from reactor.engine.follow_up_checks import FollowUpChecks
from reactor.engine.options import RunOptions
from reactor.engine.run_store import RunStore
from reactor.resource.base import Resource
from reactor.resource.mount_health import FragileMounts

_CHECK_ONLY = int(Cause.INITIAL | Cause.INTENT | Cause.DRIFT | Cause.AUDIT)
"""The causes of a check that does nothing if the resource is as desired."""


class BatchSettling:
    """Lets the kind check all members of a batch that has just started, before any of them is checked by itself."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        completion: CheckCompletion,
        follow_up_checks: FollowUpChecks,
        *,
        run_store: RunStore | None,
        options: RunOptions,
    ) -> None:
        self._vertex_table = dispatcher.vertex_table
        self._scheduler = dispatcher.scheduler
        self._batches = dispatcher.scheduler.batches
        self._completion = completion
        self._follow_up_checks = follow_up_checks
        self._run_store = run_store
        self._is_off = options.monitor_only
        self._simple: dict[int, Resource] = {}

    def settle(
        self, leader: int, started: float, fragile: FragileMounts, *, has_consumers: bool
    ) -> float | None:
        """End the checks of the batch that ``leader`` has just started, if all members are as desired.

        Returns the time they ended, or None: then each member is checked by itself. Never waits.
        """
        batch = self._batches.batch.get(leader)
        if batch is None or batch.leader != leader or self._is_off or has_consumers or fragile.by_point:
            return None
        log = self._follow_up_checks
        if log.log.changes or log.final_check.found or not self._completion.is_plain:
            return None
        vertices = (leader, *self._batches.followers)
        if not (self._are_simple(vertices) and self._are_as_desired(vertices)):
            return None
        self._batches.followers.clear()
        return self._completion.complete_batch(vertices, started, self._run_store)

    def _are_as_desired(self, vertices: Sequence[int]) -> bool:
        members = [self._vertex_table.resources[vertex] for vertex in vertices]
        try:
            return type(members[0]).all_as_desired(members)
        except Exception:  # noqa: BLE001 - the check of each member reports it
            return False

    def _are_simple(self, vertices: Sequence[int]) -> bool:
        """Whether a check of each is an observation and a plan, with nothing before or after them."""
        causes, resources, simple = self._scheduler.running_causes, self._vertex_table.resources, self._simple
        for vertex in vertices:
            if causes[vertex] & ~_CHECK_ONLY:
                return False
            if simple.get(vertex) is not resources[vertex]:
                if self._vertex_table.noop(vertex) or not _has_no_extras(resources[vertex]):
                    return False
                simple[vertex] = resources[vertex]
        return True


def _has_no_extras(resource: Resource) -> bool:
    return not (
        resource.declared.deferred is not None
        or resource.health_checks
        or resource.meta.monitor_only
        or resource.has_moving_watches
        or resource.source_files()
    )
