"""What is kept of checks that have ended, and how events compare."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reactor.engine.check import CheckResult
from reactor.engine.check_completion import reported_causes
from reactor.engine.event_recorder import Results
from reactor.engine.events import CAUSE_SETS, Blocked, Cause, Checked, Event, Result, Skipped
from reactor.engine.outcome import Outcome
from reactor.testing.scripted import scripted


def test_results_are_counted_as_they_are_shown():
    results = Results()
    for vertex, found in enumerate((Result.OK, Result.CHANGED, Result.FAILED, Result.WOULD_CHANGE)):
        results.record(vertex, found)
    results.record(1, Result.OK)
    results.record(3, Result.OK)
    blocked = {2, 4}
    assert results.skip_unchecked(range(7), blocked) == [5, 6]
    assert [results.result(vertex, blocked) for vertex in range(5)] == [
        "ok",
        "changed",
        "blocked",
        "ok",
        "blocked",
    ]
    assert results.counts(range(6), blocked) == {
        "ok": 2, "changed": 1, "would_change": 0, "failed": 0, "blocked": 2, "skipped": 1,
    }  # fmt: skip
    assert (results.changes, results.would_change) == (1, set())


def test_what_left_is_forgotten_with_all_that_was_known_of_it():
    results = Results()
    results.record(0, Result.CHANGED)
    results.record(1, Result.WOULD_CHANGE)
    results.waits[1] = "network"
    results.forget([0, 1, 2])
    assert results.result(0, ()) is None
    results.record(0, Result.OK)
    assert results.result(0, ()) is Result.OK
    assert (results.would_change, results.waits) == (set(), {})


def test_every_set_of_causes_is_there_once_by_its_bits():
    assert all(CAUSE_SETS[bits] == Cause(bits) for bits in range(2 ** len(Cause)))
    assert CAUSE_SETS[Cause.DRIFT | Cause.AUDIT] is CAUSE_SETS[Cause.AUDIT | Cause.DRIFT]
    assert CAUSE_SETS[Cause.DRIFT | Cause.AUDIT].words == ("drift", "audit")


def test_events_are_equal_if_they_say_the_same():
    event = Skipped(1.0, "file#/a", "stopped")
    assert event == Skipped(1.0, "file#/a", "stopped")
    assert event != Skipped(1.0, "file#/b", "stopped")
    assert event != Blocked(1.0, "file#/a", ())
    assert repr(event) == "Skipped(time=1.0, ref='file#/a', reason='stopped')"
    with pytest.raises(TypeError, match="unhashable"):
        hash(event)
    assert Event(1.0) != event


def test_an_event_with_other_diffs_is_the_same_otherwise():
    event = Checked(
        1.0, "file#/a", Result.FAILED, Cause.DRIFT, 0.5, ("did",), ("-a",), "error", "hint", 3.0, (), "R0502"
    )  # fmt: skip
    assert event.with_diffs(("+b",)) == replace(event, diffs=("+b",))


REPAIRED = CheckResult(Outcome.CHANGED, ("replaced content",))


@pytest.mark.parametrize(
    ("causes", "known", "reported"),
    [
        (Cause.INITIAL | Cause.REFRESH, Cause.DRIFT, Cause.REFRESH),
        (Cause.INITIAL | Cause.REFRESH, Cause.INTENT, Cause.REFRESH | Cause.INTENT),
        (Cause.INITIAL | Cause.INTENT, Cause.INTENT, Cause.INTENT),
        (Cause.INITIAL, Cause.DRIFT, Cause.DRIFT),
        (Cause.INITIAL, Cause.INITIAL, Cause.INITIAL),
        (Cause.INITIAL | Cause.DRIFT, Cause.INITIAL, Cause.INITIAL),
        (Cause.INITIAL | Cause.DRIFT | Cause.REFRESH, Cause.INITIAL, Cause.INITIAL | Cause.REFRESH),
        (Cause.DRIFT | Cause.AUDIT, Cause.INTENT, Cause.INTENT | Cause.AUDIT),
        (Cause.DRIFT, Cause.DRIFT, Cause.DRIFT),
        (Cause.RETRY, Cause.INTENT, Cause.RETRY),
    ],
)
def test_a_refresh_or_an_edit_explains_a_change_so_that_it_is_no_drift(causes, known, reported):
    assert reported_causes(causes, scripted("a"), REPAIRED, lambda _: known) == reported


@pytest.mark.parametrize(
    ("causes", "reported"),
    [
        (Cause.INITIAL, Cause.INITIAL),
        (Cause.INITIAL | Cause.REFRESH, Cause.REFRESH),
        (Cause.DRIFT, Cause.DRIFT),
    ],
)
def test_a_failure_before_any_action_is_no_drift_unless_an_event_came(causes, reported):
    failed = CheckResult(Outcome.FAILED)
    assert reported_causes(causes, scripted("a"), failed, lambda _: Cause.DRIFT) == reported
