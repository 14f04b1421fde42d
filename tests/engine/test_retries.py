"""How many attempts a failed vertex gets."""

import random

import pytest

from reactor.engine.limits import Limits
from reactor.engine.retries import JITTER, Backoff, Retries


def test_unless_something_new_happens_attempts_are_counted_and_end():
    retries = Retries(1, random.Random(1))
    assert retries.failed(7, Limits(), 0.0) is not None
    assert retries.failed(7, Limits(), 10.0) is None
    assert 7 not in retries.due


def test_something_new_begins_the_count_again():
    retries = Retries(1, random.Random(1))
    waits = [retries.failed(7, Limits(), 10.0 * attempt, fresh=True) for attempt in range(3)]
    assert None not in waits


def test_an_event_after_the_last_attempt_leads_to_another_attempt():
    retries = Retries(0, random.Random(1))
    assert retries.failed(7, Limits(), 0.0, echoed=True) is not None
    assert retries.failed(7, Limits(), 10.0) is None


def test_the_wait_doubles_up_to_its_limit():
    backoff = Backoff(0.5, 10.0)
    assert [backoff.wait_after(failures) for failures in (0, 1, 2, 4, 5, 1000)] == [0.5, 1, 2, 8, 10, 10]


def test_waits_are_spread_by_a_tenth_and_never_beyond_the_limit():
    waits = [Backoff(10.0, 10.5, random.Random(seed)).next_wait(0.0) for seed in range(300)]
    assert 9.0 <= min(waits) < 9.1
    assert max(waits) == 10.5


def test_a_calm_as_long_as_the_wait_takes_one_failure_back():
    calm_taken = []
    for calm in (0.0, 0.1, 0.5, 1.0, 2.0, 100.0):
        backoff = Backoff(1.0, rng=random.Random(1))
        for now in (0.0, 2.0, 4.0):
            backoff.next_wait(now)
        assert backoff.level == 3, "a retry that comes a little early gives no calm"
        backoff.next_wait(4.0 + 8.0 * (1 + JITTER) + 8.0 * calm)
        calm_taken.append(3 + 1 - backoff.level)
    assert calm_taken == pytest.approx([0.0, 0.1, 0.5, 1.0, 2.0, 3.0])


def test_attempts_that_may_cause_their_own_events_wait_ever_longer_after_the_last():
    retries, now, waits = Retries(0, random.Random(1)), 0.0, []
    for _ in range(6):
        waits.append(retries.failed(7, Limits(delay=1.0), now, echoed=True))
        now += 1000.0
    assert waits[1:] == pytest.approx([1, 2, 4, 8, 16], rel=0.11)


def test_a_success_forgets_the_planned_retry_and_the_attempts():
    retries = Retries(2, random.Random(1))
    retries.failed(7, Limits(delay=50.0), 0.0)
    retries.began(7)
    assert 7 not in retries.due
    retries.failed(7, Limits(delay=50.0), 1.0)
    assert retries.due[7] == pytest.approx(50, rel=0.11), "the retry stays due when it was"
    assert not retries.is_first(7)
    retries.succeeded(7)
    assert 7 not in retries.due
    retries.failed(7, Limits(delay=50.0), 2.0)
    assert retries.is_first(7)
    assert retries.due[7] > 60, "it is another failure, after the first"
    retries.forget(7)
    assert not retries.due


def test_slow_failures_in_a_row_wait_as_long_as_quick_ones():
    retries, now, waits = Retries(-1, random.Random(1)), 0.0, []
    for _ in range(6):
        waits.append(retries.failed(7, Limits(delay=1.0), now))
        now += waits[-1] + 60.0
    assert waits == pytest.approx([1, 2, 4, 8, 16, 32], rel=0.11)


def test_a_calm_takes_one_doubling_back_however_many_failures_there_were():
    backoff, now = Backoff(1.0, 300.0, random.Random(1)), 0.0
    for _ in range(1000):
        now += backoff.next_wait(now)
    assert backoff.next_wait(now + 300.0 * (1 + JITTER)) < 170
