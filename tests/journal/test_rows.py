"""The rows of events: the short way to the record of a change makes the text that the general form of events has."""

from __future__ import annotations

import json

import pytest

from reactor.engine.events import CAUSE_SETS, Cause, Checked, Result, as_json
from reactor.journal.records import LIST_LIMIT, TEXT_LIMIT, lean, row

CAUSES = CAUSE_SETS[Cause.DRIFT.value | Cause.REFRESH.value]


@pytest.mark.parametrize(
    "event",
    [
        Checked(1795782505.6823742, "file#/a", Result.CHANGED, Cause.INITIAL, 0.00084, ("created the file",)),
        Checked(1.0, 'exec#echo "ä" \\ \udc80\n', Result.WOULD_CHANGE, CAUSES, 1e-05, ('one "é"', "two\n")),
        Checked(2.5, "file#/a", Result.OK, CAUSES, 12.0),
        Checked(2.5, "file#/a", Result.CHANGED, CAUSES, 12.0, ("x",), ("-a\n+ü\n", "+b\n")),
        Checked(2.5, "file#/a", Result.FAILED, CAUSES, 12.0, (), (), "no", "do", 3.0, (), "R0502"),
        Checked(2.5, "file#/a", Result.FAILED, CAUSES, 12.0, retry_in=3.0),
    ],
)
def test_the_record_of_a_check_is_the_json_of_its_event_without_diffs(event: Checked):
    found = row(event, 7)
    assert found.record == json.dumps(as_json(lean(event)), separators=(",", ":"))
    assert (found.time, found.event, found.ref) == (event.time, "checked", event.ref)
    assert (found.result, found.generation) == (event.result, 7)
    assert json.loads(found.diffs or "[]") == [*event.diffs]


def test_long_actions_of_a_change_are_shortened():
    actions = ("x" * (TEXT_LIMIT + 5), *map(str, range(LIST_LIMIT)))
    record = json.loads(row(Checked(1.0, "a#b", Result.CHANGED, CAUSES, 1.0, actions), None).record)
    assert record["actions"][0] == f"{'x' * TEXT_LIMIT} … (5 characters more)"
    assert record["actions"][1:] == [*map(str, range(LIST_LIMIT - 1)), "… and 1 more"]
