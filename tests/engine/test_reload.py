"""Another generation under a running engine: scenarios 16, 21, 22 of the specification, and what a fight looks like."""

from __future__ import annotations

import gc
import os
import sys
import weakref
from dataclasses import dataclass
from typing import ClassVar

import pytest
import trio
from engine_worlds import Late

from reactor.engine.events import Cause, Checked, Converged, Flapping, Reloaded, Result
from reactor.engine.options import RunOptions
from reactor.journal.journal import Journal
from reactor.resource.declared import Form, declare
from reactor.resource.gc_control import LongLived
from reactor.resource.watch import TimerWatch, Watch, Watcher
from reactor.resources.file import File
from reactor.testing.scripted import Scripted, scripted
from reactor.testing.story import converge_once, graph_of, running


def many(count, **odd):
    return [scripted(f"r{i}", drifted=False, **(odd if i == 7 else {})) for i in range(count)]


async def test_scenario_21_one_changed_of_a_thousand_is_checked_and_no_other(autojump_clock):
    before = many(1000)
    async with running(*before) as story:
        await story.converged()
        heard = len(story.events)
        story.engine.reload(graph_of(many(1000, alias="odd")))
        await story.converged(times=2)
    reloaded, *rest = story.events[heard:]
    assert isinstance(reloaded, Reloaded)
    assert (reloaded.kept, reloaded.changed, reloaded.added, reloaded.gone) == (999, ("scripted#r7",), (), ())
    assert [(event.ref, event.causes) for event in rest if isinstance(event, Checked)] == [
        ("scripted#r7", Cause.INTENT)
    ]


def calls_of(work):
    """How many functions in Python ``work`` calls."""
    count = 0

    def note(_frame, event, _argument):
        nonlocal count
        count += event == "call"

    gc.disable()  # what earlier tests have left may call functions when it is collected
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


async def calls_of_a_prepared_reload(count):
    before = many(count)
    async with running(*before) as story:
        await story.converged()
        graph = graph_of(many(count, alias="odd"))
        prepared = await trio.to_thread.run_sync(story.engine.prepare, graph)
        calls = calls_of(lambda: story.engine.reload(graph, None, prepared))
        await story.converged(times=2)
        assert [event.kept for event in story.all(Reloaded)] == [count - 1]
    return calls


async def test_a_prepared_reload_of_many_makes_no_more_calls_than_one_of_few(autojump_clock):
    assert await calls_of_a_prepared_reload(1000) == await calls_of_a_prepared_reload(20)


async def test_what_was_prepared_before_something_was_undone_is_prepared_again(autojump_clock):
    async with running(scripted("a"), scripted("b")) as story:
        await story.converged()
        engine, graph = story.engine, graph_of([scripted("a", alias="new"), scripted("b")])
        prepared = engine.prepare(graph)
        engine.vertex_table.discard(engine.vertex_table.number("scripted#b"))
        engine.reload(graph, None, prepared)
        await story.converged(times=2)
        (reloaded,) = story.all(Reloaded)
    assert (reloaded.changed, reloaded.added) == (("scripted#a",), ("scripted#b",))


async def test_what_was_prepared_before_a_check_found_other_values_is_prepared_again(autojump_clock):
    def moving(alias=None):
        resource = scripted("a", drifted=False, alias=alias)
        declare(resource, resource.declared._replace(deferred=Late()))
        return resource

    async with running(moving()) as story:
        await story.converged()
        engine, graph = story.engine, graph_of([moving("new")])
        prepared = engine.prepare(graph)
        engine.vertex_table.resources[0] = moving("new")
        engine.reload(graph, None, prepared)
        (reloaded,) = story.all(Reloaded)
    assert (reloaded.kept, reloaded.changed) == (1, ()), "it is as the check has left it"


class Ear(Watch):
    """What only `Ears` listen to."""


class Ears(Watcher):
    """Hear nothing, and remember what they were asked for."""

    serves = Ear
    asked: ClassVar[list[tuple[str, int]]] = []

    async def arm(self, watch, vertex):
        self.asked.append(("arm", vertex))

    def disarm(self, watch, vertex):
        self.asked.append(("disarm", vertex))

    async def run(self):
        await trio.sleep_forever()

    def close(self):
        pass


