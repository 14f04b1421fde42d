"""The page that Prometheus reads. Imported when somebody first asks for it: prometheus-client takes 45 ms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, compress, count

from prometheus_client.core import (
    CollectorRegistry,
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from reactor.engine.engine import Engine
from reactor.engine.events import Cause
from reactor.engine.scheduler import Scheduler
from reactor.metrics.tally import BOUNDS, Histogram, Tally
from reactor.resource.entry_points import installed_version
from reactor.resource.watch import WatchState

_REFRESH = int(Cause.REFRESH)
_VERSION = installed_version()


def render(tally: Tally, engine: Engine, accept: str) -> tuple[bytes, str]:
    """The page in the format that ``accept`` (a header) prefers, and its media type."""
    registry = CollectorRegistry()
    registry.register(Families(tally, engine))
    ProcessCollector(namespace="reactor", registry=registry)
    encode, media_type = choose_encoder(accept)
    return encode(registry), media_type


class Families(Collector):
    """Every metric of one run, made of what was counted and what the engine knows now."""

    def __init__(self, tally: Tally, engine: Engine) -> None:
        self._tally = tally
        self._engine = engine

    def collect(self) -> Iterator[Metric]:
        """All of them."""
        yield InfoMetricFamily("reactor", "The program.", {"version": _VERSION})
        yield from self._checks()
        yield from self._resources()
        yield from self._watching()
        yield from self._manifest()

    def _checks(self) -> Iterator[Metric]:
        tally = self._tally
        yield _counters(
            "reactor_checks", "Checks that ended.", ("kind", "result"),
            {(kind, result): n for kind, by_result in tally.checks.items() for result, n in by_result.items()},
        )  # fmt: skip
        yield _counter("reactor_check_seconds", "Seconds that these checks took.", tally.check_seconds)
        yield _counters(
            "reactor_changes", "Checks that changed something. One with two causes counts under both.", ("cause",),
            {(str(cause.name).lower(),): n for cause, n in tally.changes.items()},
        )  # fmt: skip
        yield _counter(
            "reactor_refreshes_paid", "Checks that carried a refresh and succeeded.", tally.refreshes_paid
        )
        yield _histogram(
            "reactor_drift_repair_check_seconds",
            "How long the checks took that repaired drift, from their start; what they waited for before is not in it.",
            tally.drift_repair_checks,
        )
        yield _histogram(
            "reactor_drift_to_converged_seconds",
            "Where drift was repaired: from its event until everything was as desired again, waits included.",
            tally.drift_to_converged,
        )
        yield _counters(
            "reactor_health_checks", "Health checks that were answered.", ("status",),
            {(status,): n for status, n in tally.health.items()},
        )  # fmt: skip
        yield _counter(
            "reactor_audit_found",
            "Drift that the audit repaired and no event had announced; it should stay 0.",
            tally.audit_found,
        )
        yield _counter("reactor_flapping", "Fights over a resource that were noticed.", tally.flapping)

    def _resources(self) -> Iterator[Metric]:
        scheduler = self._engine.scheduler
        blocking = scheduler.blocking
        numbers = {
            "reactor_resources": ("Resources in force.", len(self._engine.vertex_table.present)),
            "reactor_resources_in_motion": ("Resources that owe a check or are checked.", scheduler.order.active_count),
            "reactor_resources_failed": ("Resources whose last check failed.", len(blocking.failed)),
            "reactor_resources_blocked": ("Resources that require one that failed.", len(blocking.blocked)),
            "reactor_resources_paused": ("Resources that people have paused.", len(self._tally.paused)),
            "reactor_refreshes_owed": ("Resources that owe a refresh.", refreshes_owed(scheduler)),
            "reactor_converged": ("Whether nothing is in motion, failed or blocked.", scheduler.converged),
            "reactor_converged_timestamp_seconds": (
                "When that was reached last, in seconds since 1970; 0 for never.", self._tally.converged_time,
            ),
        }  # fmt: skip
        for name, (text, value) in numbers.items():
            yield GaugeMetricFamily(name, text, value)

    def _watching(self) -> Iterator[Metric]:
        tally = self._tally
        yield _gauges(
            "reactor_watcher_state", "1 for the state that the watcher is in; one without work is in none.",
            ("watcher", "state"),
            {(name, state): state is now for name, now in tally.watchers.items() for state in WatchState},
        )  # fmt: skip
        badly = Counter((watcher, state) for (watcher, _), state in tally.badly_watched.items())
        worse = (state for state in WatchState if state is not WatchState.ARMED)
        yield _gauges(
            "reactor_resources_badly_watched", "Resources of which the watcher hears worse than it should.",
            ("watcher", "state"),
            {(name, state): badly[name, state] for state in worse for name in tally.watchers},
        )  # fmt: skip
        yield _counters(
            "reactor_events_lost", "How often a watcher lost events, so that all it serves was checked.", ("watcher",),
            {(name,): n for name, n in tally.events_lost.items()},
        )  # fmt: skip

    def _manifest(self) -> Iterator[Metric]:
        tally = self._tally
        yield GaugeMetricFamily(
            "reactor_generation", "How many valid versions of the manifest there have been.", tally.generation
        )
        yield GaugeMetricFamily(
            "reactor_generation_timestamp_seconds",
            "Since when the version in force is, in seconds since 1970.",
            tally.generation_time,
        )
        yield _counters(
            "reactor_reloads", "Versions of the manifest that came while we ran.", ("result",),
            {(result,): n for result, n in tally.reloads.items()},
        )  # fmt: skip


def refreshes_owed(scheduler: Scheduler) -> int:
    """How many vertices owe a refresh. What rests and is well owes none, so only the others are looked at."""
    moving = compress(count(), scheduler.order.active)
    restless = {*moving, *scheduler.blocking.failed, *scheduler.blocking.blocked}
    return sum(1 for vertex in restless if int.__and__(scheduler.causes(vertex), _REFRESH))


def _counter(name: str, text: str, value: float) -> Metric:
    return CounterMetricFamily(name, text, value)


def _counters(name: str, text: str, labels: Iterable[str], values: Mapping[tuple[str, ...], float]) -> Metric:
    return _labelled(CounterMetricFamily(name, text, labels=tuple(labels)), values)


def _gauges(name: str, text: str, labels: Iterable[str], values: Mapping[tuple[str, ...], float]) -> Metric:
    return _labelled(GaugeMetricFamily(name, text, labels=tuple(labels)), values)


def _labelled(
    family: CounterMetricFamily | GaugeMetricFamily, values: Mapping[tuple[str, ...], float]
) -> Metric:
    for labels, value in values.items():
        family.add_metric(labels, value)
    return family


def _histogram(name: str, text: str, histogram: Histogram) -> Metric:
    bounds = (*map(floatToGoString, BOUNDS), "+Inf")
    family = HistogramMetricFamily(name, text)
    family.add_metric((), list(zip(bounds, accumulate(histogram.counts), strict=True)), histogram.sum)
    return family
