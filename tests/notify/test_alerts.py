"""When a channel sends, and what: the grouping is a table of times, without a server."""

import itertools
import random

import pytest

from reactor.notify.alerts import FIRST_RETRY, LAST_RETRY, MOST, Alerts

ALL = ("failed", "recovered", "flapping", "drift")


def alerts(on=ALL, wait=30.0, interval=300.0, repeat=14400.0):
    return Alerts(on, wait, interval, repeat)


def sent(found, now):
    assert found.due() is not None
    assert found.due() <= now
    batch, _ = found.batch()
    found.delivered(now)
    return [(each.kind, each.ref, each.ended is not None, each.times) for each in batch]


def test_failures_within_the_wait_are_one_message():
    found = alerts()
    found.failed("file#/a", "no", 1000.0, 0.0)
    found.failed("file#/b", "no", 1010.0, 10.0)
    assert found.due() == 30.0
    assert sent(found, 30.0) == [("failed", "file#/a", False, 1), ("failed", "file#/b", False, 1)]
    assert found.due() == 30.0 + 14400.0


def test_a_failure_that_was_sent_is_not_sent_again_before_the_repetition():
    found = alerts()
    found.failed("file#/a", "no", 1000.0, 0.0)
    sent(found, 30.0)
    for minute in range(200):
        found.failed("file#/a", "no", 1000.0 + 60 * minute, 60.0 * minute + 31)
    assert found.due() == 14430.0
    assert sent(found, 14430.0) == [("failed", "file#/a", False, 201)]


def test_a_recovery_is_sent_after_the_interval():
    found = alerts()
    found.failed("file#/a", "no", 1000.0, 0.0)
    sent(found, 30.0)
    found.well("file#/a", 1100.0, 100.0)
    assert found.due() == 330.0
    assert sent(found, 330.0) == [("failed", "file#/a", True, 1)]
    assert found.due() is None


def test_what_recovers_within_the_first_wait_is_not_sent():
    found = alerts()
    found.failed("file#/a", "no", 1000.0, 0.0)
    found.well("file#/a", 1010.0, 10.0)
    assert found.due() is None


def test_what_failed_at_each_attempt_and_recovers_within_the_first_wait_is_not_sent():
    found = alerts()
    for second in (0.0, 1.0, 3.0, 7.0):
        found.failed("file#/a", "no", 1000.0 + second, second)
    found.well("file#/a", 1015.0, 15.0)
    assert found.due() is None


def test_the_end_of_a_failure_that_was_sent_is_sent_also_if_it_came_back_for_a_moment():
    found = alerts()
    found.failed("file#/a", "no", 1000.0, 0.0)
    sent(found, 30.0)
    found.well("file#/a", 1100.0, 100.0)
    found.failed("file#/a", "no", 1110.0, 110.0)
    found.well("file#/a", 1120.0, 120.0)
    assert sent(found, 330.0) == [("failed", "file#/a", True, 2)]
    found.failed("file#/a", "no", 1400.0, 400.0)
    found.well("file#/a", 1410.0, 410.0)
    assert found.due() is None


def test_what_recovers_while_the_channel_is_down_is_sent_with_both_times():
    found = alerts()
    found.failed("file#/a", "no", 1000.0, 0.0)
    found.batch()
    found.refused(30.0)
    found.well("file#/a", 1100.0, 100.0)
    batch, _ = found.batch()
    assert [(each.began, each.ended) for each in batch] == [(1000.0, 1100.0)]


def test_the_attempts_back_off_and_go_on_for_ever():
    found = alerts()
    found.failed("file#/a", "no", 1000.0, 0.0)
    now, waits = 30.0, []
    for _ in range(2000):
        found.batch()
        found.refused(now)
        waits.append(found.due() - now)
        now = found.due()
    assert waits[:6] == [FIRST_RETRY, 20.0, 40.0, 80.0, 160.0, LAST_RETRY]
    assert waits[-1] == LAST_RETRY
    assert sent(found, now) == [("failed", "file#/a", False, 1)]


def test_what_happens_while_a_message_is_on_its_way_is_not_lost():
    found = alerts()
    found.failed("file#/a", "no", 1000.0, 0.0)
    found.failed("file#/b", "no", 1000.0, 0.0)
    found.batch()
    found.well("file#/a", 1040.0, 31.0)
    found.failed("file#/c", "no", 1040.0, 31.0)
    found.delivered(32.0)
    assert sent(found, 400.0) == [("failed", "file#/a", True, 1), ("failed", "file#/c", False, 1)]
    assert set(found.lasting) == {"file#/b", "file#/c"}


