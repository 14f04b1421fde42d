"""Ends the checks of a group before they start, if one look at what it shares shows that all are as desired.

A thousand lines of a hundred files are a hundred groups: each file is looked at once, not once for each line.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_

from reactor.engine.check_completion import CheckCompletion
from reactor.engine.dispatcher import Dispatcher
from reactor.engine.follow_up_checks import FollowUpChecks
from reactor.engine.options import RunOptions
from reactor.engine.run_store import RunStore
from reactor.resource.base import Resource
from reactor.resource.mount_health import FragileMounts


class GroupCheck:
    """Lets the kind check all due members of a group together, before any of them is checked by itself."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        completion: CheckCompletion,
        follow_up_checks: FollowUpChecks,
        *,
        run_store: RunStore | None,
        options: RunOptions,
    ) -> None:
        self._dispatcher = dispatcher
        self._vertex_table = dispatcher.vertex_table
        self._scheduler = dispatcher.scheduler
        self._completion = completion
        self._follow_up_checks = follow_up_checks
        self._run_store = run_store
        self._is_off = options.monitor_only
        self._simple: dict[int, list[Resource]] = {}
        """By the first of them, resources that were found to be simple together."""

    def end_next(self, started: float, fragile: FragileMounts, *, has_consumers: bool) -> float | None:
        """End the checks of the next group that is due, if all its members are as desired.

        Returns the time they ended, or None: then each member is checked by itself. Never waits.
        """
        if self._is_off or self._dispatcher.is_stopping or has_consumers or fragile.by_point:
            return None
        log = self._follow_up_checks
        if log.log.changes or log.final_check.found or not self._completion.is_plain:
            return None
        if not (vertices := self._scheduler.next_group()):
            return None
        members = [self._vertex_table.resources[vertex] for vertex in vertices]
        if not (self._are_simple(vertices, members) and _are_as_desired(members)):
            return None
        return self._completion.end_as_desired(vertices, started, self._run_store)

    def _are_simple(self, vertices: Sequence[int], members: list[Resource]) -> bool:
        """Whether a check of each is an observation and a plan, with nothing before or after them."""
        known = self._simple.get(vertices[0], ())
        if len(known) == len(members) and all(map(is_, known, members)):
            return True
        if any(map(self._vertex_table.noop, vertices)) or not all(map(_has_no_extras, members)):
            return False
        self._simple[vertices[0]] = members
        return True


def _are_as_desired(members: Sequence[Resource]) -> bool:
    try:
        return type(members[0]).all_as_desired(members)
    except Exception:  # noqa: BLE001 - the check of each member reports it
        return False


def _has_no_extras(resource: Resource) -> bool:
    return not (
        resource.declared.deferred is not None
        or resource.health_checks
        or resource.meta.monitor_only
        or resource.has_moving_watches
        or resource.source_files()
    )
