"""Single turns of the scheduler that random lives reach too rarely to be a trial."""

from __future__ import annotations

import pytest

from reactor.engine.events import Cause
from reactor.engine.limits import Limits
from reactor.engine.outcome import Outcome
from reactor.engine.scheduler import Scheduler
from reactor.graph.graph import EdgeKind
from reactor.graph.topology import Topology
from reactor.resource.common_properties import RefreshDebounce

A, B, C = 0, 1, 2


def pair(kind=EdgeKind.REQUIRE, **limits):
    return Scheduler(
        Topology.of_edges(2, [(A, B, kind)]), jobs=2, default_retry=0, limits=limits.get("limits")
    )


def run(scheduler, vertex, outcome=Outcome.OK, now=0.0):
    assert scheduler.next_ready(now) == vertex
    return scheduler.finished(vertex, outcome, now)


def test_a_requirement_that_failed_during_a_run_blocks_what_ran():
    scheduler = pair()
    scheduler.mark(B, Cause.DRIFT, 0.0)
    assert scheduler.next_ready(0.0) == B
    scheduler.mark(A, Cause.DRIFT, 0.0)
    run(scheduler, A, Outcome.FAILED)
    scheduler.finished(B, Outcome.OK, 0.0)
    assert scheduler.blocking.blocked == {B}
    scheduler.mark(B, Cause.DRIFT, 0.0)
    assert scheduler.next_ready(0.0) is None


def test_what_drifts_goes_before_a_long_pass_and_does_not_stop_it():
    scheduler = Scheduler(Topology.of_edges(100, []), jobs=1)
    scheduler.mark_all(Cause.INITIAL)
    assert scheduler.next_ready(0.0) == 0
    scheduler.mark(99, Cause.DRIFT, 0.0)
    scheduler.mark(0, Cause.DRIFT, 0.0)  # it runs: one more run
    scheduler.finished(0, Outcome.OK, 0.0)
    run(scheduler, 99)
    passed = []
    while len(passed) < 5:
        vertex = scheduler.next_ready(0.0)
        scheduler.mark(90, Cause.DRIFT, 0.0)  # again and again
        scheduler.finished(vertex, Outcome.OK, 0.0)
        passed += [vertex] * (vertex < 90)
    assert passed == [1, 2, 3, 4, 5]


def test_what_needs_no_job_overtakes_what_waits_for_one_but_does_not_take_its_turn():
    needs_job = bytearray([1] * 10 + [0] * 10)
    scheduler = Scheduler(Topology.of_edges(20, []), jobs=2, needs_job=needs_job)
    scheduler.mark_all(Cause.INITIAL)
    slow = [scheduler.next_ready(0.0), scheduler.next_ready(0.0)]
    assert slow == [0, 1]
    for vertex in range(10, 18):
        run(scheduler, vertex)
    assert [scheduler.next_ready(0.0) for _ in range(3)] == [18, 19, None], "both are slow for once"
    assert not scheduler.has_ready
    scheduler.finished(1, Outcome.OK, 0.0)
    assert scheduler.next_ready(0.0) == 2
    scheduler.finished(18, Outcome.OK, 0.0)
    scheduler.mark(18, Cause.DRIFT, 0.0)
    assert scheduler.next_ready(0.0) == 18
    for vertex in range(2, 9):
        scheduler.finished(vertex, Outcome.OK, 0.0)
        assert scheduler.next_ready(0.0) == vertex + 1


def test_with_one_job_all_go_one_after_the_other():
    scheduler = Scheduler(Topology.of_edges(2, []), jobs=1, needs_job=bytearray(2))
    scheduler.mark_all(Cause.INITIAL)
    assert [scheduler.next_ready(0.0), scheduler.next_ready(0.0)] == [0, None]
    scheduler.finished(0, Outcome.OK, 0.0)
    assert scheduler.next_ready(0.0) == 1


