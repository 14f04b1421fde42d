import json

from reactor.control.status_table import EngineStatus, RunFacts, StatusTable, record_of
from reactor.engine.events import (
    Blocked,
    Cause,
    Checked,
    Converged,
    Flapping,
    Paused,
    Reloaded,
    ReloadRejected,
    Result,
    Resumed,
    Reversed,
    Reversing,
    Skipped,
    Unblocked,
    WatcherChanged,
)
from reactor.resource.watch import WatchState

FACTS = RunFacts("/site.yaml", 1, 5.0, noop=False)


def board_after(*events, refs=("a", "b")):
    status_table = StatusTable(FACTS, refs)
    for event in events:
        status_table(event)
    return status_table


def record(status_table, ref="a"):
    return record_of(
        status_table.resource_statuses[ref], EngineStatus("enforce", in_motion=False, refresh_at=None)
    )


def ok(now, ref="a"):
    return Checked(now, ref, Result.OK, Cause.DRIFT, 0.001)


def changed(now, ref="a"):
    return Checked(now, ref, Result.CHANGED, Cause.DRIFT, 0.001, ("updated the content",))


def failed(now, ref="a"):
    return Checked(now, ref, Result.FAILED, Cause.RETRY, 0.1, error="no", hint="do", retry_in=4.0)


def test_before_its_first_check_nothing_is_known_of_a_resource():
    status_table = board_after()
    assert record(status_table)["state"] == "unknown"
    assert record(status_table)["since"] == 5.0


def test_a_state_keeps_the_time_it_began():
    status_table = board_after(ok(10.0), ok(20.0))
    assert record(status_table)["since"] == 10.0
    assert record(status_table)["checked"] == {"time": 20.0, "causes": ("drift",), "duration": 0.001}


def test_the_check_after_a_repair_does_not_hide_the_repair():
    status_table = board_after(changed(10.0), ok(10.1))
    told = record(status_table)
    assert told["state"] == "ok"
    assert told["changed"] == {"time": 10.0, "causes": ("drift",), "actions": ("updated the content",)}
    assert status_table.changes == 1


def test_what_a_failed_check_has_changed_is_a_change():
    halfway = Checked(10.0, "a", Result.FAILED, Cause.DRIFT, 0.1, ("set the mode",), error="no")
    assert board_after(halfway).changes == 1


def test_a_failure_reports_error_hint_and_next_attempt_and_a_success_forgets_them():
    status_table = board_after(failed(10.0))
    told = record(status_table)
    assert (told["error"], told["hint"], told["retry_at"]) == ("no", "do", 14.0)
    status_table(ok(14.0))
    told = record(status_table)
    assert (told["state"], told["error"], told["hint"], told["retry_at"]) == ("ok", None, None, None)


def test_a_blocked_resource_names_the_culprits_until_it_is_free():
    status_table = board_after(ok(1.0), Blocked(2.0, "a", ("b",)))
    assert (record(status_table)["state"], record(status_table)["blocked_by"]) == ("blocked", ("b",))
    status_table(Unblocked(3.0, "a"))
    assert (
        record(status_table)["state"],
        record(status_table)["blocked_by"],
        record(status_table)["since"],
    ) == ("ok", [], 3.0)


def test_one_never_checked_is_unknown_again_when_it_is_free():
    assert record(board_after(Blocked(2.0, "a", ("b",)), Unblocked(3.0, "a")))["state"] == "unknown"


def test_a_pause_stands_beside_the_state():
    status_table = board_after(ok(1.0), Paused(2.0, "a", 99.0, "upgrade"))
    assert record(status_table)["state"] == "ok"
    assert record(status_table)["paused"] == {"since": 2.0, "until": 99.0, "reason": "upgrade"}
    assert not status_table.resource_statuses["a"].is_ok(3.0)
    status_table(Resumed(4.0, "a"))
    assert record(status_table)["paused"] is None
    assert status_table.resource_statuses["a"].is_ok(5.0)


