"""The page that Prometheus scrapes. Imported at the first request, because prometheus-client takes 45 ms."""

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
from reactor.metrics.tally import BOUNDS, NETWORK, Gauge, Histogram, Tally
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
    """Every metric of one run, from the counts and the current state of the engine."""

    def __init__(self, tally: Tally, engine: Engine) -> None:
        self._tally = tally
        self._engine = engine

    def collect(self) -> Iterator[Metric]:
        """All metrics."""
        yield InfoMetricFamily("reactor", "The program.", {"version": _VERSION})
        yield from self._checks()
        yield from self._resources()
        yield from self._watching()
        yield from self._manifest()
        for gauges in self._tally.gauges:
            for each in gauges():
                yield _of_a_part(each)

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
        yield _counter("reactor_refreshes", "Successful checks that made a refresh.", tally.refreshes)
        yield _histogram(
            "reactor_drift_repair_check_seconds",
            "Duration of the checks that repaired drift, without the wait before their start.",
            tally.drift_repair_checks,
        )
        yield _histogram(
            "reactor_drift_to_converged_seconds",
            "Time from the event of a drift until everything was as desired again, with waits.",
            tally.drift_to_converged,
        )
        yield _counters(
            "reactor_health_checks", "Health checks that were run.", ("status",),
            {(status,): n for status, n in tally.health.items()},
        )  # fmt: skip
        yield _counter(
            "reactor_audit_found",
            "Drift that the audit repaired and no event had reported; should stay 0.",
            tally.audit_found,
        )
        yield _counter("reactor_flapping", "Resources that started to flap.", tally.flapping)

    def _resources(self) -> Iterator[Metric]:
        scheduler = self._engine.scheduler
        blocking = scheduler.blocking
        numbers = {
            "reactor_resources": ("Resources in force.", len(self._engine.vertex_table.present)),
            "reactor_resources_in_motion": ("Resources with a pending or running check.", scheduler.order.active_count),
            "reactor_resources_failed": ("Resources whose last check failed.", len(blocking.failed)),
            "reactor_resources_blocked": ("Resources that require one that failed.", len(blocking.blocked)),
            "reactor_resources_paused": ("Resources that are paused.", len(self._tally.paused)),
            "reactor_refreshes_pending": ("Resources with a pending refresh.", pending_refreshes(scheduler)),
            "reactor_converged": ("Whether nothing is in motion, failed or blocked.", scheduler.converged),
            "reactor_converged_timestamp_seconds": (
                "Time of the last convergence, in seconds since 1970; 0 for never.", self._tally.converged_time,
            ),
        }  # fmt: skip
        for name, (text, value) in numbers.items():
            yield GaugeMetricFamily(name, text, value)

    def _watching(self) -> Iterator[Metric]:
        tally = self._tally
        yield _gauges(
            "reactor_watcher_state", "1 for the current state of the watcher; a watcher without watches has none.",
            ("watcher", "state"),
            {(name, state): state is now for name, now in tally.watchers.items() for state in WatchState},
        )  # fmt: skip
        badly = Counter((watcher, state) for (watcher, _), state in tally.badly_watched.items())
        worse = (state for state in WatchState if state is not WatchState.ARMED)
        yield _gauges(
            "reactor_resources_badly_watched", "Resources that the watcher can't watch fully.",
            ("watcher", "state"),
            {(name, state): badly[name, state] for state in worse for name in tally.watchers},
        )  # fmt: skip
        if (link := tally.watchers.get(NETWORK)) is not None:
            yield GaugeMetricFamily(
                "reactor_link_up", "Whether there is a connection to NATS.", link is WatchState.ARMED
            )
            yield _counter(
                "reactor_link_reconnects",
                "Connections to NATS after the first.",
                max(0, tally.connections - 1),
            )
        yield _counters(
            "reactor_events_lost", "Times that a watcher lost events, so that all its resources were checked.", ("watcher",),
            {(name,): n for name, n in tally.events_lost.items()},
        )  # fmt: skip

    def _manifest(self) -> Iterator[Metric]:
        tally = self._tally
        yield GaugeMetricFamily(
            "reactor_generation", "Number of valid versions of the manifest.", tally.generation
        )
        yield GaugeMetricFamily(
            "reactor_generation_timestamp_seconds",
            "Time at which the current version came into force, in seconds since 1970.",
            tally.generation_time,
        )
        yield _counters(
            "reactor_reloads", "Reloads of the manifest.", ("result",),
            {(result,): n for result, n in tally.reloads.items()},
        )  # fmt: skip


def pending_refreshes(scheduler: Scheduler) -> int:
    """The number of vertices with a pending refresh. Only active, failed and blocked ones can have one."""
    moving = compress(count(), scheduler.order.active)
    not_ok = {*moving, *scheduler.blocking.failed, *scheduler.blocking.blocked}
    return sum(1 for vertex in not_ok if int.__and__(scheduler.causes(vertex), _REFRESH))


def _counter(name: str, text: str, value: float) -> Metric:
    return CounterMetricFamily(name, text, value)


def _counters(name: str, text: str, labels: Iterable[str], values: Mapping[tuple[str, ...], float]) -> Metric:
    return _labelled(CounterMetricFamily(name, text, labels=tuple(labels)), values)


def _gauges(name: str, text: str, labels: Iterable[str], values: Mapping[tuple[str, ...], float]) -> Metric:
    return _labelled(GaugeMetricFamily(name, text, labels=tuple(labels)), values)


def _of_a_part(gauge: Gauge) -> Metric:
    metric = Metric(gauge.name, gauge.text, gauge.type)
    for labels, value in gauge.values.items():
        metric.add_sample(gauge.name, dict(zip(gauge.labels, labels, strict=True)), value)
    return metric


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
