"""The metrics of a run under CCM's names, for dashboards that were made for CCM. A sink, as `tally` is.

CCM's counters do not end in ``_total``, so they are of no type here: clients of Prometheus would add it. CCM counts in
each cycle of its agent; reactor counts each check. Metrics of the cycle itself are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

import trio

from reactor.engine.events import Checked, Event, Reloaded, Result, Skipped
from reactor.metrics.tally import UNTYPED, Gauge

if TYPE_CHECKING:
    from reactor.engine.engine import Engine

_STATES = {
    Result.OK: "stable",
    Result.CHANGED: "changed",
    Result.WOULD_CHANGE: "noop",
    Result.FAILED: "failed",
    Result.SKIPPED: "skipped",
}
_RESOURCE = ("type", "name")
_APPLIED = ("type", "provider", "name")
_EXAMINED = ("type", "name", "check")
_HEALTH = ("type", "name", "status", "check")
_Sums = dict[tuple[str, ...], float]


class CcmMetrics:
    """Implements `reactor.cli.running.companions.Companion`."""

    name = "the metrics under CCM's names"

    def __init__(self) -> None:
        self._states: dict[str, _Sums] = {state: defaultdict(float) for state in ("total", *_STATES.values())}
        self._applied = _Summary()
        self._examined = _Summary()
        self._health: _Sums = defaultdict(float)
        self._engine: Engine | None = None

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if isinstance(event, Checked):
            kind, _, name = event.ref.partition("#")
            self._count((kind, name), event.result)
            self._applied.observe((kind, "reactor", name), event.duration)
            for each in event.health:
                self._examined.observe((kind, name, each.name), each.duration)
                self._health[kind, name, str(each.status).upper(), each.name] += 1
        elif isinstance(event, Skipped):
            kind, _, name = event.ref.partition("#")
            self._count((kind, name), Result.SKIPPED)
        elif isinstance(event, Reloaded) and event.gone:
            self._forget(frozenset(event.gone))

    def _forget(self, gone: frozenset[str]) -> None:
        """Drop the series of resources that are not in the manifest any more: names may change with each reload."""
        named = (*self._states.values(), self._examined.counts, self._examined.sums, self._health)
        for sums, place in (
            *((each, 1) for each in named),
            (self._applied.counts, 2),
            (self._applied.sums, 2),
        ):
            for labels in [each for each in sums if f"{each[0]}#{each[place]}" in gone]:
                del sums[labels]

    def gauges(self) -> Iterator[Gauge]:
        """All metrics."""
        for state, values in self._states.items():
            name, text = f"choria_ccm_resource_state_{state}_count", f"Checks: {state}."
            yield Gauge(name, text, _RESOURCE, self._by_alias(values), UNTYPED)
        yield from self._applied.gauges(
            "choria_ccm_resource_apply_duration_seconds", "Seconds of checks.", _APPLIED
        )
        yield from self._examined.gauges(
            "choria_ccm_healthcheck_duration_seconds", "Seconds of health checks.", _EXAMINED
        )
        name, text = "choria_ccm_healthcheck_status_count", "Health checks."
        yield Gauge(name, text, _HEALTH, self._health, UNTYPED)

    async def run(self, engine: Engine, *_: object) -> None:
        """Wait: events come by call."""
        self._engine = engine
        await trio.sleep_forever()

    def _by_alias(self, values: _Sums) -> _Sums:
        """The sums by the alias of each resource, or its name: in the ``ccm:`` form, several may have the same."""
        found: _Sums = defaultdict(float)
        for (kind, name), value in values.items():
            found[kind, self._shown(f"{kind}#{name}") or name] += value
        return found

    def _shown(self, ref: str) -> str | None:
        table = self._engine.vertex_table if self._engine else None
        vertex = table.find(ref) if table else None
        if table is None or vertex is None:
            return None
        return table.resources[vertex].alias or table.resources[vertex].name

    def _count(self, labels: tuple[str, str], result: Result) -> None:
        self._states["total"][labels] += 1
        self._states[_STATES[result]][labels] += 1


class _Summary:
    """How many values there were, and their sum."""

    def __init__(self) -> None:
        self.counts: _Sums = defaultdict(float)
        self.sums: _Sums = defaultdict(float)

    def observe(self, labels: tuple[str, ...], value: float) -> None:
        self.counts[labels] += 1
        self.sums[labels] += value

    def gauges(self, name: str, text: str, labels: tuple[str, ...]) -> Iterator[Gauge]:
        yield Gauge(f"{name}_count", f"{text} How many.", labels, self.counts, UNTYPED)
        yield Gauge(f"{name}_sum", f"{text} Their sum.", labels, self.sums, UNTYPED)
