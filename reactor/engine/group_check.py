"""Ends the checks of a group before they start, if one look at what it shares shows that all are as desired.

A thousand lines of a hundred files are a hundred groups: each file is looked at once, not once for each line.
"""

from __future__ import annotations

from operator import is_

from reactor.engine.admission import Members
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
        self._known: dict[int, _SimpleGroup] = {}
        """By the first vertex."""

    def end_next(self, started: float, fragile: FragileMounts, *, has_consumers: bool) -> float | None:
        """End the checks of the next group that is due, if all its members are as desired.

        Returns the time they ended, or None: then each member is checked by itself. Never waits.
        """
        if self._is_off or self._dispatcher.is_stopping or has_consumers or fragile.by_point:
            return None
        log = self._follow_up_checks
        if log.log.changes or log.final_check.found or not self._completion.is_plain:
            return None
        if (members := self._scheduler.next_group()) is None:
            return None
        resources = members.of(self._vertex_table.resources)
        if (group := self._simple_group(members, resources)) is None or not group.is_as_desired():
            return None
        return self._completion.end_as_desired(members, started, self._run_store)

    def _simple_group(self, members: Members, resources: tuple[Resource, ...]) -> _SimpleGroup | None:
        """The ``resources``, if a check of each is an observation and a plan, with nothing before or after them."""
        known = self._known.get(members[0])
        if known is not None and known.has(resources):
            return known
        if any(map(self._vertex_table.noop, members)) or not all(map(_has_no_extras, resources)):
            return None
        found = self._known[members[0]] = _SimpleGroup(resources)
        return found


class _SimpleGroup:
    """Resources that were found to be simple together, and the evidence of the last look that they are as desired."""

    __slots__ = ("_evidence", "_resources")

    def __init__(self, resources: tuple[Resource, ...]) -> None:
        self._resources = resources
        self._evidence: object = None

    def has(self, resources: tuple[Resource, ...]) -> bool:
        """Whether it is the group of exactly these objects."""
        return len(resources) == len(self._resources) and all(map(is_, resources, self._resources))

    def is_as_desired(self) -> bool:
        """Look again. False also if the look does not tell."""
        kind = type(self._resources[0])
        try:
            self._evidence = kind.all_as_desired(self._resources, self._evidence)
        except Exception:  # noqa: BLE001 - the check of each member reports it
            return False
        return self._evidence is not None


def _has_no_extras(resource: Resource) -> bool:
    return not (
        resource.declared.deferred is not None
        or resource.health_checks
        or resource.meta.monitor_only
        or resource.has_moving_watches
        or resource.source_files()
    )