class CountedList(list):
    """How often something in it was looked at."""

    looks = 0

    def __getitem__(self, index):
        self.looks += 1
        return super().__getitem__(index)

    def get(self, index, default):
        return self[index]


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    "kind", [EdgeKind.REQUIRE, EdgeKind.AFTER], ids=["required", "of an order that ended"]
)
def test_a_user_who_blocks_each_of_a_long_chain_is_found_by_walking_along_it_once(kind, order):
    size = 1000
    edges = [(v, v + 1) for v in range(size - 1)]
    topology = Topology.of_edges(size, [(*edge, kind) for edge in edges])
    if kind is EdgeKind.AFTER:
        topology.end_orders(edges)
    scheduler = Scheduler(topology, jobs=1, default_retry=0)
    scheduler.mark(A, Cause.DRIFT, 0.0)
    run(scheduler, A, Outcome.FAILED)
    topology.strong_predecessors = required = CountedList(topology.strong_predecessors)
    topology.ended_by = ended = CountedList([topology.ended_by.get(v, ()) for v in range(size)])
    known = {}
    assert {scheduler.blocking.culprits(v, known) for v in range(1, size)[::order]} == {(A,)}
    assert required.looks + ended.looks < 8 * size


def test_an_immediate_mark_overtakes_a_delayed_one():
    scheduler = pair()
    scheduler.mark(A, Cause.DRIFT, 0.0, delay=5.0)
    assert scheduler.next_ready(0.0) is None
    scheduler.mark(A, Cause.DRIFT, 1.0)
    run(scheduler, A, now=1.0)
    scheduler.elapsed(5.0)
    assert scheduler.next_ready(5.0) is None, "the delayed mark is paid already"


def test_what_left_the_graph_during_its_run_and_came_back_has_only_the_causes_of_its_return():
    scheduler = pair()
    scheduler.mark(A, Cause.DRIFT, 0.0)
    assert scheduler.next_ready(0.0) == A
    scheduler.reshape(scheduler.topology, {}, [], [A])
    scheduler.reshape(scheduler.topology, {}, [A], [])
    scheduler.mark(A, Cause.INTENT, 0.0)
    scheduler.finished(A, Outcome.CANCELLED, 0.0)
    assert scheduler.next_ready(0.0) == A
    assert scheduler.causes(A) is Cause.INTENT


def test_what_is_held_twice_waits_for_both_releases_also_in_another_graph():
    scheduler = pair()
    scheduler.mark(A, Cause.DRIFT, 0.0)
    for _ in range(2):
        scheduler.order.hold(A)
    scheduler.reshape(scheduler.topology, {}, [], [])
    scheduler.order.release(A)
    assert scheduler.next_ready(0.0) is None
    scheduler.order.release(A)
    assert scheduler.next_ready(0.0) == A


def test_what_is_held_below_one_that_is_due_goes_on_when_both_have_ended():
    chain = [(A, B, EdgeKind.REQUIRE), (B, C, EdgeKind.REQUIRE)]
    scheduler = Scheduler(Topology.of_edges(3, chain), jobs=2, default_retry=0)
    scheduler.mark(A, Cause.DRIFT, 0.0)
    scheduler.order.hold(B)
    scheduler.order.release(B)
    run(scheduler, A)
    scheduler.mark(C, Cause.DRIFT, 0.0)
    assert scheduler.next_ready(0.0) == C


@pytest.mark.parametrize(
    ("cause", "rests"),
    [(Cause.DRIFT, True), (Cause.AUDIT, True), (Cause.INTENT, False), (Cause.REFRESH, False), (Cause.HEALTH, False)],
)  # fmt: skip
def test_while_one_that_flaps_is_slowed_down_those_below_wait_only_if_more_than_drift_is_due(cause, rests):
    scheduler = pair()
    scheduler.delay_queue.pace(A, 5.0)
    scheduler.mark(A, cause, 0.0)
    scheduler.mark(B, Cause.DRIFT, 0.0)
    assert scheduler.next_ready(0.0) == (B if rests else None)
    scheduler.elapsed(5.0)
    assert scheduler.next_ready(5.0) == A


def test_a_failed_attempt_that_touched_something_counts_as_a_change_once_it_succeeds():
    scheduler = pair(EdgeKind.SUBSCRIBE)
    scheduler.mark(A, Cause.DRIFT, 0.0)
    assert scheduler.next_ready(0.0) == A
    scheduler.refreshes.touched.add(A)
    scheduler.finished(A, Outcome.FAILED, 0.0)
    scheduler.mark(A, Cause.DRIFT, 10.0)
    scheduler.elapsed(10.0)
    run(scheduler, A, Outcome.OK, now=10.0)
    assert Cause.REFRESH in scheduler.causes(B)


