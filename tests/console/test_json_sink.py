import json

import pytest

from reactor.console.jsonlines import JsonSink
from reactor.engine.events import Blocked, Cause, Checked, Ended, Result, WatcherChanged, as_json
from reactor.resource.health import Examination, HealthStatus
from reactor.resource.watch import WatchState

EVENTS = [
    Checked(1700000000.25, "file#/etc/motd", Result.OK, Cause.INITIAL, 1.5e-05),
    Checked(1.0, 'exec#say "hé"\n\x00\udc80', Result.OK, Cause.DRIFT | Cause.REFRESH, 0.0),
    Checked(1.0, "file#/a", Result.CHANGED, Cause.DRIFT, 0.1, ("updated the content",), ("--- a\n",)),
    Checked(
        1.0, "exec#a", Result.FAILED, Cause.RETRY, 0.1, error="exit code 1", hint="mend it", retry_in=2.0
    ),
    Checked(
        1.0, "a", Result.OK, Cause.AUDIT, 0.1, health=(Examination("x", HealthStatus.OK, "fine", 1, 0.1),)
    ),
    Blocked(1.0, "file#/b", ("exec#a",)),
    WatcherChanged(1.0, "inotify", WatchState.POLLING, "no watches left", "file#/a"),
    Ended(1.0, {str(result): 0 for result in Result}, 3, 0.5, "converged"),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_every_event_is_one_line_that_says_what_as_json_says(event):
    lines = []
    JsonSink(lines.append)(event)
    (line,) = lines
    assert line.endswith("\n")
    assert line.count("\n") == 1
    assert json.loads(line) == json.loads(json.dumps(as_json(event)))


def test_a_plain_ok_has_its_fields_in_the_documented_order():
    lines = []
    JsonSink(lines.append)(EVENTS[0])
    assert list(json.loads(lines[0])) == list(as_json(EVENTS[0]))
