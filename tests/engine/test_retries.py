"""How many attempts a failed vertex gets."""

import random

from reactor.engine.limits import Limits
from reactor.engine.retries import Retries


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