def test_what_was_only_planned_refreshes_only_what_is_in_noop():
    scheduler = pair(EdgeKind.SUBSCRIBE, limits={B: Limits(noop=True)})
    scheduler.mark(A, Cause.DRIFT, 0.0)
    run(scheduler, A, Outcome.WOULD_CHANGE)
    assert scheduler.in_motion(B)
    scheduler = pair(EdgeKind.SUBSCRIBE)
    scheduler.mark(A, Cause.DRIFT, 0.0)
    run(scheduler, A, Outcome.WOULD_CHANGE)
    assert not scheduler.in_motion(B)


def test_a_slowed_down_vertex_waits_and_runs():
    scheduler = pair()
    scheduler.delay_queue.throttle_until(A, until=3.0)
    scheduler.mark(A, Cause.DRIFT, 0.0)
    assert scheduler.next_ready(0.0) is None
    assert scheduler.delay_queue.next_time() == 3.0
    scheduler.elapsed(3.0)
    run(scheduler, A, now=3.0)
    assert scheduler.converged


def test_a_rate_is_kept_by_what_was_blocked():
    scheduler = pair(limits={B: Limits(rate=0.1)})
    scheduler.mark(B, Cause.DRIFT, 0.0)
    run(scheduler, B)
    scheduler.mark(A, Cause.DRIFT, 0.0)
    run(scheduler, A, Outcome.FAILED)
    scheduler.mark(B, Cause.DRIFT, 1.0)
    scheduler.mark(A, Cause.DRIFT, 2.0)
    scheduler.elapsed(2.0)
    run(scheduler, A, now=2.0)
    assert scheduler.next_ready(2.0) is None
    assert scheduler.delay_queue.next_time() <= 10.0
    scheduler.elapsed(10.0)
    run(scheduler, B, now=10.0)
    assert scheduler.converged


def test_a_rate_is_kept_by_what_is_slowed_down_while_it_waits_for_another():
    scheduler = pair()
    scheduler.mark(A, Cause.DRIFT, 0.0)
    scheduler.mark(B, Cause.DRIFT, 0.0)
    scheduler.delay_queue.throttle_until(B, until=5.0)
    run(scheduler, A)
    assert scheduler.next_ready(0.0) is None
    scheduler.elapsed(5.0)
    run(scheduler, B, now=5.0)


def test_a_burst_that_waits_for_a_semaphore_is_not_begun_again():
    quiet = RefreshDebounce.model_validate({"for": "2s", "at_most": "10s"})
    limits = {B: Limits(quiet=quiet, semaphores=("s",)), C: Limits(semaphores=("s",))}
    topology = Topology.of_edges(3, [(A, B, EdgeKind.NOTIFY)])
    scheduler = Scheduler(topology, jobs=3, limits=limits)
    scheduler.mark(C, Cause.DRIFT, 0.0)
    assert scheduler.next_ready(0.0) == C, "it takes the semaphore"
    for now in (0.0, 11.0):
        scheduler.mark(A, Cause.DRIFT, now)
        run(scheduler, A, Outcome.CHANGED, now=now)
        scheduler.elapsed(now)
        assert scheduler.next_ready(now) is None
        scheduler.elapsed(5.0)
        assert scheduler.next_ready(max(now, 5.0)) is None
    scheduler.finished(C, Outcome.OK, 12.0)
    assert scheduler.next_ready(12.0) == B, "the first change was 12 s ago"
    assert Cause.REFRESH in scheduler.causes(B)


def waits_between_attempts(retry, meanwhile, takes=0.0, most=6):
    """How long A waits for each further attempt if all fail, and ``meanwhile`` is marked during each."""
    scheduler, now, last, waits = pair(limits={A: Limits(retry=retry, delay=10.0)}), 0.0, 0.0, []
    scheduler.mark(A, Cause.DRIFT, now)
    while not scheduler.exhausted and len(waits) < most:
        if scheduler.next_ready(now) is None:
            now = scheduler.delay_queue.next_time()
            scheduler.elapsed(now)
            continue
        waits.append(now - last)
        last = now = now + takes
        for cause in meanwhile:
            scheduler.mark(A, cause, now)
        scheduler.finished(A, Outcome.FAILED, now)
    return waits[1:]


def test_what_long_attempts_cause_themselves_has_them_repeated_ever_more_seldom():
    waits = waits_between_attempts(1, [Cause.DRIFT], takes=1000.0)
    assert waits[2:] == pytest.approx([20, 40, 80], rel=0.11)


