"""What becomes of each event in the numbers."""

from timeit import repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactor.engine.events import (
    AuditFound,
    Cause,
    Checked,
    Converged,
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
from reactor.metrics.tally import BOUNDS, HEALTH, NETWORK, OUTCOMES, Histogram, Tally
from reactor.resource.health import Examination, HealthStatus
from reactor.resource.watch import WatchState


@pytest.fixture
def tally():
    return Tally(["file#/a", "file#/b#c", "exec#x"], ["inotify"], started=100.0)


def checked(result=Result.OK, causes=Cause.DRIFT, duration=0.002, ref="file#/a", **more):
    return Checked(1000.0, ref, result, causes, duration, **more)


def test_every_number_is_there_from_the_start(tally):
    assert tally.checks == {kind: dict.fromkeys(OUTCOMES, 0) for kind in ("file", "exec")}
    assert set(tally.changes) == set(Cause)
    assert tally.events_lost == {"inotify": 0}
    assert tally.generation_time == 100.0


def test_health_words_are_those_of_health_checks():
    assert list(HealthStatus) == list(HEALTH)


def test_checks_are_counted_by_kind_and_result(tally):
    for result in OUTCOMES:
        tally(checked(result, ref="file#/b#c"))
    assert tally.checks["file"] == dict.fromkeys(OUTCOMES, 1)
    assert tally.checks["exec"] == dict.fromkeys(OUTCOMES, 0)
    assert tally.check_seconds == pytest.approx(0.008)


def test_a_change_with_two_causes_counts_under_both(tally):
    tally(checked(Result.CHANGED, Cause.INITIAL | Cause.REFRESH))
    assert {cause for cause, n in tally.changes.items() if n} == {Cause.INITIAL, Cause.REFRESH}


def test_a_check_that_changed_something_before_it_failed_has_made_a_change(tally):
    tally(checked(Result.FAILED, Cause.DRIFT, actions=("set the mode",)))
    assert {cause for cause, n in tally.changes.items() if n} == {Cause.DRIFT}


@pytest.mark.parametrize("result", [Result.OK, Result.WOULD_CHANGE, Result.FAILED])
def test_what_changed_nothing_is_no_change(tally, result):
    tally(checked(result))
    assert not any(tally.changes.values())
    assert sum(tally.drift_repair_checks.counts) == 0


@pytest.mark.parametrize(
    ("result", "causes", "paid"),
    [
        (Result.OK, Cause.REFRESH, 1),
        (Result.CHANGED, Cause.REFRESH | Cause.DRIFT, 1),
        (Result.FAILED, Cause.REFRESH, 0),
        (Result.WOULD_CHANGE, Cause.REFRESH, 0),
        (Result.OK, Cause.DRIFT, 0),
    ],
)
def test_a_refresh_is_made_by_a_check_that_carries_it_and_succeeds(tally, result, causes, paid):
    tally(checked(result, causes))
    assert tally.refreshes == paid


def test_only_repaired_drift_is_in_the_histograms(tally):
    tally(checked(Result.CHANGED, Cause.INITIAL))
    tally(Converged(1001.0, 2, 3.0))
    assert sum(tally.drift_repair_checks.counts) == sum(tally.drift_to_converged.counts) == 0
    tally(checked(Result.CHANGED, Cause.AUDIT, 0.5))
    tally(checked(Result.CHANGED, Cause.DRIFT, 0.25))
    tally(Converged(1002.0, 2, 1.5))
    tally(checked(Result.OK))
    tally(Converged(1003.0, 2, 0.001))
    assert (sum(tally.drift_repair_checks.counts), tally.drift_repair_checks.sum) == (2, 0.75)
    assert (sum(tally.drift_to_converged.counts), tally.drift_to_converged.sum) == (1, 1.5)
    assert tally.converged_time == 1003.0


@given(st.lists(st.floats(min_value=0, max_value=1e6)))
def test_a_histogram_holds_every_value_once_and_below_its_bound(values):
    histogram = Histogram()
    for value in values:
        histogram.observe(value)
    assert sum(histogram.counts) == len(values)
    for number, bound in enumerate(BOUNDS):
        assert sum(histogram.counts[: number + 1]) == sum(value <= bound for value in values)


def test_answers_of_health_checks_are_counted_also_of_what_is_well(tally):
    health = tuple(
        Examination("x", status, "", 1, 0.1)
        for status in (HealthStatus.OK, HealthStatus.OK, HealthStatus.WARNING)
    )
    tally(checked(health=health[:1]))
    tally(checked(Result.FAILED, health=health[1:]))
    assert tally.health == {"ok": 2, "warning": 1, "critical": 0, "unknown": 0}


def test_a_reload_begins_a_generation_and_forgets_what_left(tally):
    tally(Paused(1.0, "file#/a", 99.0, "x"))
    tally(WatcherChanged(1.0, "inotify", WatchState.POLLING, "no events", "file#/a"))
    tally(ReloadRejected(2.0, ("x",)))
    assert tally.generation == 1
    tally(Reloaded(3.0, 1, (), ("mount#/m",), ("file#/a",)))
    assert (tally.generation, tally.generation_time) == (2, 3.0)
    assert tally.reloads == {"accepted": 1, "rejected": 1}
    assert tally.checks["mount"] == dict.fromkeys(OUTCOMES, 0)
    assert not tally.paused
    assert not tally.badly_watched


def test_what_is_undone_is_of_a_kind_that_the_manifest_need_not_have(tally):
    tally(Reversing(1.0, "user#u"))
    tally(checked(Result.CHANGED, ref="user#u"))
    tally(Paused(1.0, "user#u", 99.0, "x"))
    tally(Reversed(2.0, "user#u"))
    assert tally.checks["user"][Result.CHANGED] == 1
    assert not tally.paused


def test_watchers_are_known_by_their_last_word(tally):
    tally(WatcherChanged(1.0, "inotify", WatchState.ARMED, ""))
    tally(WatcherChanged(1.0, "inotify", WatchState.POLLING, "", "file#/a"))
    tally(WatcherChanged(1.0, "inotify", WatchState.POLLING, "", "exec#x"))
    tally(WatcherChanged(2.0, "inotify", WatchState.ARMED, "", "file#/a"))
    tally(WatcherChanged(2.0, "other", WatchState.DOWN, ""))
    tally(EventsLost(2.0, "other", ""))
    assert tally.watchers == {"inotify": WatchState.ARMED, "other": WatchState.DOWN}
    assert tally.badly_watched == {("inotify", "exec#x"): WatchState.POLLING}
    assert tally.events_lost == {"inotify": 0, "other": 1}


def test_rare_things_are_counted(tally):
    for event in (AuditFound(1.0, "file#/a"), Flapping(1.0, "file#/a", {}), Paused(1.0, "exec#x", 9.0, "x")):
        tally(event)
    assert (tally.audit_found, tally.flapping, tally.paused) == (1, 1, {"exec#x"})
    tally(Resumed(2.0, "exec#x"))
    assert not tally.paused


def test_a_check_that_found_all_well_costs_about_a_microsecond_at_most(tally):
    event = checked()
    best = min(repeat(lambda: tally(event), number=2000, repeat=20)) / 2000
    assert best < 3e-6, "measured 0.38 µs; the rest is room for a loaded machine"


def test_connections_to_a_network_are_counted_and_a_run_without_one_has_none():
    tally = Tally([], ["inotify"], 0.0)
    assert (tally.connections, NETWORK in tally.watchers) == (0, False)
    for state in (WatchState.ARMED, WatchState.DOWN, WatchState.ARMED):
        tally(WatcherChanged(1.0, NETWORK, state, ""))
    assert (tally.connections, tally.watchers[NETWORK]) == (2, WatchState.ARMED)