def test_more_than_the_bound_is_counted():
    found = alerts()
    for number in range(MOST + 7):
        found.failed(f"file#/{number}", "no", 1000.0, 0.0)
    batch, left_out = found.batch()
    assert (len(batch), left_out) == (MOST, 7)
    found.failed("file#/late", "no", 1000.0, 29.0)
    found.delivered(30.0)
    assert (found.left_out, found.due()) == (1, 330.0), (
        "the one that came while the message was sent is told later"
    )
    found.batch()
    found.delivered(330.0)
    assert found.left_out == 0


def test_an_alert_beyond_the_bound_is_counted_once_and_not_after_its_recovery():
    found = alerts()
    for second in range(3):
        for number in range(MOST + 7):
            found.failed(f"file#/{number}", "no", 1000.0, float(second))
    found.well(f"file#/{MOST}", 1003.0, 3.0)
    assert found.batch()[1] == 6
    found.failed(f"file#/{MOST}", "no", 1004.0, 4.0)
    found.delivered(30.0)
    assert found.left_out == 1


def test_flapping_and_drift_are_sent_once_in_a_while():
    found = alerts()
    for minute in range(100):
        found.flapping("file#/a", "wrote it (9 times)", 1000.0, 60.0 * minute)
        found.drift("file#/b", 1000.0, 60.0 * minute)
    assert sent(found, 6000.0) == [("flapping", "file#/a", False, 100), ("drift", "file#/b", False, 100)]
    found.flapping("file#/a", "wrote it (9 times)", 1000.0, 7000.0)
    assert not found.waiting
    found.flapping("file#/a", "wrote it (9 times)", 1000.0, 7000.0 + 14400.0)
    assert found.waiting


@pytest.mark.parametrize("kind", ALL)
def test_only_what_the_channel_wants_is_sent(kind):
    found = alerts(on=(kind, "failed") if kind == "recovered" else (kind,))
    found.failed("file#/a", "no", 1000.0, 0.0)
    found.flapping("file#/b", "x", 1000.0, 0.0)
    found.drift("file#/c", 1000.0, 0.0)
    kinds = {each[0] for each in sent(found, 30.0)}
    assert kinds == {"failed" if kind == "recovered" else kind}
    found.well("file#/a", 1100.0, 100.0)
    assert bool(found.waiting) == (kind == "recovered")


def test_the_state_of_an_earlier_run_goes_on():
    found = alerts()
    found.failed("file#/a", "no", 1000.0, 0.0)
    sent(found, 30.0)
    found.failed("file#/b", "no", 1040.0, 40.0)
    later = alerts()
    later.restore({**found.state(), "since": 5.0}, 50.0)
    assert later.due() == 305.0
    later.well("file#/a", 1100.0, 60.0)
    assert sent(later, 305.0) == [("failed", "file#/a", True, 1), ("failed", "file#/b", False, 1)]


@pytest.mark.parametrize("seed", range(20))
def test_every_failure_is_told_or_has_recovered_in_time_and_there_is_no_flood(seed):
    """Random failures, recoveries and refusals: in the end, what lasts is what is failed, and all of it was sent."""
    rng = random.Random(seed)
    found, now, failed, told, deliveries = alerts(), 0.0, set(), {}, []
    for _ in range(500):
        now += rng.choice((1.0, 20.0, 400.0))
        ref = rng.choice("abcdef")
        if rng.random() < 0.5:
            failed.add(ref)
            found.failed(ref, "no", now, now)
        else:
            failed.discard(ref)
            found.well(ref, now, now)
        if (due := found.due()) is not None and due <= now:
            batch, _ = found.batch()
            if rng.random() < 0.3:
                found.refused(now)
                continue
            found.delivered(now)
            deliveries.append(now)
            told.update({each.ref: each.ended is None for each in batch})
    while (found.waiting or found.left_out) and (due := found.due()) is not None:
        now = max(now, due)
        batch, _ = found.batch()
        found.delivered(now)
        deliveries.append(now)
        told.update({each.ref: each.ended is None for each in batch})
    assert {ref for ref, lasts in told.items() if lasts} == failed
    assert set(found.lasting) == failed
    assert all(later - earlier >= 299 for earlier, later in itertools.pairwise(deliveries))
