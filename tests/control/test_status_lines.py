import time

import pytest

from reactor.console.status_lines import status_text
from reactor.console.style import Style
from reactor.console.text import TextSink
from reactor.engine.events import Paused, Resumed

NOW = 1_800_000_000.0
RUN = {
    "manifest": "/site.yaml", "pid": 7, "started": NOW - 60, "mode": "enforce", "generation": 1, "rejected": None,
    "converged": True, "converged_at": NOW, "changes": 1, "events_lost": 0, "audit_found": 0, "readers": 0,
    "readers_dropped": 0, "in_motion": 0,
}  # fmt: skip
DATE = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(NOW))
PAUSE = {"since": NOW, "until": NOW, "reason": "x"}
RECORD = {
    "ref": "file#/a", "state": "ok", "since": NOW - 10, "mode": "enforce", "in_motion": False,
    "refresh_at": None, "pending": [],
    "checked": {"time": NOW - 10, "causes": ["drift"], "duration": 0.1}, "changed": None, "error": None, "hint": None,
    "retry_at": None, "blocked_by": [], "watching": [], "flapping": None, "paused": None,
}  # fmt: skip


def text_of(records, **answer):
    filled = {
        "counts": {"ok": 1, "failed": 0},
        "watchers": [],
        "resources": [{**RECORD, **record} for record in records],
    }
    return status_text({**filled, **answer}, Style(False), NOW)


def told(*records, run=None, watchers=()):
    return text_of(records, run={**RUN, **(run or {})}, watchers=watchers)


def left(*records, ended):
    return text_of(records, run=None, ended=ended)


def test_a_run_that_is_fine_is_two_lines():
    first, last = told().splitlines()
    assert first.startswith("/site.yaml  pid 7  up 1 min ")
    assert last == "ok 1  (converged, 1 change)"


@pytest.mark.parametrize(
    ("moved", "words"), [(10800.0, "set forward by 3 h 0 min"), (-90.0, "set back by 1 min 30 s")]
)
def test_a_clock_that_was_set_is_told_and_does_not_change_how_long_the_run_is_up(moved, words):
    first, second, *_ = told(run={"up": 5.0, "clock_moved": moved}).splitlines()
    assert "  up 5 s" in first
    assert second.startswith(f"clock  {words} since the start  ")


def test_the_worst_comes_first():
    states = ["ok", "changed", "would_change", "unknown", "skipped", "blocked", "failed"]
    lines = told(*({"ref": f"a#{state}", "state": state} for state in states)).splitlines()[1:-1]
    assert [line.split()[0] for line in lines] == [
        "a#failed", "a#blocked", "a#skipped", "a#unknown", "a#would_change", "a#changed", "a#ok",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"state": "failed", "error": "no\nway", "hint": "do", "retry_at": NOW + 9}, "\n    no\n    way\n    hint: do\n"),
        ({"state": "failed", "retry_at": NOW - 1}, "retry in 0.0 ms"),
        ({"state": "blocked", "blocked_by": ["a#1", "a#2", "a#3", "a#4"]}, "file#/a  blocked  by a#1, a#2, a#3 and 1 more; for 10 s\n"),
        ({"state": "unknown", "checked": None}, "file#/a  unknown  not checked yet\n"),
        ({"in_motion": True}, "; has work to do\n"),
        ({"in_motion": True, "checking": True}, "; a check is running\n"),
        ({"mode": "warn"}, "file#/a  ok  for 10 s; mode: warn\n"),
        ({"in_motion": True, "refresh_at": NOW + 2}, "file#/a  ok  for 10 s; waits for further refreshes for another 2 s\n"),
        ({"changed": {"time": NOW, "causes": ["drift"], "actions": ["updated the content"]}}, ": updated the content (drift)\n"),
        ({"paused": {"since": NOW, "until": NOW + 7205, "reason": "ask Ada"}}, " (2 h 0 min left): ask Ada\n"),
        ({"paused": PAUSE}, f"paused since {DATE}, until {DATE} ("),
        ({"paused": PAUSE, "in_motion": True, "pending": ["drift"]}, ": x\n    a check is pending until the pause is over; something has changed it since\n"),
        ({"paused": PAUSE, "in_motion": True, "pending": ["refresh"]}, ": x\n    a check is pending until the pause is over\n"),
        ({"watching": [{"watcher": "inotify", "state": "polling", "reason": "no watches left"}]}, "    watching: polling  no watches left\n"),
        ({"flapping": {"time": NOW, "actions": {"wrote": 50}, "expressions": []}}, ": something else changes it back: wrote 50 times\n"),
        (
            {"flapping": {"time": NOW, "actions": {"wrote": 50}, "expressions": ["content: {{ now() }}"]}},
            ": its desired state changes by itself (content: {{ now() }}): wrote 50 times\n",
        ),
    ],
)  # fmt: skip
def test_each_thing_worth_a_look_is_said(record, words):
    assert words in told(record)