async def test_scenario_21_only_what_changed_is_watched_again(autojump_clock):
    def watched(**odd):
        return [resource.watch_for(Ear()) for resource in many(100, **odd)]

    Ears.asked.clear()
    async with running(*watched(), watchers={Ear: Ears}) as story:
        await story.converged()
        assert len(Ears.asked) == 100
        changed = story.engine.vertex_table.number("scripted#r7")
        story.engine.reload(graph_of(watched(alias="odd")))
        await story.converged(times=2)
        assert {vertex for _, vertex in Ears.asked[100:]} <= {changed}


async def test_scenario_21_retries_of_what_is_kept_go_on(autojump_clock):
    failing = scripted("a", failures=float("inf"))
    async with running(failing, scripted("b")) as story:
        await failing.script.begun(3)
        story.engine.reload(graph_of([scripted("a"), scripted("b", alias="other")]))
        await failing.script.begun(4)
        waits = [event.retry_in for event in story.checks("scripted#a")]
        await story.rest()
    assert waits[2] > waits[1] > waits[0], "the waits grow on, they do not start anew"


async def test_scenario_22_a_reload_does_not_wait_for_strangers(autojump_clock):
    slow = scripted("slow", takes=3)
    async with running(slow) as story:
        await slow.script.begun()
        new = scripted("new")
        asked = trio.current_time()
        story.engine.reload(graph_of([scripted("slow", takes=3), new]))
        await new.script.begun()
        assert trio.current_time() - asked < 0.1
        await story.converged()
    assert len(slow.script.checks) == 1, "what is kept and running is not started anew"


async def test_scenario_16_a_refresh_pending_to_a_changed_resource_is_still_made(autojump_clock):
    a = scripted("a")
    old = scripted("b", drifted=False, failures=float("inf"), subscribe=["scripted#a"])
    async with running(a, old) as story:
        await old.script.begun(2)
        new = scripted("b", drifted=False, subscribe=["scripted#a"], alias="new")
        story.engine.reload(graph_of([scripted("a"), new]))
        await story.converged()
    assert len(new.script.refreshes) == 1
    assert len(a.script.applies) == 1


async def test_a_check_that_runs_while_its_resource_changes_is_followed_by_one_of_the_new(autojump_clock):
    old = scripted("a", takes=5)
    async with running(old) as story:
        await old.script.begun()
        new = scripted("a", alias="new")
        story.engine.reload(graph_of([new]))
        await trio.sleep(1)
        assert not new.script.checks, "one at a time"
        await story.converged()
    assert len(new.script.checks) == 1


async def test_what_leaves_the_manifest_is_let_go_and_blocks_nothing(autojump_clock):
    bad = scripted("bad", failures=float("inf"))
    b = scripted("b", require=["scripted#bad"])
    async with running(bad, b) as story:
        await story.until(lambda: story.result("scripted#b") is Result.BLOCKED)
        free = scripted("b")
        story.engine.reload(graph_of([free]))
        await story.converged()
        checks = len(bad.script.checks)
        await trio.sleep(1000)
        assert len(bad.script.checks) == checks
    assert free.script.applies
    assert not b.script.checks


async def test_a_running_check_of_what_left_is_let_end_and_not_booked(autojump_clock):
    gone = scripted("gone", takes=5, failures=1)
    async with running(gone) as story:
        await gone.script.begun()
        story.engine.reload(graph_of([]))
        await story.converged()
    assert trio.current_time() >= 5
    assert not story.all(Checked)


async def test_what_comes_back_is_checked_again(autojump_clock):
    async with running(scripted("a"), scripted("b")) as story:
        await story.converged()
        story.engine.reload(graph_of([scripted("a")]))
        back = scripted("b")
        story.engine.reload(graph_of([scripted("a"), back]))
        await story.converged(times=2)
    assert back.script.applies