@pytest.mark.parametrize(
    ("retry", "meanwhile", "expected"),
    [
        (0, [], []),
        (2, [], [10, 20]),
        # An event is followed by a check, soon after the first attempt, and with growing waits however many failed.
        # The retry that it forestalls stays due when it was.
        (0, [Cause.DRIFT], [0.1, 9.9, 20, 40, 80]),
        (2, [Cause.DRIFT], [0.1, 9.9, 20, 40, 80]),
        (2, [Cause.DRIFT, Cause.DRIFT], [0.1, 9.9, 20, 40, 80]),
    ],
)
def test_events_during_runs_that_fail_are_no_new_beginning(retry, meanwhile, expected):
    assert waits_between_attempts(retry, meanwhile) == pytest.approx(expected, rel=0.11)


def test_what_no_run_can_cause_itself_is_a_new_beginning_also_during_one_that_fails():
    scheduler = pair(limits={A: Limits(retry=0, delay=10.0)})
    scheduler.mark(A, Cause.INITIAL, 0.0)
    for now in (0.0, 1.0, 2.0):
        scheduler.elapsed(now)
        assert scheduler.next_ready(now) == A
        scheduler.mark(A, Cause.INTENT, now)
        assert scheduler.finished(A, Outcome.FAILED, now) is None


def test_an_event_after_a_run_that_failed_gives_all_attempts_back():
    scheduler = pair(limits={A: Limits(retry=1, delay=10.0)})
    scheduler.mark(A, Cause.DRIFT, 0.0)
    assert run(scheduler, A, Outcome.FAILED) is not None
    scheduler.mark(A, Cause.DRIFT, 1.0)
    scheduler.elapsed(1.0)
    assert run(scheduler, A, Outcome.FAILED, now=1.0) is not None


def test_an_event_gives_all_attempts_back_also_to_what_is_blocked():
    scheduler = pair(limits={B: Limits(retry=1, delay=10.0)})
    scheduler.mark(B, Cause.DRIFT, 0.0)
    run(scheduler, B, Outcome.FAILED)
    scheduler.mark(A, Cause.DRIFT, 0.0)
    run(scheduler, A, Outcome.FAILED)
    scheduler.mark(B, Cause.DRIFT, 1.0)
    scheduler.mark(A, Cause.DRIFT, 2.0)
    scheduler.elapsed(2.0)
    run(scheduler, A, now=2.0)
    assert run(scheduler, B, Outcome.FAILED, now=2.0) is not None


def test_however_many_events_come_after_a_failure_the_next_retry_stays_due_when_it_was():
    scheduler = pair(limits={A: Limits(retry=-1, delay=100.0)})
    scheduler.mark(A, Cause.DRIFT, 0.0)
    due = run(scheduler, A, Outcome.FAILED)
    for now in (10.0, 20.0, 30.0):
        scheduler.mark(A, Cause.DRIFT, now)
        assert run(scheduler, A, Outcome.FAILED, now=now) == pytest.approx(due - now)
    scheduler.elapsed(due)
    assert run(scheduler, A, Outcome.FAILED, now=due) == pytest.approx(200, rel=0.11)


def test_a_retry_that_was_not_needed_after_all_is_no_reason_to_wait_later():
    scheduler = pair(limits={A: Limits(retry=-1, delay=100.0)})
    scheduler.mark(A, Cause.DRIFT, 0.0)
    assert run(scheduler, A, Outcome.FAILED) == pytest.approx(100, rel=0.11)
    for now, outcome in ((1.0, Outcome.FAILED), (2.0, Outcome.CHANGED), (3.0, Outcome.FAILED)):
        scheduler.mark(A, Cause.DRIFT, now)
        scheduler.elapsed(now)
        wait = run(scheduler, A, outcome, now=now)
    assert wait == pytest.approx(200, rel=0.11)


def test_a_refresh_pending_because_of_what_fails_again_waits_until_that_is_well():
    scheduler = pair(EdgeKind.NOTIFY)
    scheduler.refreshes.add_pending(A, B)
    scheduler.mark_all(Cause.INITIAL)
    run(scheduler, A, Outcome.FAILED)
    assert scheduler.causes(B) is Cause.INITIAL
    run(scheduler, B)
    scheduler.mark(A, Cause.DRIFT, 10.0)
    scheduler.elapsed(10.0)
    run(scheduler, A, Outcome.OK, now=10.0)
    assert scheduler.causes(B) is Cause.REFRESH
    run(scheduler, B, now=10.0)
    scheduler.mark(A, Cause.DRIFT, 20.0)
    run(scheduler, A, Outcome.OK, now=20.0)
    assert scheduler.next_ready(20.0) is None, "it is paid once"


