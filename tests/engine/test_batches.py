"""Resources that are applied in one go: who goes together, and that each keeps its own outcome."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import pytest
import trio
from engine_worlds import Late
from hypothesis import given
from hypothesis import strategies as st

from reactor import Action, GroupError, Plan, Resource, ResourceError
from reactor.engine.events import Cause, Checked, Result
from reactor.engine.limits import Limits
from reactor.engine.options import RunOptions
from reactor.engine.outcome import Outcome
from reactor.engine.scheduler import Scheduler
from reactor.graph.graph import EdgeKind
from reactor.graph.topology import Topology
from reactor.resource.declared import declare
from reactor.testing.story import Story, converge_once, graph_of, running


class Crate(Resource, kind="crate"):
    """Desired: in ``there``. ``goes`` has the names of each going; one with ``rotten`` in it goes nowhere at all."""

    ensure: str = "present"
    key: str | None = "lorry"
    rotten: bool = False
    refused: bool = False
    pushes: str = ""

    there: ClassVar[set[str]] = set()
    goes: ClassVar[list[list[str]]] = []
    on_the_way: ClassVar[trio.Event | None] = None
    slow_to_look: ClassVar[dict[str, trio.Event]] = {}

    async def observe(self) -> bool:
        if self.name in self.slow_to_look:
            await self.slow_to_look[self.name].wait()
        return self.name in self.there

    def plan(self, state: bool, *, refresh: bool) -> Plan:
        if state and not refresh:
            return ()
        return (Action("Would have brought it", "brought it", self._go_alone),)

    def group_key(self) -> str | None:
        return self.key

    @classmethod
    async def apply_group(cls, members: Sequence[Self]) -> Mapping[str, ResourceError]:
        cls.goes.append([member.name for member in members])
        if cls.on_the_way is not None:
            await cls.on_the_way.wait()
        refusals = {member.ref: ResourceError("no room") for member in members if member.refused}
        if any(member.rotten for member in members):
            raise GroupError("something is rotten", refusals=refusals)
        cls.there.update(member.name for member in members if not member.refused)
        cls.there.difference_update(member.pushes for member in members)
        return refusals

    async def _go_alone(self) -> None:
        for refusal in (await self.apply_group([self])).values():
            raise refusal


class Loner(Crate, kind="loner"):
    """A crate of another kind."""


@pytest.fixture(autouse=True)
def yard(monkeypatch):
    monkeypatch.setattr(Crate, "there", set())
    monkeypatch.setattr(Crate, "goes", [])
    monkeypatch.setattr(Crate, "on_the_way", None)
    monkeypatch.setattr(Crate, "slow_to_look", {})


def crates(names, **properties):
    return [Crate(name=name, **properties) for name in names]


@pytest.mark.parametrize("jobs", [1, 2, 64])
async def test_those_that_are_ready_together_go_together(jobs):
    ended, story = await converge_once(*crates("abcdef"), options=RunOptions(jobs=jobs))
    assert [sorted(go) for go in Crate.goes] == [list("abcdef")]
    assert ended.changes == 6
    assert all(story.checks(f"crate#{name}")[0].actions == ("brought it",) for name in "abcdef")


async def test_other_keys_other_kinds_and_those_without_a_key_do_not():
    await converge_once(
        *crates("ab"), *crates("cd", key="ship"), *crates("ef", key=None), Loner(name="g"), Loner(name="h")
    )
    assert sorted(map(sorted, Crate.goes)) == [["a", "b"], ["c", "d"], ["e"], ["f"], ["g", "h"]]


async def test_what_is_as_desired_does_not_go():
    Crate.there.update("ac")
    ended, _ = await converge_once(*crates("abcd"))
    assert Crate.goes == [["b", "d"]]
    assert ended.counts[Result.OK] == 2


async def test_what_depends_on_another_goes_later():
    await converge_once(*crates("ab"), Crate(name="c", require="crate#a"), Crate(name="d", after="crate#b"))
    assert [sorted(go) for go in Crate.goes] == [["a", "b"], ["c", "d"]]


async def test_noop_brings_nothing():
    ended, _ = await converge_once(
        *crates("ab"), Crate(name="c", meta={"noop": True}), options=RunOptions(noop=True)
    )
    assert Crate.goes == []
    assert ended.counts[Result.WOULD_CHANGE] == 3


async def test_one_that_is_in_noop_stays_behind_and_one_with_a_timeout_goes_alone():
    await converge_once(
        *crates("ab"), Crate(name="c", meta={"noop": True}), Crate(name="d", meta={"timeout": "10s"})
    )
    assert sorted(map(sorted, Crate.goes)) == [["a", "b"], ["d"]]


async def test_a_refusal_is_of_one_alone():
    ended, story = await converge_once(*crates("ab"), Crate(name="c", refused=True))
    assert len(Crate.goes) == 1
    assert story.checks("crate#c")[0].error == "no room"
    assert ended.counts[Result.CHANGED] == 2


async def test_a_refusal_is_reported_as_what_it_is_also_when_nothing_else_went():
    rotten = [Crate(name=str(number), rotten=True) for number in range(20)]
    _, story = await converge_once(*rotten, *crates("abc", refused=True))
    assert [story.checks(f"crate#{name}")[0].error for name in "abc"] == ["no room"] * 3
    assert sum("c" in go for go in Crate.goes) == 1, "who was refused is not tried again"


@pytest.mark.parametrize("meta", [{}, {"timeout": "10s"}])
async def test_one_that_another_has_pushed_out_since_fails_in_a_run_that_notices_nothing(meta):
    ended, story = await converge_once(*crates("ab"), Crate(name="c", pushes="a", after="crate#a", meta=meta))
    assert ended.counts[Result.FAILED] == 1
    assert story.result("crate#c") is Result.CHANGED
    assert (
        "no longer, since crate#b, crate#c was changed: Would have brought it"
        in story.checks("crate#a")[-1].error
    )
    assert len(story.checks("crate#b")) == 1, "who is still there is not told of again"


@given(rotten=st.sets(st.integers(0, 15), max_size=3))
def test_the_rotten_ones_are_found_in_halves_and_fail_alone(rotten):
    names = [str(number) for number in range(16)]
    Crate.goes, Crate.there = [], set()

    async def main():
        return await converge_once(*(Crate(name=name, rotten=int(name) in rotten) for name in names))

    ended, story = trio.run(main)
    failed = {name for name in names if story.result(f"crate#{name}") is Result.FAILED}
    assert failed == {str(number) for number in rotten}
    assert ended.counts[Result.CHANGED] == 16 - len(rotten)
    assert len(Crate.goes) <= 1 + 8 * len(rotten), "each costs at most two goes a halving"


async def test_when_no_one_gets_anywhere_not_every_single_one_is_tried():
    ended, story = await converge_once(*(Crate(name=str(number), rotten=True) for number in range(100)))
    assert ended.counts[Result.FAILED] == 100
    assert len(Crate.goes) < 20
    errors = [story.checks(f"crate#{number}")[0].error for number in range(100)]
    assert all("something is rotten" in error for error in errors)
    assert sum(error.startswith("given up") for error in errors) > 80


async def test_each_intends_its_own_refreshes_before_the_change_and_keeps_them():
    class Diary:
        intended: ClassVar[list[str]] = []

        def __getattr__(self, name):
            return lambda *_: {} if name == "pending_refreshes" else None

        def reversals(self, *_):
            return []

        def prepare_generation(self, _):
            return lambda: None

        def cause_of(self, _):
            return Cause.INITIAL

        async def intend(self, ref, subscribers):
            assert not Crate.goes, "on disk before anything is changed"
            self.intended.append((ref, tuple(subscribers)))

    listeners = [Loner(name=name, subscribe=f"crate#{name}") for name in "ab"]
    Crate.there.update("ab")
    await converge_once(*listeners, *crates("ab"))
    assert Crate.goes == [], "all is well: nobody is told"
    Crate.there.clear()
    Crate.there.update(())
    _, story = await converge_once(*crates("ab"), *listeners, run_store=Diary())
    assert sorted(Diary.intended) == [("crate#a", ("loner#a",)), ("crate#b", ("loner#b",))]
    for name in "ab":
        assert Cause.REFRESH in story.checks(f"loner#{name}")[0].causes


class Trunk(Resource, kind="trunk"):
    """Has an engine and a lid. All engines are loaded together, and then the ramp breaks."""

    ensure: str = "present"
    loaded: ClassVar[list[str]] = []

    async def observe(self) -> set[str]:
        return {part for part in ("engine", "lid") if f"{part} of {self.name}" in self.loaded}

    def plan(self, state: set[str], *, refresh: bool) -> Plan:
        return tuple(self._part(part) for part in ("engine", "lid") if part not in state)

    def group_key(self) -> str:
        return "ramp"

    @classmethod
    async def apply_group(cls, members: Sequence[Self]) -> Mapping[str, ResourceError]:
        cls.loaded.extend(f"engine of {member.name}" for member in members)
        raise OSError("the ramp has broken")

    def _part(self, part: str) -> Action:
        async def load() -> None:
            self.loaded.append(f"{part} of {self.name}")

        return Action(f"Would have loaded the {part}", f"loaded the {part}", load)


async def test_after_a_failure_only_what_is_left_of_each_plan_is_carried_out(monkeypatch):
    monkeypatch.setattr(Trunk, "loaded", [])
    ended, story = await converge_once(Trunk(name="a"), Trunk(name="b"))
    assert ended.changes == 2
    assert sorted(Trunk.loaded) == ["engine of a", "engine of b", "lid of a", "lid of b"]
    assert story.checks("trunk#a")[0].actions == ("loaded the lid",)


async def test_while_they_are_under_way_who_comes_later_waits_and_goes_together():
    Crate.on_the_way = trio.Event()
    Crate.there.update("cde")
    async with running(*crates("abcde")) as story:
        await trio.testing.wait_all_tasks_blocked()
        assert Crate.goes == [["a", "b"]]
        for name in "cde":
            Crate.there.discard(name)
            story.drift(f"crate#{name}")
        await trio.testing.wait_all_tasks_blocked()
        assert len(Crate.goes) == 1
        Crate.on_the_way.set()
        await story.converged()
    assert [sorted(go) for go in Crate.goes] == [["a", "b"], ["c", "d", "e"]]


async def test_they_take_one_job_and_do_not_keep_others_from_theirs():
    Crate.on_the_way = trio.Event()
    others = crates("xyz", key=None)
    Crate.there.update("xyz")
    async with running(*crates("abcdef"), *others, options=RunOptions(watch=True, jobs=2)) as story:
        await story.until(lambda: all(story.checks(other.ref) for other in others))
        assert not story.checks("crate#a")
        Crate.on_the_way.set()
        await story.converged()


async def test_a_stop_lets_those_end_that_started_together():
    Crate.on_the_way = trio.Event()
    async with running(*crates("abc"), Crate(name="d", require="crate#a")) as story:
        await trio.testing.wait_all_tasks_blocked()
        story.engine.stop()
        Crate.on_the_way.set()
        await story.until(lambda: len(Crate.there) == 3)
    assert "d" not in Crate.there


async def test_one_whose_check_is_voided_is_left_behind_and_checked_again():
    Crate.slow_to_look = {"c": trio.Event()}
    async with running(*crates("abc")) as story:
        await trio.testing.wait_all_tasks_blocked()
        assert Crate.goes == [], "c has not looked yet"
        vertex = story.engine.vertex_table.number("crate#c")
        story.engine.dispatcher.hold(vertex)
        await story.until(lambda: {"a", "b"} <= Crate.there)
        assert [sorted(go) for go in Crate.goes] == [["a", "b"]]
        Crate.slow_to_look["c"].set()
        story.engine.dispatcher.release(vertex)
        await story.converged()
    assert [sorted(go) for go in Crate.goes] == [["a", "b"], ["c"]]


async def test_what_has_begun_is_not_cut_off_when_one_of_them_is_voided():
    Crate.on_the_way = trio.Event()
    async with running(*crates("ab")) as story:
        await trio.testing.wait_all_tasks_blocked()
        for name in "ab":
            vertex = story.engine.vertex_table.number(f"crate#{name}")
            story.engine.dispatcher.hold(vertex)
            story.engine.dispatcher.release(vertex)
        Crate.on_the_way.set()
        await story.converged()
    assert {"a", "b"} == Crate.there
    assert len(Crate.goes) == 1


async def test_a_reload_in_between_goes_on_with_those_that_are_left():
    Crate.on_the_way = trio.Event()
    async with running(*crates("abc")) as story:
        await trio.testing.wait_all_tasks_blocked()
        story.engine.reload(graph_of(crates("bcd")))
        Crate.on_the_way.set()
        await story.until(lambda: "d" in Crate.there)
        await story.rest()
    assert [sorted(go) for go in Crate.goes] == [["a", "b", "c"], ["d"]]


async def test_a_run_that_is_cut_off_from_outside_ends():
    Crate.slow_to_look = {name: trio.Event() for name in "abcdef"}
    async with trio.open_nursery() as nursery:
        story = Story(graph_of(crates("abcdef")), RunOptions(jobs=1))
        await nursery.start(story.engine.run)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()


MOST = 8


@st.composite
def forests(draw):
    pairs = [(a, b) for a in range(MOST) for b in range(a + 1, MOST)]
    return draw(st.lists(st.sampled_from(pairs), max_size=8, unique=True))


@given(
    pairs=forests(),
    groups=st.lists(st.sampled_from([None, "a", "a", "b"]), min_size=MOST, max_size=MOST),
    jobs=st.integers(1, 3),
    seed=st.integers(),
)
def test_on_any_graph_order_holds_jobs_are_bounded_and_it_ends(pairs, groups, jobs, seed):
    limits = {
        vertex: Limits(group=group, semaphores=("s",) * (vertex % 3 == 0))
        for vertex, group in enumerate(groups)
    }
    topology = Topology.of_edges(MOST, [(a, b, EdgeKind.REQUIRE) for a, b in pairs])
    scheduler = Scheduler(topology, jobs=jobs, limits=limits)
    scheduler.mark_all(Cause.INITIAL)
    chance = random.Random(seed)
    runs, running_now = [], {}
    for _ in range(200):
        while (vertex := scheduler.next_ready(0.0)) is not None:
            assert vertex not in running_now
            assert not any(scheduler.in_motion(a) for a, b in pairs if b == vertex)
            running_now[vertex] = scheduler.batches.batch.get(vertex)
            runs.append(vertex)
            taken = {id(batch) if batch else vertex for vertex, batch in running_now.items()}
            assert len(taken) <= jobs
            assert scheduler.active == len(taken) or scheduler.batches.followers
        if not running_now:
            break
        ended = chance.choice(sorted(running_now))
        del running_now[ended]
        if chance.random() < 0.2:
            scheduler.mark(ended, Cause.DRIFT, 0.0)
        scheduler.finished(ended, Outcome.OK, 0.0)
    assert set(runs) == set(range(MOST))
    assert scheduler.converged
    assert not scheduler.batches.batch


class Pallet(Crate, kind="pallet"):
    """A crate whose batch can be looked at as a whole."""

    deaf: bool = False
    observed: ClassVar[list[str]] = []
    looks: ClassVar[int] = 0
    evidence: ClassVar[list[object]] = []

    async def observe(self) -> bool:
        Pallet.observed.append(self.name)
        return await super().observe()

    @classmethod
    def all_as_desired(cls, members: Sequence[Self], evidence: object) -> object:
        Pallet.looks += 1
        Pallet.evidence.append(evidence)
        if any(member.deaf for member in members):
            raise OSError("no such look")
        return Pallet.looks if cls.there.issuperset(member.name for member in members) else None


@pytest.fixture
def pallets(monkeypatch):
    monkeypatch.setattr(Pallet, "observed", [])
    monkeypatch.setattr(Pallet, "looks", 0)
    monkeypatch.setattr(Pallet, "evidence", [])
    Crate.there.update("abcd")
    return [Pallet(name=name) for name in "abcd"]


def pallet_checks(story):
    return {name: len(story.checks(f"pallet#{name}")) for name in "abcd"}


@pytest.mark.parametrize("jobs", [1, 64])
async def test_a_batch_that_is_as_desired_is_looked_at_once(pallets, jobs):
    ended, story = await converge_once(*pallets, options=RunOptions(jobs=jobs))
    assert (Pallet.looks, Pallet.observed, Crate.goes) == (1, [], [])
    assert pallet_checks(story) == dict.fromkeys("abcd", 1)
    assert ended.counts[Result.OK] == 4


async def test_each_of_a_batch_took_its_share_of_the_time(pallets, monkeypatch, mock_clock):
    def look_for_a_while(members, evidence):
        mock_clock.jump(8)
        return True

    monkeypatch.setattr(Pallet, "all_as_desired", look_for_a_while)
    _, story = await converge_once(*pallets)
    assert [event.duration for event in story.all(Checked)] == [2.0] * 4


async def test_drift_of_one_in_a_batch_is_found_and_the_next_pass_is_one_look_again(pallets):
    async with running(*pallets) as story:
        await story.converged()
        Crate.there.discard("c")
        for name in "abcd":
            story.drift(f"pallet#{name}")
        await story.until(lambda: "c" in Crate.there)
        await story.rest()
        assert sorted(Pallet.observed) == ["a", "b", "c", "c", "d"]
        assert Crate.goes == [["c"]]
        Pallet.looks, Pallet.observed[:] = 0, []
        before = pallet_checks(story)
        for name in "abcd":
            story.drift(f"pallet#{name}")
        await story.until(lambda: pallet_checks(story) == {name: count + 1 for name, count in before.items()})
        assert (Pallet.looks, Pallet.observed) == (1, [])


async def test_a_look_is_given_the_evidence_of_the_last_look_at_the_same_resources(pallets):
    async with running(*pallets) as story:

        async def look_again(count):
            story.engine.dispatcher.mark_each(range(count), Cause.DRIFT)
            await story.rest()

        await story.converged()
        await look_again(4)
        assert Pallet.evidence == [None, 1]
        await look_again(3)
        assert Pallet.evidence == [None, 1, None]


async def test_those_that_depend_on_a_batch_go_after_it(pallets):
    ended, story = await converge_once(*pallets, Crate(name="x", require="pallet#b", key=None))
    assert (Pallet.looks, Pallet.observed, Crate.goes) == (1, [], [["x"]])
    assert ended.counts[Result.OK] == 4
    assert story.result("crate#x") is Result.CHANGED


async def test_a_batch_with_a_refresh_is_checked_one_by_one(pallets):
    pallets[1] = Pallet(name="b", subscribe="crate#x")
    ended, _ = await converge_once(*pallets, Crate(name="x", key=None))
    assert (Pallet.looks, Pallet.observed[0]) == (1, "b")
    assert ["b"] in Crate.goes
    assert ended.changes == 2


@pytest.mark.parametrize(
    "properties",
    [
        {"meta": {"noop": True}},
        {"health_checks": [{"command": "true"}]},
        {"deaf": True},
    ],
)
async def test_what_a_look_can_not_decide_is_checked_one_by_one(pallets, properties):
    pallets[2] = Pallet(name="c", **properties)
    _, story = await converge_once(*pallets)
    assert sorted(Pallet.observed) == (["c"] if "meta" in properties else list("abcd"))
    assert Pallet.looks == (0 if "health_checks" in properties else 1)
    assert pallet_checks(story) == dict.fromkeys("abcd", 1)


async def test_a_batch_with_a_value_that_is_not_known_yet_is_checked_one_by_one(pallets):
    declare(pallets[2], pallets[2].declared._replace(deferred=Late()))
    await converge_once(*pallets)
    assert (Pallet.looks, sorted(Pallet.observed)) == (0, list("abcd"))


async def test_a_run_that_may_only_look_checks_one_by_one(pallets):
    await converge_once(*pallets, options=RunOptions(monitor_only=True))
    assert Pallet.looks == 0


@given(
    pairs=forests(),
    groups=st.lists(st.sampled_from([None, "a", "a", "b"]), min_size=MOST, max_size=MOST),
    jobs=st.integers(1, 3),
    seed=st.integers(),
)
def test_to_end_a_group_before_it_starts_is_to_start_and_end_each_of_it(pairs, groups, jobs, seed):
    limits = {
        vertex: Limits(group=group, semaphores=("s",) * (vertex % 5 == 0))
        for vertex, group in enumerate(groups)
    }
    topology = Topology.of_edges(MOST, [(a, b, EdgeKind.SUBSCRIBE) for a, b in pairs])
    lives = []
    for at_once in (True, False):
        scheduler, chance, seen = Scheduler(topology, jobs=jobs, limits=limits), random.Random(seed), []
        scheduler.mark_all(Cause.INITIAL)
        for _ in range(100):
            if chance.random() < 0.3:
                scheduler.mark(chance.randrange(MOST), chance.choice((Cause.DRIFT, Cause.HEALTH)), 0.0)
            outcome = chance.choice((Outcome.OK, Outcome.OK, Outcome.CHANGED))
            group = scheduler.next_group() if outcome is Outcome.OK else None
            if group and at_once:
                causes = scheduler.ended_as_desired(group)
            elif (first := scheduler.next_ready(0.0)) is None:
                break
            else:
                started = [first, *scheduler.batches.followers]
                scheduler.batches.followers.clear()
                assert not group or sorted(group) == sorted(started)
                causes = [scheduler.causes(each) for each in group or started]
                for each in group or started:
                    scheduler.finished(each, outcome, 0.0)
            state = (scheduler.active, bytes(scheduler.order.active), list(scheduler.order.waiting))
            seen.append((group, causes, outcome, state, scheduler.at_rest))
        lives.append(seen)
        assert not scheduler.batches.batch
        assert not scheduler.running
    assert lives[0] == lives[1]


def test_a_group_with_a_failure_a_limit_or_another_cause_starts_as_usual():
    def grouped(**limits):
        scheduler = Scheduler(
            Topology.of_edges(3, []), jobs=2, limits=dict.fromkeys(range(3), Limits(group="g", **limits))
        )
        scheduler.mark_all(Cause.INITIAL)
        return scheduler

    assert grouped().next_group() == (0, 1, 2)
    assert grouped(semaphores=("s",)).next_group() is None
    refreshed = grouped()
    refreshed.mark(1, Cause.REFRESH, 0.0)
    assert refreshed.next_group() is None
    failed = grouped()
    for _ in range(3):
        failed.finished(failed.next_ready(0.0), Outcome.FAILED, 0.0)
    failed.mark(0, Cause.DRIFT, 0.0)
    failed.mark(1, Cause.DRIFT, 0.0)
    assert failed.next_group() is None
    paused = grouped()
    paused.pause(2)
    assert paused.next_group() is None


def test_one_that_is_due_alone_starts_as_usual():
    scheduler = Scheduler(Topology.of_edges(2, []), jobs=2, limits=dict.fromkeys(range(2), Limits(group="g")))
    scheduler.mark(1, Cause.DRIFT, 0.0)
    assert (scheduler.next_group(), scheduler.next_ready(0.0)) == (None, 1)


@given(
    pairs=forests(),
    rounds=st.lists(st.tuples(st.sets(st.integers(0, MOST - 1)), st.integers(0, 9)), max_size=8),
)
def test_to_mark_many_is_to_mark_each(pairs, rounds):
    lives = []
    for at_once in (True, False):
        scheduler = Scheduler(Topology.of_edges(MOST, [(a, b, EdgeKind.REQUIRE) for a, b in pairs]), jobs=2)
        seen, chance = [], random.Random(1)
        for now, (vertices, ends) in enumerate(rounds):
            if at_once:
                scheduler.mark_each(sorted(vertices), Cause.DRIFT, now)
            else:
                for vertex in sorted(vertices):
                    scheduler.mark(vertex, Cause.DRIFT, now)
            for _ in range(ends):
                vertex = scheduler.next_ready(now)
                seen.append((vertex, scheduler.causes(vertex) if vertex is not None else None))
                if (runs := sorted(scheduler.running)) and chance.random() < 0.7:
                    outcome = chance.choice((Outcome.OK, Outcome.OK, Outcome.FAILED))
                    scheduler.finished(chance.choice(runs), outcome, now)
            seen.append(
                (list(scheduler.order.waiting), bytes(scheduler.order.active), scheduler.order.active_count)
            )
        lives.append(seen)
    assert lives[0] == lives[1]