async def test_watches_of_what_is_new_are_armed_and_those_of_what_left_are_gone(autojump_clock):
    old = scripted("old", drifted=False).watch_for(TimerWatch(5))
    async with running(old) as story:
        await old.script.begun(2)
        new = scripted("new", drifted=False).watch_for(TimerWatch(5))
        story.engine.reload(graph_of([new]))
        await new.script.begun(3)
    assert len(old.script.checks) == 2


@dataclass(frozen=True)
class ToneWatch(Watch):
    """What only `ToneWatcher` listens to."""

    tone: str


class ToneWatcher(Watcher):
    """Takes a second to arm each watch."""

    serves = ToneWatch

    def __init__(self, sink):
        super().__init__(sink)
        type(self).armed = self._armed = []

    async def arm(self, watch, vertex):
        await trio.sleep(1)
        self._armed.append(watch.tone)

    def disarm(self, watch, vertex):
        self._armed.remove(watch.tone)

    async def run(self):
        await trio.sleep_forever()

    def close(self):
        pass


async def test_what_changes_while_it_is_being_armed_is_watched_as_it_is_now(autojump_clock):
    old = scripted("a").watch_for(ToneWatch("low"), ToneWatch("deep"))
    async with running(old, scripted("b"), watchers={ToneWatch: ToneWatcher}) as story:
        await trio.sleep(0.5)
        new = scripted("a", alias="other").watch_for(ToneWatch("high"))
        story.engine.reload(graph_of([new, scripted("b")]))
        await story.converged()
        assert ToneWatcher.armed == ["high"]
    assert new.script.checks
    assert not old.script.checks


async def test_what_leaves_while_it_is_being_armed_is_not_watched(autojump_clock):
    old = scripted("a").watch_for(ToneWatch("low"))
    async with running(old, scripted("b"), watchers={ToneWatch: ToneWatcher}) as story:
        await trio.sleep(0.5)
        story.engine.reload(graph_of([scripted("b")]))
        await trio.sleep(10)
        assert ToneWatcher.armed == []
        assert story.all(Converged)
    assert not old.script.checks


async def test_new_edges_hold_from_the_moment_of_the_reload(autojump_clock):
    async with running(scripted("a"), scripted("b")) as story:
        await story.converged()
        a, b = scripted("a", takes=3, alias="x"), scripted("b", alias="y", require=["scripted#a"])
        story.engine.reload(graph_of([a, b]))
        await story.converged(times=2)
    assert b.script.checks[0] >= a.script.checks[0] + 3


async def test_a_file_added_by_a_reload_is_made_and_watched_and_the_old_one_left_alone(tmp_path):
    def managed(name):
        owner = {"owner": str(os.getuid()), "group": str(os.getgid()), "mode": "0644"}
        return File(name=str(tmp_path / name), ensure="present", content="good\n", **owner)

    async with running(managed("old")) as story:
        await story.converged()
        story.engine.reload(graph_of([managed("new")]))
        await story.until((tmp_path / "new").exists)
        await story.rest()
        (tmp_path / "old").write_text("mine again")
        (tmp_path / "new").write_text("bad")
        await story.until(lambda: (tmp_path / "new").read_text() == "good\n")
    assert (tmp_path / "old").read_text() == "mine again"


async def test_flapping_is_reported_once_and_slowed_but_never_given_up(autojump_clock):
    a = scripted("a")
    async with running(a) as story:
        await story.converged()
        start = trio.current_time()
        for _ in range(300):
            before = len(a.script.applies)
            a.script.drifted = True
            story.drift("scripted#a")
            await story.until(lambda n=before: len(a.script.applies) > n)
        await story.rest()
        took = trio.current_time() - start
    [flapping] = story.all(Flapping)
    assert flapping.actions == {"repaired": 50}
    assert 100 < took < 400, "about one repair a second in the end"
    assert not a.script.drifted, "the last drift is repaired"


async def test_ordinary_drift_is_no_fight(autojump_clock):
    a = scripted("a")
    async with running(a) as story:
        await story.converged()
        for _ in range(100):
            await trio.sleep(1)
            a.script.drifted = True
            story.drift("scripted#a")
            await story.rest()
    assert not story.all(Flapping)


