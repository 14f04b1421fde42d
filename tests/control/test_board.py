import json

from reactor.control.board import Board, Moment, RunFacts, record_of
from reactor.engine.events import (
    AuditFound,
    Blocked,
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
    Skipped,
    Unblocked,
    WatcherChanged,
)
from reactor.resource.watch import WatchState

FACTS = RunFacts("/site.yaml", 1, 5.0, noop=False)


def board_after(*events, refs=("a", "b")):
    board = Board(FACTS, refs)
    for event in events:
        board(event)
    return board


def record(board, ref="a"):
    return record_of(board.standings[ref], Moment("enforce", in_motion=False, refresh_at=None))


def ok(now, ref="a"):
    return Checked(now, ref, Result.OK, Cause.DRIFT, 0.001)


def changed(now, ref="a"):
    return Checked(now, ref, Result.CHANGED, Cause.DRIFT, 0.001, ("updated the content",))


def failed(now, ref="a"):
    return Checked(now, ref, Result.FAILED, Cause.RETRY, 0.1, error="no", hint="do", retry_in=4.0)


def test_before_its_first_check_nothing_is_known_of_a_resource():
    board = board_after()
    assert record(board)["state"] == "unknown"
    assert record(board)["since"] == 5.0


def test_a_state_keeps_the_time_it_began():
    board = board_after(ok(10.0), ok(20.0))
    assert record(board)["since"] == 10.0
    assert record(board)["checked"] == {"time": 20.0, "causes": ("drift",), "duration": 0.001}


def test_the_check_after_a_repair_does_not_hide_the_repair():
    board = board_after(changed(10.0), ok(10.1))
    told = record(board)
    assert told["state"] == "ok"
    assert told["changed"] == {"time": 10.0, "causes": ("drift",), "actions": ("updated the content",)}
    assert board.changes == 1


def test_a_failure_tells_error_hint_and_next_attempt_and_a_success_forgets_them():
    board = board_after(failed(10.0))
    told = record(board)
    assert (told["error"], told["hint"], told["retry_at"]) == ("no", "do", 14.0)
    board(ok(14.0))
    told = record(board)
    assert (told["state"], told["error"], told["hint"], told["retry_at"]) == ("ok", None, None, None)


def test_a_blocked_resource_names_the_culprits_until_it_is_free():
    board = board_after(ok(1.0), Blocked(2.0, "a", ("b",)))
    assert (record(board)["state"], record(board)["blocked_by"]) == ("blocked", ("b",))
    board(Unblocked(3.0, "a"))
    assert (record(board)["state"], record(board)["blocked_by"], record(board)["since"]) == ("ok", [], 3.0)


def test_one_never_checked_is_unknown_again_when_it_is_free():
    assert record(board_after(Blocked(2.0, "a", ("b",)), Unblocked(3.0, "a")))["state"] == "unknown"


def test_a_pause_stands_beside_the_state():
    board = board_after(ok(1.0), Paused(2.0, "a", 99.0, "upgrade"))
    assert record(board)["state"] == "ok"
    assert record(board)["paused"] == {"since": 2.0, "until": 99.0, "reason": "upgrade"}
    assert not board.standings["a"].fine(3.0)
    board(Resumed(4.0, "a"))
    assert record(board)["paused"] is None
    assert board.standings["a"].fine(5.0)


def test_what_a_watcher_hears_worse_is_told_for_the_one_and_for_the_whole():
    worse = WatcherChanged(2.0, "inotify", WatchState.POLLING, "no watches left", "a")
    whole = WatcherChanged(3.0, "inotify", WatchState.DEGRADED, "queue overflow")
    board = board_after(ok(1.0), worse, whole)
    told = {"watcher": "inotify", "state": "polling", "reason": "no watches left", "since": 2.0}
    assert record(board)["watching"] == [told]
    assert not board.standings["a"].fine(4.0)
    assert board.watchers["inotify"] is whole
    board(WatcherChanged(5.0, "inotify", WatchState.ARMED, "", "a"))
    assert record(board)["watching"] == []


def test_a_fight_is_told_and_is_over_when_nothing_is_repaired_any_more():
    moving = ("content: {{ now() }}",)
    board = board_after(changed(10.0), Flapping(10.0, "a", {"updated the content": 50}, moving), ok(10.1))
    assert record(board)["flapping"] == {
        "time": 10.0,
        "actions": {"updated the content": 50},
        "expressions": moving,
    }
    assert not board.standings["a"].fine(11.0)
    assert board.standings["a"].fine(100.0)


def test_the_run_counts_what_was_lost_and_what_the_audit_found():
    board = board_after(EventsLost(1.0, "inotify", "x"), AuditFound(1.0, "a"), Converged(2.0, 2, 1.0))
    assert (board.events_lost, board.audit_found, board.converged_at) == (1, 1, 2.0)


def test_another_generation_brings_and_takes_resources_and_keeps_the_rest():
    board = board_after(ok(1.0), ok(1.0, "b"), Reloaded(2.0, 1, (), ("c",), ("b",)), ok(3.0, "b"))
    assert list(board.standings) == ["a", "c"]
    assert record(board)["state"] == "ok"
    assert board.generation == 2


def test_a_rejected_manifest_is_told_until_a_valid_one_comes():
    board = board_after(ReloadRejected(1.0, ("site.yaml:3: no",)))
    assert board.rejected.problems == ("site.yaml:3: no",)
    board(Reloaded(2.0, 2, (), (), ()))
    assert board.rejected is None


def test_a_skipped_resource_says_so():
    assert record(board_after(Skipped(1.0, "a", "stopped")))["state"] == "skipped"


def test_every_record_is_json():
    board = board_after(
        changed(1.0), Flapping(1.0, "a", {"x": 1}), Paused(2.0, "a", 9.0, "r"), Blocked(3.0, "a", ("b",))
    )
    json.dumps(record(board))


def test_what_is_undone_is_shown_until_it_is():
    board = Board(FACTS, ["file#/a"])
    board(Reloaded(10.0, 0, (), (), ("file#/a",)))
    assert not board.standings
    board(Reversing(10.0, "file#/a"))
    board(Checked(11.0, "file#/a", Result.FAILED, Cause.INTENT, 0.1, error="it is busy"))
    assert board.standings["file#/a"].state is Result.FAILED
    board(Reversed(12.0, "file#/a"))
    assert not board.standings


def test_a_pause_holds_for_what_undoes_the_resource_too():
    paused, left = Paused(6.0, "file#/a", 99.0, "ask Ada"), Reloaded(10.0, 0, (), (), ("file#/a",))
    board = board_after(paused, left, Reversing(10.0, "file#/a"), refs=["file#/a"])
    assert board.standings["file#/a"].paused == paused
    board(Resumed(11.0, "file#/a"))
    board(Reversed(12.0, "file#/a"))
    board(Reloaded(13.0, 0, (), ("file#/a",), ()))
    assert board.standings["file#/a"].paused is None