def test_what_a_watcher_notices_worse_is_reported_for_the_one_and_for_the_whole():
    worse = WatcherChanged(2.0, "inotify", WatchState.POLLING, "no watches left", "a")
    whole = WatcherChanged(3.0, "inotify", WatchState.DEGRADED, "queue overflow")
    status_table = board_after(ok(1.0), worse, whole)
    told = {"watcher": "inotify", "state": "polling", "reason": "no watches left", "since": 2.0}
    assert record(status_table)["watching"] == [told]
    assert not status_table.resource_statuses["a"].is_ok(4.0)
    assert status_table.watchers["inotify"] is whole
    status_table(WatcherChanged(5.0, "inotify", WatchState.ARMED, "", "a"))
    assert record(status_table)["watching"] == []


def test_flapping_is_reported_and_is_over_when_nothing_is_repaired_any_more():
    moving = ("content: {{ now() }}",)
    status_table = board_after(
        changed(10.0), Flapping(10.0, "a", {"updated the content": 50}, moving), ok(10.1)
    )
    assert record(status_table)["flapping"] == {
        "time": 10.0,
        "actions": {"updated the content": 50},
        "expressions": moving,
    }
    assert not status_table.resource_statuses["a"].is_ok(11.0)
    assert status_table.resource_statuses["a"].is_ok(100.0)


def test_the_run_says_when_it_was_converged_last():
    assert board_after(Converged(1.0, 2, 1.0), Converged(2.0, 2, 1.0)).converged_at == 2.0


def test_another_generation_brings_and_takes_resources_and_keeps_the_rest():
    status_table = board_after(ok(1.0), ok(1.0, "b"), Reloaded(2.0, 1, (), ("c",), ("b",)), ok(3.0, "b"))
    assert list(status_table.resource_statuses) == ["a", "c"]
    assert record(status_table)["state"] == "ok"


def test_a_rejected_manifest_is_reported_until_a_valid_one_comes():
    status_table = board_after(ReloadRejected(1.0, ("site.yaml:3: no",)))
    assert status_table.rejected.problems == ("site.yaml:3: no",)
    status_table(Reloaded(2.0, 2, (), (), ()))
    assert status_table.rejected is None


def test_a_skipped_resource_says_so():
    assert record(board_after(Skipped(1.0, "a", "stopped")))["state"] == "skipped"


def test_every_record_is_json():
    status_table = board_after(
        changed(1.0), Flapping(1.0, "a", {"x": 1}), Paused(2.0, "a", 9.0, "r"), Blocked(3.0, "a", ("b",))
    )
    json.dumps(record(status_table))


def test_what_is_undone_is_shown_until_it_is():
    status_table = StatusTable(FACTS, ["file#/a"])
    status_table(Reloaded(10.0, 0, (), (), ("file#/a",)))
    assert not status_table.resource_statuses
    status_table(Reversing(10.0, "file#/a"))
    status_table(Checked(11.0, "file#/a", Result.FAILED, Cause.INTENT, 0.1, error="it is busy"))
    assert status_table.resource_statuses["file#/a"].state is Result.FAILED
    status_table(Reversed(12.0, "file#/a"))
    assert not status_table.resource_statuses


def test_a_pause_holds_for_what_undoes_the_resource_too():
    paused, left = Paused(6.0, "file#/a", 99.0, "ask Ada"), Reloaded(10.0, 0, (), (), ("file#/a",))
    status_table = board_after(paused, left, Reversing(10.0, "file#/a"), refs=["file#/a"])
    assert status_table.resource_statuses["file#/a"].paused == paused
    status_table(Resumed(11.0, "file#/a"))
    status_table(Reversed(12.0, "file#/a"))
    status_table(Reloaded(13.0, 0, (), ("file#/a",), ()))
    assert status_table.resource_statuses["file#/a"].paused is None