class Recall:
    """A memory that only remembers what it was told, in order."""

    def __init__(self, owed=(), known=()):
        self.owed = dict(owed)
        self.known = dict(known)
        self.told = []

    def cause_of(self, resource):
        return self.known.get(resource.ref, Cause.INITIAL)

    def prepare_generation(self, resources):
        return lambda: None

    def pending_refreshes(self):
        return self.owed

    async def intend(self, ref, subscribers):
        self.told.append(("intend", ref, tuple(subscribers)))

    def applied(self, resource):
        self.told.append(("applied", resource.ref))

    def begins(self, ref):
        self.told.append(("begins", ref))

    def refreshed(self, ref):
        self.told.append(("refreshed", ref))

    def can_undo(self, ref):
        return True

    def reversals(self, resources, may_have):
        return []


async def test_a_refresh_is_on_record_before_the_change_that_causes_it(autojump_clock):
    run_store = Recall()

    class Watched(Scripted, kind="watched"):
        async def _repair(self):
            run_store.told.append(("repair", self.ref))
            self.script.drifted = False

    a, b = Watched(name="a"), scripted("b", drifted=False, subscribe=["watched#a"])
    await converge_once(a, b, run_store=run_store)
    assert run_store.told == [
        ("intend", "watched#a", ("scripted#b",)), ("repair", "watched#a"), ("applied", "watched#a"),
        ("begins", "scripted#b"), ("applied", "scripted#b"), ("refreshed", "scripted#b"),
    ]  # fmt: skip


async def test_a_refresh_pending_from_an_earlier_run_is_made(autojump_clock):
    a, b = scripted("a", drifted=False), scripted("b", drifted=False, subscribe=["scripted#a"])
    run_store = Recall(owed={"scripted#b": ["scripted#a"], "scripted#forgotten": ["scripted#a"]})
    await converge_once(a, b, run_store=run_store)
    assert len(b.script.refreshes) == 1
    assert ("refreshed", "scripted#b") in run_store.told


async def test_a_refresh_pending_because_of_what_is_well_is_made_when_the_subscriber_comes_back(
    autojump_clock,
):
    run_store = Recall(owed={"scripted#b": ["scripted#a"]})
    a, b = scripted("a", drifted=False), scripted("b", drifted=False, subscribe=["scripted#a"])
    declare(b, b.declared._replace(form=Form(is_ccm=True)))
    async with running(a, run_store=run_store) as story:
        await story.converged()
        story.engine.reload(graph_of([a, b]))
        await story.converged(2)
    assert len(b.script.refreshes) == 1
    assert len(a.script.checks) == 1


@pytest.mark.parametrize("cause", [Cause.INITIAL, Cause.INTENT, Cause.DRIFT])
async def test_the_first_check_is_labelled_by_what_is_remembered(autojump_clock, cause):
    _, story = await converge_once(scripted("a"), run_store=Recall(known={"scripted#a": cause}))
    assert story.checks("scripted#a")[0].causes is cause


async def test_what_every_run_does_is_no_drift(autojump_clock):
    class Daily(Scripted, kind="daily"):
        @property
        def unconditional(self):
            return True

    run_store = Recall(known={"daily#a": Cause.DRIFT, "daily#b": Cause.INTENT})
    _, story = await converge_once(Daily(name="a"), Daily(name="b"), run_store=run_store)
    assert story.checks("daily#a")[0].causes is Cause.INITIAL
    assert story.checks("daily#b")[0].causes is Cause.INTENT


async def test_noop_intends_nothing(autojump_clock):
    run_store = Recall()
    a, b = scripted("a"), scripted("b", drifted=False, subscribe=["scripted#a"])
    await converge_once(a, b, options=RunOptions(noop=True), run_store=run_store)
    assert run_store.told == []


async def test_what_comes_back_while_its_last_check_still_runs_is_checked_after_that(autojump_clock):
    old = scripted("a", takes=5)
    async with running(old, scripted("b")) as story:
        await old.script.begun()
        story.engine.reload(graph_of([scripted("b")]))
        back = scripted("a")
        story.engine.reload(graph_of([back, scripted("b")]))
        await trio.sleep(1)
        assert not back.script.checks, "one at a time"
        await story.converged()
    assert back.script.applies