def test_the_run_says_what_is_wrong_with_it():
    rejected = {"time": NOW, "problems": ["/site.yaml:3:1: no\nreally"]}
    deaf = {"watcher": "inotify", "state": "degraded", "reason": "queue overflow", "since": NOW}
    text = told(
        run={"rejected": rejected, "generation": 3, "mode": "noop", "converged": False}, watchers=[deaf]
    )
    assert "  generation 3  noop\nmanifest  rejected  since " in text
    assert "\n    /site.yaml:3:1: no\n    really\n" in text
    assert "\nwatcher inotify  degraded  queue overflow\n" in text
    assert "(not converged, 1 change)" in text


def test_a_run_that_began_before_the_clock_was_set_back_is_not_said_to_begin_in_the_future():
    assert told(run={"started": NOW + 86400}).startswith("/site.yaml  pid 7  up 0.0 ms\n")


def test_how_the_last_run_left_things_is_said_with_times_not_durations():
    text = left({"state": "failed"}, ended={"time": NOW, "reason": "stopped"})
    assert text.startswith("at the end of the last run, ")
    assert f"file#/a  failed  at {time.strftime('%H:%M:%S', time.localtime(NOW - 10))}\n" in text
    assert "converged" not in text
    assert left(ended=None).startswith("at the end of the last run\n")


def test_no_name_or_text_can_drive_the_terminal():
    evil = "\x1b]0;x\x07"
    record = {
        "ref": f"file#{evil}", "state": "failed", "error": evil, "hint": evil, "blocked_by": [evil],
        "watching": [{"watcher": "w", "state": "down", "reason": evil}], "flapping": {"time": NOW, "actions": {evil: 1}, "expressions": [evil]},
        "paused": {"since": NOW, "until": NOW + 5, "reason": evil},
    }  # fmt: skip
    assert "\x1b" not in told(record, run={"manifest": evil, "rejected": {"time": NOW, "problems": [evil]}})


def test_on_a_terminal_the_states_stand_in_one_column_before_the_names():
    troubled = RECORD | {"ref": "exec#x", "state": "failed", "error": "exit code 1"}
    answer = {"counts": {"ok": 1, "failed": 1}, "watchers": [], "run": RUN, "resources": [RECORD, troubled]}
    lines = status_text(answer, Style(False), NOW, aligned=True).splitlines()
    assert lines[1:4] == [
        "failed        exec#x  for 10 s",
        "              exit code 1",
        "ok            file#/a  for 10 s",
    ]


def test_a_run_reports_pauses_as_they_come_and_go():
    lines = []
    sink = TextSink(lines.append, Style(False), continuous=True)
    sink(Paused(NOW, "file#/a", NOW + 5, "ask Ada"))
    sink(Resumed(NOW, "file#/a"))
    until = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(NOW + 5))
    assert lines == [f"file#/a  paused  until {until}: ask Ada\n", "file#/a  resumed\n"]