def test_what_changed_and_is_unhealthy_is_noticed_by_whom_it_does_not_block():
    scheduler = pair(EdgeKind.NOTIFY)
    scheduler.mark(A, Cause.DRIFT, 0.0)
    assert scheduler.next_ready(0.0) == A
    scheduler.refreshes.touched.add(A)
    scheduler.finished(A, Outcome.UNHEALTHY, 0.0)
    assert scheduler.causes(B) is Cause.REFRESH
    run(scheduler, B)


def test_what_a_refresh_left_unhealthy_is_tried_again_when_its_requirement_recovers():
    scheduler = pair(EdgeKind.SUBSCRIBE)
    scheduler.mark(B, Cause.REFRESH, 0.0)
    run(scheduler, B, Outcome.UNHEALTHY)
    scheduler.mark(A, Cause.DRIFT, 1.0)
    run(scheduler, A, Outcome.FAILED, now=1.0)
    scheduler.mark(A, Cause.DRIFT, 10.0)
    scheduler.elapsed(10.0)
    run(scheduler, A, Outcome.OK, now=10.0)
    assert scheduler.next_ready(10.0) == B
    assert Cause.REFRESH not in scheduler.causes(B)


@pytest.mark.parametrize("gone", [[], [A]], ids=["is not subscribed to any more", "has left"])
def test_a_refresh_pending_because_of_what_notifies_nothing_any_more_is_made_at_once(gone):
    scheduler = pair(EdgeKind.NOTIFY)
    scheduler.refreshes.add_pending(A, B)
    both = scheduler.topology
    scheduler.reshape(Topology.of_edges(2, []), {}, [], gone)
    run(scheduler, B)
    scheduler.reshape(both, {}, gone, [])
    scheduler.mark(A, Cause.INTENT, 0.0)
    run(scheduler, A, Outcome.OK)
    assert scheduler.next_ready(0.0) is None, (
        "it is paid, and who gets the number of A pays no pledge of that"
    )


def test_what_gets_the_number_of_one_that_left_has_no_pending_refresh_of_it():
    scheduler = pair(EdgeKind.NOTIFY)
    scheduler.refreshes.add_pending(A, B)
    both = scheduler.topology
    scheduler.reshape(Topology.of_edges(2, []), {}, [], [B])
    scheduler.reshape(both, {}, [B], [])
    scheduler.mark(A, Cause.DRIFT, 0.0)
    run(scheduler, A, Outcome.OK)
    assert scheduler.next_ready(0.0) is None


def test_what_a_new_edge_blocks_is_reported_once():
    scheduler = Scheduler(Topology.of_edges(3, []), jobs=1)
    scheduler.mark_all(Cause.INITIAL)
    run(scheduler, A, Outcome.FAILED)
    chain = [(A, B, EdgeKind.REQUIRE), (B, C, EdgeKind.REQUIRE)]
    scheduler.reshape(Topology.of_edges(3, chain), {}, [], [])
    assert scheduler.blocking.take_transitions() == [(B, True), (C, True)]


def test_a_check_whose_job_is_lent_lets_another_begin():
    scheduler = Scheduler(Topology.of_edges(3, []), jobs=1)
    scheduler.mark_all(Cause.INITIAL)
    assert scheduler.next_ready(0.0) == A
    assert scheduler.next_ready(0.0) is None
    scheduler.release_job(A)
    scheduler.release_job(A)
    assert scheduler.has_ready
    assert scheduler.next_ready(0.0) == B
    assert scheduler.next_ready(0.0) is None, "it lends one job, however often it says so"
    assert scheduler.active == 2
    scheduler.finished(A, Outcome.OK, 0.0)
    assert scheduler.next_ready(0.0) is None, "its job was lent: its end frees none"
    scheduler.finished(B, Outcome.OK, 0.0)
    assert scheduler.next_ready(0.0) == C


def test_one_of_a_party_has_no_job_of_its_own_to_lend():
    scheduler = Scheduler(Topology.of_edges(3, []), jobs=1, limits={v: Limits(group="g") for v in (A, B)})
    scheduler.mark_all(Cause.INITIAL)
    assert [scheduler.next_ready(0.0), scheduler.next_ready(0.0)] == [A, B]
    scheduler.release_job(A)
    assert scheduler.next_ready(0.0) is None