async def test_what_a_running_check_holds_is_given_back_when_its_limits_change(autojump_clock):
    old = scripted("a", takes=5, meta={"semaphores": ["disk"]})
    async with running(old) as story:
        await old.script.begun()
        new, other = scripted("a", meta={"semaphores": ["net"]}), scripted("b", meta={"semaphores": ["disk"]})
        story.engine.reload(graph_of([new, other]))
        await story.converged()
    assert other.script.checks[0] >= 5
    assert new.script.applies


def alive(kind):
    gc.unfreeze()  # a run exempts what it holds
    gc.collect()
    return sum(type(each) is kind for each in gc.get_objects())


@pytest.mark.parametrize("remembering", [False, True])
async def test_a_run_does_not_grow_with_what_left_it(autojump_clock, tmp_path, remembering):
    journal = Journal.open(str(tmp_path), "/site.yaml", lambda _: None) if remembering else None
    before = alive(Scripted)  # those of other tests
    stays = scripted("stays")
    async with running(stays, run_store=journal) as story:
        for generation in range(20):
            await story.converged()
            story.events.clear()
            names = [f"{generation}-{each}" for each in range(50)]
            new = [
                scripted(name, drifted=generation % 2, failures=each % 3) for each, name in enumerate(names)
            ]
            story.engine.reload(graph_of([stays, *new]))
            await story.converged()
            assert all(len(each.script.checks) > 0 for each in new)
        vertex_table = story.engine.vertex_table
        assert (
            len(vertex_table.refs)
            == len(vertex_table.resources)
            == story.engine.scheduler.topology.size
            <= 101
        )
        del new
        assert alive(Scripted) <= before + 101
        with pytest.raises(KeyError):
            vertex_table.number("scripted#3-7")
    if journal:
        known = journal._digests
        journal.close()
        assert len(known) <= 101


async def test_the_collector_is_spared_what_a_reload_has_made(autojump_clock):
    async with running(scripted("a")) as story:
        await story.converged()
        story.engine.reload(graph_of(many(1000)))
        assert len(gc.get_objects()) < 1000


async def test_what_leaves_the_graph_is_freed_without_the_collector(autojump_clock):
    stays = scripted("stays")
    async with running(stays) as story:
        await story.converged()
        left = reload_and_refer(story, stays, scripted("leaves"))
        await story.converged(2)
        gc.disable()
        try:
            story.engine.reload(graph_of([stays]))
            story.engine.reload(graph_of([stays, scripted("takes its number")]))
            story.events.clear()
            await story.rest()
            assert left() is None
        finally:
            gc.enable()


def reload_and_refer(story, stays, leaves):
    story.engine.reload(graph_of([stays, leaves]))
    return weakref.ref(leaves)


class Loop:
    """Refers to itself: nothing but the collector frees it."""

    def __init__(self):
        self.itself = self


def test_garbage_that_was_exempt_from_the_collector_goes_in_the_end():
    long_lived, loop = LongLived(), Loop()
    left = weakref.ref(loop)
    long_lived.exempt()
    del loop
    gc.collect()
    assert left() is not None
    for _ in range(256):
        long_lived.exempt()
    assert left() is None


async def test_no_one_gets_the_number_of_what_left_and_still_runs(autojump_clock):
    slow = scripted("slow", takes=10)
    async with running(slow) as story:
        await slow.script.begun()
        others = [scripted(f"other-{generation}", takes=1) for generation in range(3)]
        for other in others:
            story.engine.reload(graph_of([other]))
            await other.script.begun()
        back = scripted("slow", alias="back")
        story.engine.reload(graph_of([back]))
        await story.until(lambda: story.result("scripted#slow"))
        await story.rest()
    assert slow.script.checks[0] + 10 == back.script.checks[0], "one after the other"
    assert [len(each.script.checks) for each in (slow, *others, back)] == [1, 1, 1, 1, 1]
