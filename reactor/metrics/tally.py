"""Counts the events of one run. A sink: it only reads events, and does not use Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping

from reactor.engine.events import (
    AuditFound,
    Cause,
    Checked,
    Converged,
    Event,
    EventsLost,
    Flapping,
    Paused,
    Reloaded,
    ReloadRejected,
    Result,
    Resumed,
    Reversed,
    Reversing,
    WatcherChanged,
)
from reactor.named_tuple import NamedTuple
from reactor.resource.watch import WatchState

OUTCOMES = (Result.OK, Result.CHANGED, Result.WOULD_CHANGE, Result.FAILED)
"""The results of a check."""

NETWORK = "network"
"""The watcher that stands for the connection of the run to a network such as NATS."""

HEALTH = ("ok", "warning", "critical", "unknown")
"""The results of a health check."""

BOUNDS = (
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
    0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
)  # fmt: skip
"""Upper bounds in seconds, from the repair of a small file to the installation of a package."""

_BY_DRIFT = int(Cause.DRIFT | Cause.AUDIT)
_REFRESH = int(Cause.REFRESH)


class Histogram:
    """The number of values between each two neighbouring `BOUNDS`, and the sum of all values."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Take one value."""
        self.counts[bisect_left(BOUNDS, value)] += 1
        self.sum += value


UNTYPED = "unknown"
"""The type of a metric whose name does not say its type, as Prometheus writes it."""


class Gauge(NamedTuple):
    """A metric of a part that only some runs have. ``values``: the values of ``labels`` -> the value of the gauge."""

    name: str
    text: str
    labels: tuple[str, ...]
    values: Mapping[tuple[str, ...], float]
    type: str = "gauge"


class Tally:
    """The counts of one run. A check that found nothing to do costs half a microsecond.

    ``refs`` are the resources and ``watchers`` the names of the installed watchers, so that every metric starts at 0.
    ``started`` is seconds since 1970.
    """

    def __init__(self, refs: Iterable[str], watchers: Iterable[str], started: float) -> None:
        self.checks: dict[str, dict[Result, int]] = {}
        """Kind -> result -> number of checks."""
        self.check_seconds = 0.0
        self.changes = dict.fromkeys(Cause, 0)
        """A change with two causes counts under both."""
        self.drift_repair_checks = Histogram()
        """Durations of the checks that repaired drift."""
        self.drift_to_converged = Histogram()
        """Times from the event of a drift until everything was as desired again."""
        self.refreshes = 0
        self.health = dict.fromkeys(HEALTH, 0)
        self.audit_found = 0
        self.flapping = 0
        self.watchers: dict[str, WatchState | None] = dict.fromkeys(watchers)
        """Watcher -> its last state; None before its first event, and for a watcher without watches."""
        self.events_lost = dict.fromkeys(self.watchers, 0)
        self.badly_watched: dict[tuple[str, str], WatchState] = {}
        """(watcher, ref) -> the state of a watcher that reports changes of this resource late, or not at all."""
        self.paused: set[str] = set()
        self.generation = 1
        self.generation_time = started
        self.reloads = {"accepted": 0, "rejected": 0}
        self.converged_time = 0.0
        self.connections = 0
        """How often the run has connected to its network."""
        self.gauges: list[Callable[[], Iterable[Gauge]]] = []
        """Those of further parts of the run, called for each page."""
        self._has_drifted = False
        self._know(refs)

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if type(event) is Checked:
            self.checks[event.ref.partition("#")[0]][event.result] += 1
            self.check_seconds += event.duration
            if event.result is not Result.OK or event.health or int.__and__(event.causes, _REFRESH):
                self._beyond_ok(event)
        else:
            self._other(event)

    def _know(self, refs: Iterable[str]) -> None:
        """Add counts of 0 for the kinds of ``refs``, unless they have counts."""
        for kind in {ref.partition("#")[0] for ref in refs} - self.checks.keys():
            self.checks[kind] = dict.fromkeys(OUTCOMES, 0)

    def _beyond_ok(self, event: Checked) -> None:
        for examination in event.health:
            self.health[examination.status] += 1
        if event.result in (Result.OK, Result.CHANGED) and int.__and__(event.causes, _REFRESH):
            self.refreshes += 1
        if event.result is Result.CHANGED or (event.result is Result.FAILED and event.actions):
            for cause in event.causes:
                self.changes[cause] += 1
        if event.result is Result.CHANGED and int.__and__(event.causes, _BY_DRIFT):
            self.drift_repair_checks.observe(event.duration)
            self._has_drifted = True

    def _other(self, event: Event) -> None:
        match event:
            case Converged():
                self._converged(event)
            case WatcherChanged(ref=None):
                self._know_watcher(event.watcher)
                self.watchers[event.watcher] = event.state
                if event.watcher == NETWORK and event.state is WatchState.ARMED:
                    self.connections += 1
            case WatcherChanged(ref=str(ref)):
                self._watch(event.watcher, ref, event.state)
            case EventsLost():
                self._know_watcher(event.watcher)
                self.events_lost[event.watcher] += 1
            case AuditFound():
                self.audit_found += 1
            case Flapping():
                self.flapping += 1
            case Paused():
                self.paused.add(event.ref)
            case Resumed():
                self.paused.discard(event.ref)
            case _:
                self._edited(event)

    def _edited(self, event: Event) -> None:
        match event:
            case Reloaded():
                self.generation += 1
                self.generation_time = event.time
                self.reloads["accepted"] += 1
                self._know(event.added)
                self._forget(event.gone)
            case ReloadRejected():
                self.reloads["rejected"] += 1
            case Reversing():
                self._know([event.ref])
            case Reversed():
                self._forget([event.ref])

    def _converged(self, event: Converged) -> None:
        self.converged_time = event.time
        if self._has_drifted:
            self.drift_to_converged.observe(event.duration)
            self._has_drifted = False

    def _know_watcher(self, name: str) -> None:
        self.watchers.setdefault(name)
        self.events_lost.setdefault(name, 0)

    def _watch(self, watcher: str, ref: str, state: WatchState) -> None:
        self._know_watcher(watcher)
        if state is WatchState.ARMED:
            self.badly_watched.pop((watcher, ref), None)
        else:
            self.badly_watched[watcher, ref] = state

    def _forget(self, refs: Iterable[str]) -> None:
        """Remove ``refs``, which left the manifest, from the paused and the badly watched resources."""
        gone = set(refs)
        self.paused -= gone
        for key in [key for key in self.badly_watched if key[1] in gone]:
            del self.badly_watched[key]