def test_a_check_that_runs_during_a_reload_that_leaves_it_alone_counts():
    scheduler = pair()
    scheduler.mark(A, Cause.DRIFT, 0.0)
    assert scheduler.next_ready(0.0) == A
    scheduler.reshape(scheduler.topology, {}, [], [])
    scheduler.finished(A, Outcome.FAILED, 0.0)
    assert (scheduler.blocking.failed, scheduler.blocking.blocked) == ({A}, {B})


def test_what_left_the_graph_is_let_end_also_after_a_further_reload():
    scheduler = pair()
    scheduler.mark(A, Cause.DRIFT, 0.0)
    assert scheduler.next_ready(0.0) == A
    alone = Topology.of_edges(2, [])
    scheduler.reshape(alone, {}, [], [A])
    scheduler.reshape(alone, {}, [], [])
    assert scheduler.finished(A, Outcome.FAILED, 0.0) is None
    assert scheduler.converged
    assert scheduler.exhausted


def test_what_left_the_graph_while_it_ran_counts_again_once_it_is_back_later():
    scheduler = pair()
    both, alone = scheduler.topology, Topology.of_edges(2, [])
    scheduler.mark(A, Cause.DRIFT, 0.0)
    assert scheduler.next_ready(0.0) == A
    scheduler.reshape(alone, {}, [], [A])
    scheduler.finished(A, Outcome.OK, 0.0)
    scheduler.reshape(alone, {}, [], [])
    scheduler.reshape(both, {}, [A], [])
    scheduler.mark(A, Cause.INTENT, 0.0)
    run(scheduler, A, Outcome.FAILED)
    assert scheduler.blocking.failed == {A}


def test_a_user_who_became_blocked_before_a_reload_is_still_reported_of():
    scheduler = pair()
    scheduler.mark(A, Cause.DRIFT, 0.0)
    run(scheduler, A, Outcome.FAILED)
    assert scheduler.blocking.blocked == {B}
    scheduler.reshape(Topology.of_edges(2, []), {}, [], [])
    assert scheduler.blocking.take_transitions() == [(B, True), (B, False)]


@pytest.mark.parametrize(
    ("name", "most"), [("7", 1), ("db:2", 2), ("db:", 1), ("a:b", 1), (":2", 2), ("2:1", 1)]
)
def test_only_the_number_after_a_colon_says_how_many_a_semaphore_lets_run(name, most):
    limits = {v: Limits(semaphores=(name,)) for v in (A, B, C)}
    scheduler = Scheduler(Topology.of_edges(3, []), jobs=3, limits=limits)
    scheduler.mark_all(Cause.INITIAL)
    started = [scheduler.next_ready(0.0) for _ in range(3)]
    assert started == [A, B, C][:most] + [None] * (3 - most)


@pytest.mark.parametrize(
    ("outcome", "owed"),
    [
        (Outcome.UNHEALTHY, Cause.INITIAL | Cause.RETRY),
        (Outcome.CRITICAL, Cause.HEALTH | Cause.RETRY),
        (Outcome.FAILED, Cause.INITIAL | Cause.REFRESH | Cause.HEALTH),
    ],
)
def test_what_is_left_of_a_bad_run(outcome, owed):
    scheduler = pair()
    for cause in (Cause.INITIAL, Cause.REFRESH, Cause.HEALTH):
        scheduler.mark(A, cause, 0.0)
    run(scheduler, A, outcome)
    assert scheduler.causes(A) == owed


def test_a_refresh_that_a_reload_makes_due_gives_all_attempts_back():
    scheduler = pair(EdgeKind.NOTIFY, limits={B: Limits(retry=1, delay=10.0)})
    scheduler.refreshes.add_pending(A, B)
    scheduler.mark(B, Cause.DRIFT, 0.0)
    run(scheduler, B, Outcome.FAILED)
    scheduler.reshape(Topology.of_edges(2, []), {B: Limits(retry=1, delay=10.0)}, [], [])
    assert run(scheduler, B, Outcome.FAILED) is not None


def test_with_fewer_jobs_than_checks_that_run_none_begins_until_enough_have_ended():
    scheduler = Scheduler(Topology.of_edges(3, []), jobs=3)
    scheduler.mark_all(Cause.INITIAL)
    running = [scheduler.next_ready(0.0), scheduler.next_ready(0.0)]
    scheduler.jobs = 1
    for vertex in running:
        assert not scheduler.has_ready
        assert scheduler.next_ready(0.0) is None
        scheduler.finished(vertex, Outcome.OK, 0.0)
    assert scheduler.has_ready
    assert scheduler.next_ready(0.0) == C
