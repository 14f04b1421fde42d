"""Which resources a reload checks because a condition may give another answer."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from reactor.engine import prechecks
from reactor.engine.event_recorder import Results
from reactor.engine.events import Result
from reactor.engine.prechecks import Prechecks
from reactor.resource.declared import TooLongError
from reactor.resource.plan import ResourceError


class Condition:
    """A condition with this answer: None if it is met, a reason if it is not, or an error."""

    def __init__(self, answer):
        self.answer = answer

    def declined(self, _, *, briefly):
        assert briefly
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def changed(answer, before):
    """Whether a vertex with this condition is checked, whose last result was ``before``."""
    results = Results()
    results.record(0, before)
    conditions = Prechecks(SimpleNamespace(), results, print)
    answers = conditions.evaluate_conditions({0: Condition(answer)}, briefly=True)
    found = conditions.changed_conditions(answers)
    assert found in ([], [0])
    return found == [0]


@pytest.mark.parametrize(
    ("answer", "before", "is_checked"),
    [
        (None, Result.OK, False),
        (None, Result.SKIPPED, True),
        ("not here", Result.OK, True),
        ("not here", Result.SKIPPED, False),
        (ResourceError("unknown fact"), Result.FAILED, False),
        (ResourceError("unknown fact"), Result.SKIPPED, True),
        (TooLongError(), Result.OK, True),
        (TooLongError(), Result.SKIPPED, True),
    ],
)
def test_only_what_may_be_decided_otherwise_is_checked(answer, before, is_checked):
    assert changed(answer, before) is is_checked


def test_once_the_time_is_over_the_checks_decide(monkeypatch):
    monkeypatch.setattr(prechecks, "_BRIEF_SECONDS", 1e-9)
    assert changed(None, Result.OK)
