"""Scenarios that a peer engine should pass, by their number in the specification (section 10.3 of mgmt-facts).

15, 16 and 21 to 23 need the journal and live reload; 25 is in ``tests/cli``.
"""

from __future__ import annotations

import gc
import itertools
import os
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
import trio
import trio.testing
from descriptors import open_descriptors
from engine_worlds import managed

from reactor.engine.events import Checked, Converged, Ended, Result, Skipped, Unblocked, WatcherChanged
from reactor.engine.options import RunOptions
from reactor.resource.plan import ResourceError
from reactor.resource.relations import Relations
from reactor.resource.watch import Watch, Watcher
from reactor.resources.exec import Exec
from reactor.resources.scaffold import Scaffold
from reactor.testing.scripted import Scripted, scripted
from reactor.testing.story import converge_once, running

# ---- 1: critical path ----


def fan(**_):
    before = [scripted(f"before{i}", takes=1) for i in range(3)]
    join = scripted("join", takes=1, require=[r.ref for r in before])
    after = [scripted(f"after{i}", takes=1, require=["scripted#join"]) for i in range(3)]
    return [*before, join, *after, scripted("alone", takes=1.5)]


async def test_scenario_01_independent_work_takes_the_critical_path(autojump_clock):
    ended, _ = await converge_once(*fan())
    assert ended.duration == pytest.approx(3, rel=0.05)


async def test_scenario_01_one_job_takes_the_sum(autojump_clock):
    ended, _ = await converge_once(*fan(), options=RunOptions(jobs=1))
    assert ended.duration == pytest.approx(8.5, rel=0.05)


# ---- 2-5: order, arming, events during checks ----


class SlowWatch(Watch):
    """What only `SlowWatcher` listens to."""


class SlowWatcher(Watcher):
    """Takes a second to arm. The test reaches the living instance through ``latest``."""

    serves = SlowWatch
    latest = None
    started = 0

    def __init__(self, sink):
        super().__init__(sink)
        self.died = trio.Event()
        self.vertices = []
        type(self).latest = self
        type(self).started += 1

    async def arm(self, watch, vertex):
        await trio.sleep(1)
        self.vertices.append(vertex)

    def disarm(self, watch, vertex):
        self.vertices.remove(vertex)

    async def run(self):
        await self.died.wait()
        raise OSError("the bus is gone")

    def close(self):
        pass


@pytest.fixture
def slow_watcher():
    SlowWatcher.latest = None
    SlowWatcher.started = 0
    return {SlowWatch: SlowWatcher}


async def test_scenario_02_a_chain_starts_in_order_whoever_is_ready_first(autojump_clock, slow_watcher):
    a, b, c = (
        scripted("a", takes=2).watch_for(SlowWatch()),
        scripted("b", takes=2, require=["scripted#a"]),
        scripted("c", require=["scripted#b"]),
    )
    async with running(c, b, a, watchers=slow_watcher) as story:
        for resource in (a, b, c):
            story.drift(resource.ref)
        await story.converged()
    assert [event.ref for event in story.all(Checked)] == ["scripted#a", "scripted#b", "scripted#c"]
    assert (a.script.checks, b.script.checks, c.script.checks) == ([1], [3], [5])


async def test_scenario_03_no_check_before_its_watcher_is_armed(autojump_clock, slow_watcher):
    a = scripted("a")
    b = scripted("b", require=["scripted#a"]).watch_for(SlowWatch())
    start = trio.current_time()
    async with running(a, b, watchers=slow_watcher) as story:
        await story.until(lambda: story.checks("scripted#a"))
        assert not b.script.checks
        story.drift("scripted#b")
        await story.converged()
        assert b.script.checks[0] >= start + 1


async def test_scenario_03_a_change_between_arming_and_the_first_check_is_not_lost(
    autojump_clock, slow_watcher
):
    a = scripted("a", drifted=False, takes=3)
    b = scripted("b", drifted=False, require=["scripted#a"]).watch_for(SlowWatch())
    async with running(a, b, watchers=slow_watcher) as story:
        await trio.sleep(2)
        assert SlowWatcher.latest.vertices == [story.engine.vertex_table.number("scripted#b")]
        assert not b.script.checks
        b.script.drifted = True
        SlowWatcher.latest.sink.mark(*SlowWatcher.latest.vertices)
        await story.converged()
    assert len(b.script.checks) == len(b.script.applies) == 1


async def test_scenario_04_an_event_during_a_check_leads_to_exactly_one_more(autojump_clock):
    a = scripted("a", drifted=False, takes=1)
    async with running(a) as story:
        await a.script.begun()
        for _ in range(5):
            story.drift("scripted#a")
        await story.converged()
    assert len(a.script.checks) == 2


async def test_scenario_05_a_dying_watcher_voids_the_check_and_a_fresh_one_follows_its_restart(
    autojump_clock, slow_watcher
):
    a = scripted("a", drifted=False, takes=5, meta={"retry": 0}).watch_for(SlowWatch())
    async with running(a, watchers=slow_watcher) as story:
        await a.script.begun()
        died = trio.current_time()
        SlowWatcher.latest.died.set()
        await story.converged()
    assert len(a.script.checks) == 2
    assert a.script.checks[1] == pytest.approx(died + 1), (
        "after the new watcher is armed, which takes a second"
    )
    assert [event.result for event in story.checks("scripted#a")] == [Result.OK], (
        "the void check is no failure"
    )
    assert any("the bus is gone" in event.reason for event in story.all(WatcherChanged))


async def test_a_run_has_not_settled_while_watches_are_armed(autojump_clock, slow_watcher):
    a, b = scripted("a"), scripted("b").watch_for(SlowWatch())
    async with running(a, b, watchers=slow_watcher) as story:
        await story.until(lambda: story.checks("scripted#a"))
        await trio.testing.wait_all_tasks_blocked()
        assert not story.engine.settled.is_set()
        await story.converged()
        await story.engine.settled.wait()


async def test_a_watcher_that_can_not_start_leaves_its_resources_checked(autojump_clock):
    class Dead(SlowWatcher):
        async def arm(self, watch, vertex):
            raise OSError("no such bus")

    a = scripted("a").watch_for(SlowWatch())
    async with running(a, watchers={SlowWatch: Dead}) as story:
        await story.converged()
        await story.until(lambda: Dead.started > 5)
    assert a.script.applies


async def test_scenario_06_a_storm_of_events_is_a_handful_of_checks(autojump_clock):
    a = scripted("a", drifted=False, takes=0.005)
    async with running(a) as story:
        await story.converged()
        before = len(a.script.checks)
        for _ in range(200):
            story.drift("scripted#a")
            await trio.sleep(0.00001)
        a.script.drifted = True
        story.drift("scripted#a")
        await story.until(lambda: a.script.applies)
        await story.rest()
    assert len(a.script.checks) - before <= 4
    assert not a.script.drifted


# ---- 7-11: files and trees, on the real kernel ----


def overwrite(path):
    path.write_text("bad")


def truncate(path):
    path.write_text("")


def delete(path):
    path.unlink()


def move_away(path):
    path.rename(path.with_name("away"))


def rename_over_twice(path):
    for text in ("bad", "worse"):
        other = path.with_name("other")
        other.write_text(text)
        other.rename(path)


def change_mode(path):
    path.chmod(0o600)


def change_owner(path):
    os.chown(path, os.getuid(), 12345)


def is_good(path):
    """As it was written. The end of a check does not say that: it may be the one of the echo of that write."""
    if not path.exists() or path.read_text() != "good\n":
        return False
    status = path.stat()
    return (status.st_mode & 0o7777, status.st_uid, status.st_gid) == (0o644, os.getuid(), os.getgid())


@pytest.mark.parametrize(
    "drift", [overwrite, truncate, delete, move_away, rename_over_twice, change_mode, change_owner]
)
async def test_scenario_07_drift_in_place_is_repaired(tmp_path, drift):
    path = tmp_path / "file"
    async with running(managed(path)) as story:
        await story.converged()
        drift(path)
        await story.until(lambda: is_good(path))


async def test_scenario_07_a_reader_never_sees_a_partial_file(tmp_path):
    path = tmp_path / "file"
    content = "good\n" * 20000
    seen = set()
    async with running(managed(path, content)) as story:
        await story.converged()
        for round_ in range(20):
            other = tmp_path / "other"
            other.write_text("bad")
            other.rename(path)
            while (found := path.read_text()) != content:
                seen.add(found)
                await trio.lowlevel.checkpoint()
            await story.until(lambda n=round_: len(story.all(Converged)) > n + 1)
    assert seen <= {"bad"}


@pytest.mark.parametrize("depth", [1, 2])
async def test_scenario_08_an_ancestor_renamed_away_with_an_impostor_in_place_is_repaired(tmp_path, depth):
    path = tmp_path / "top" / "middle" / "file"
    path.parent.mkdir(parents=True)
    ancestor = path.parents[depth - 1]
    async with running(managed(path)) as story:
        await story.converged()
        ancestor.rename(tmp_path / "moved")
        path.parent.mkdir(parents=True)
        path.write_text("impostor")
        await story.until(lambda: path.exists() and path.read_text() == "good\n")
        await story.until(lambda: story.engine.scheduler.converged)


NO_RETRIES = {"retry": 0}
"""So that nothing but an event can heal."""


async def test_scenario_09_a_late_parent_is_noticed(tmp_path):
    path = tmp_path / "late" / "file"
    async with running(managed(path, meta=NO_RETRIES)) as story:
        await story.until(lambda: story.result(f"file#{path}") is Result.FAILED)
        path.parent.mkdir()
        await story.converged()
    assert path.read_text() == "good\n"


async def test_scenario_09_a_vanished_and_recreated_parent_is_healed(tmp_path):
    path = tmp_path / "there" / "file"
    path.parent.mkdir()
    async with running(managed(path, meta=NO_RETRIES)) as story:
        await story.converged()
        shutil.rmtree(path.parent)
        await story.until(lambda: story.result(f"file#{path}") is Result.FAILED)
        path.parent.mkdir()
        await story.converged(times=2)
    assert path.read_text() == "good\n"


async def test_scenario_09_a_passing_obstacle_is_outlived(tmp_path):
    path = tmp_path / "file"
    async with running(managed(path, meta=NO_RETRIES)) as story:
        await story.converged()
        path.unlink()
        path.mkdir()
        await story.until(lambda: story.result(f"file#{path}") is Result.FAILED)
        path.rmdir()
        await story.until(lambda: path.is_file() and story.engine.scheduler.converged)
    assert path.read_text() == "good\n"


def grow(root, files):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def texts_in(root):
    found = {}
    for path in sorted(root.rglob("*")):
        with suppress(FileNotFoundError):  # the run has just renamed it, in a thread
            if path.is_file():
                found[str(path.relative_to(root))] = path.read_text()
    return found


DEPTHS = ("f", "a/f", "a/b/c/f", "new/deep/f")
"""The last one is in directories that are made once all is converged."""


@pytest.mark.parametrize("name", DEPTHS)
async def test_scenario_10_a_tree_is_kept_at_any_depth_and_follows_its_source(tmp_path, name):
    source, target = tmp_path / "source", tmp_path / "target"
    grow(source, dict.fromkeys(DEPTHS[:3], "good"))
    resource = Scaffold(name=str(target), ensure="present", source=str(source), purge=True)
    async with running(resource) as story:

        async def comes_true(desired):
            await story.until(lambda: target.is_dir() and texts_in(target) == desired)

        desired = texts_in(source)
        await comes_true(desired)
        grow(source, {name: "good"})
        await comes_true(desired := {**desired, name: "good"})
        (target / name).write_text("edited")
        await comes_true(desired)
        (target / name).unlink()
        await comes_true(desired)
        grow(target, {f"{name}oreign": "not ours"})
        await comes_true(desired)
        (source / name).write_text("other")
        await comes_true({**desired, name: "other"})
        (source / name).unlink()
        await comes_true({other: text for other, text in desired.items() if other != name})
        shutil.rmtree(target)
        await comes_true(texts_in(source))
        assert not [check for check in story.all(Checked) if check.result is Result.FAILED]


async def test_scenario_11_five_thousand_files_are_watched_under_default_limits(tmp_path):
    paths = [tmp_path / f"d{i % 100}" / f"f{i}" for i in range(5000)]
    for directory in {path.parent for path in paths}:
        directory.mkdir()
    before = inotifies()
    async with running(*(managed(path) for path in paths)) as story:
        await story.converged()
        (ours,) = inotifies() - before
        watches = Path(f"/proc/self/fdinfo/{ours}").read_text().count("inotify wd:")
        assert watches < 200, "one for each directory, not for each file"
        for path in paths:
            path.chmod(0o600)
        for path in paths:
            await story.until(lambda path=path: path.stat().st_mode & 0o777 == 0o644)


def inotifies():
    gc.collect()  # what earlier tests have left
    return {number for number, target in open_descriptors() if "inotify" in target}


# ---- 12-14: refresh ----


async def test_scenario_12_no_change_means_no_refresh(autojump_clock):
    a, b = scripted("a", drifted=False), scripted("b", drifted=False, subscribe=["scripted#a"])
    async with running(a, b) as story:
        await story.converged()
        story.drift("scripted#a")
        await story.converged(times=2)
    assert not b.script.refreshes


async def test_scenario_12_a_change_is_one_refresh_after_all_other_requirements(autojump_clock):
    a, slow = scripted("a"), scripted("slow", takes=3)
    b = scripted("b", drifted=False, subscribe=["scripted#a"], require=["scripted#slow"])
    async with running(a, slow, b) as story:
        await story.converged()
    assert len(b.script.refreshes) == 1
    assert b.script.refreshes[0] >= slow.script.checks[0] + 3


async def test_scenario_12_a_chain_forwards_one_refresh_a_hop(autojump_clock):
    names = "abcd"
    chain = [scripted("a", drifted=False)]
    chain += [
        scripted(name, drifted=False, subscribe=[f"scripted#{up}"]) for up, name in itertools.pairwise(names)
    ]
    async with running(*chain) as story:
        await story.converged()
        chain[0].script.drifted = True
        story.drift("scripted#a")
        await story.converged(times=2)
    assert [len(resource.script.refreshes) for resource in chain] == [0, 1, 1, 1]


async def test_scenario_13_a_change_during_a_refresh_is_refreshed_again(autojump_clock):
    a, b = scripted("a"), scripted("b", drifted=False, takes=1, subscribe=["scripted#a"])
    async with running(a, b) as story:
        await b.script.begun()
        a.script.drifted = True
        story.drift("scripted#a")
        await story.converged()
    assert len(a.script.applies) == 2
    assert len(b.script.refreshes) == 2


async def test_scenario_14_a_failing_refresh_stays_pending_and_holds_dependents(autojump_clock):
    a = scripted("a")
    b = scripted("b", drifted=False, failures=2, subscribe=["scripted#a"])
    c = scripted("c", require=["scripted#b"])
    async with running(a, b, c) as story:
        await story.converged()
    assert [event.result for event in story.checks("scripted#b")] == [
        Result.FAILED,
        Result.FAILED,
        Result.CHANGED,
    ]
    assert len(b.script.refreshes) == 1
    assert c.script.checks[0] >= b.script.refreshes[0]


# ---- 17-20: failure, one shot, noop ----


async def test_scenario_17_a_failure_blocks_what_needs_it_and_nothing_else(autojump_clock):
    a = scripted("a", failures=float("inf"))
    b, c = scripted("b", require=["scripted#a"]), scripted("c", require=["scripted#b"])
    later, alone = scripted("later", after=["scripted#a"]), scripted("alone")
    ended, story = await converge_once(a, b, c, later, alone)
    assert ended.counts | {"failed": 1, "blocked": 2, "changed": 2} == ended.counts
    assert {event.ref: event.culprits for event in story.events if hasattr(event, "culprits")} == {
        "scripted#b": ("scripted#a",),
        "scripted#c": ("scripted#a",),
    }
    assert not b.script.checks
    assert not c.script.checks


async def test_scenario_17_dependents_go_on_by_themselves_when_the_culprit_recovers(autojump_clock):
    a = scripted("a", failures=3)
    b, c = scripted("b", require=["scripted#a"]), scripted("c", require=["scripted#b"])
    async with running(a, b, c) as story:
        await story.converged()
    assert b.script.applies
    assert c.script.applies
    assert {event.ref for event in story.all(Unblocked)} == {"scripted#b", "scripted#c"}


async def test_scenario_17_they_do_so_too_when_its_retries_are_used_up(autojump_clock):
    a = scripted("a", failures=2, meta={"retry": 1})
    b = scripted("b", require=["scripted#a"])
    async with running(a, b) as story:
        await a.script.begun(2)
        await story.rest()
        await trio.sleep(1000)
        assert story.result("scripted#b") is Result.BLOCKED
        story.drift("scripted#a")
        await story.converged()
    assert (len(a.script.checks), len(b.script.applies)) == (3, 1)


async def test_scenario_18_drift_below_a_failure_is_reported_and_made_on_recovery(autojump_clock):
    a, b = scripted("a", drifted=False), scripted("b", require=["scripted#a"])
    async with running(a, b) as story:
        await story.converged()
        a.script.failures = 4
        story.drift("scripted#a")
        await story.until(lambda: story.result("scripted#b") is Result.BLOCKED)
        b.script.drifted = True
        story.drift("scripted#b")
        await story.rest()
        assert len(b.script.applies) == 1, "not while what it needs has failed"
        await story.converged(times=2)
    assert len(b.script.applies) == 2
    assert a.script.failures == 0


async def test_scenario_19_one_shot_ends_at_once(autojump_clock):
    ended, _ = await converge_once(scripted("a", takes=2), scripted("b", failures=float("inf")))
    assert ended.duration == pytest.approx(2)


async def test_scenario_19_an_empty_manifest_ends_well():
    ended, _ = await converge_once()
    assert isinstance(ended, Ended)
    assert not any(ended.counts.values())


async def test_scenario_20_noop_ends_changes_nothing_and_says_what_would_happen(autojump_clock):
    a, b = scripted("a"), scripted("b", drifted=False, subscribe=["scripted#a"])
    ended, story = await converge_once(a, b, options=RunOptions(noop=True))
    assert ended.counts["would_change"] == 2
    assert ended.changes == 0
    assert not a.script.applies
    assert not b.script.refreshes
    assert [event.actions for event in story.all(Checked)] == [
        ("Would have repaired",),
        ("Would have refreshed",),
    ]


async def test_scenario_20_a_failure_below_what_was_not_applied_is_said_to_be_unknown(autojump_clock):
    a, b = scripted("a"), scripted("b", failures=1, require=["scripted#a"])
    ended, story = await converge_once(a, b, options=RunOptions(noop=True))
    assert ended.counts["failed"] == 0
    assert story.checks("scripted#b")[0].actions == (
        "Can't tell before scripted#a is applied (the script says so)",
    )


async def test_scenario_20_what_is_unknown_is_said_in_one_line(autojump_clock):
    class Talkative(Scripted, kind="talkative"):
        async def observe(self):
            raise ResourceError("it failed\n  in many words")

    b = Talkative(name="b", require=["scripted#a"])
    _, story = await converge_once(scripted("a"), b, options=RunOptions(noop=True))
    assert story.checks("talkative#b")[0].actions == ("Can't tell before scripted#a is applied (it failed)",)


async def test_scenario_20_so_is_one_that_needs_it_through_others(autojump_clock):
    a, b = scripted("a"), scripted("b", drifted=False, require=["scripted#a"])
    c = scripted("c", failures=1, require=["scripted#b"])
    _, story = await converge_once(a, b, c, options=RunOptions(noop=True))
    assert story.checks("scripted#c")[0].actions == (
        "Can't tell before scripted#a is applied (the script says so)",
    )


@pytest.mark.parametrize(("missing", "result"), [("user#ada", Result.WOULD_CHANGE), (None, Result.FAILED)])
async def test_scenario_20_so_is_what_may_come_by_anything_that_goes_before(missing, result, autojump_clock):
    """As in manifests whose resources go in order: one brings what the third needs, and nobody has said so."""

    class Lacking(Scripted, kind="lacking"):
        async def observe(self):
            raise ResourceError("there is no account", missing=missing)

    a, b = scripted("a"), scripted("b", drifted=False, after=["scripted#a"])
    _, story = await converge_once(
        a, b, Lacking(name="c", after=["scripted#b"]), options=RunOptions(noop=True)
    )
    assert story.result("lacking#c") is result


@pytest.mark.parametrize("is_nearer", [True, False])
async def test_scenario_20_of_several_that_go_before_the_one_that_provides_it_is_named(
    is_nearer, tmp_path, autojump_clock
):
    class Lacking(Scripted, kind="lacking"):
        async def observe(self):
            raise ResourceError("there is no file", missing=f"{tmp_path}/b")

    ref = f"file#{tmp_path}/b"
    provider = managed(tmp_path / "b", after=["scripted#a"] if is_nearer else [])
    other = scripted("a", after=[] if is_nearer else [ref])
    lacking = Lacking(name="c", after=[ref if is_nearer else "scripted#a"])
    _, story = await converge_once(provider, other, lacking, options=RunOptions(noop=True))
    assert story.checks("lacking#c")[0].actions[0].startswith(f"Can't tell before {ref} is applied")


@pytest.mark.parametrize("missing", [None, "service#c"])
async def test_scenario_20_of_several_that_go_before_the_one_it_depends_on_is_named(
    missing, tmp_path, autojump_clock
):
    class Lacking(Scripted, kind="lacking"):
        def relations(self):
            return Relations(depends_on=(f"{tmp_path}/b.d/",))

        async def observe(self):
            raise ResourceError("there is no service", missing=missing)

    (tmp_path / "b.d").mkdir()
    brings = managed(tmp_path / "b.d" / "x")
    lacking = Lacking(name="c", require=["scripted#a", brings.ref])
    _, story = await converge_once(scripted("a"), brings, lacking, options=RunOptions(noop=True))
    assert story.checks("lacking#c")[0].actions[0].startswith(f"Can't tell before {brings.ref} is applied")


@pytest.mark.parametrize(
    ("meta", "result"),
    [({}, Result.FAILED), ({"mode": "warn"}, Result.WOULD_CHANGE)],
)
async def test_scenario_20_what_is_known_to_fail_is_said_unless_it_would_never_be_tried(
    meta, result, autojump_clock
):
    class Doomed(Scripted, kind="doomed"):
        async def preflight(self, state):
            raise ResourceError("it is known")

    doomed, well = Doomed(name="a", meta=meta), Doomed(name="b")
    well.script.drifted = False
    _, story = await converge_once(doomed, well, options=RunOptions(noop=True))
    assert story.result("doomed#a") is result
    assert story.result("doomed#b") is Result.OK, "it is only asked where something would be changed"


async def test_scenario_20_a_noop_change_refreshes_only_what_is_in_noop_too(autojump_clock):
    a = scripted("a", meta={"noop": True})
    real = scripted("real", drifted=False, subscribe=["scripted#a"])
    ghost = scripted("ghost", drifted=False, subscribe=["scripted#a"], meta={"noop": True})
    _, story = await converge_once(a, real, ghost)
    assert story.result("scripted#real") is Result.OK
    assert story.result("scripted#ghost") is Result.WOULD_CHANGE
    assert not real.script.refreshes


# ---- 24: retry, delay, limit ----


async def test_scenario_24_retries_are_counted_and_end(autojump_clock):
    a = scripted("a", failures=float("inf"), meta={"retry": 2, "delay": "100ms"})
    ended, story = await converge_once(a)
    assert len(a.script.checks) == 3
    assert ended.counts["failed"] == 1
    waits = [event.retry_in for event in story.checks("scripted#a")]
    assert waits[:2] == [pytest.approx(0.1, rel=0.11), pytest.approx(0.2, rel=0.11)]
    assert waits[2] is None


async def test_scenario_24_success_gives_the_retries_back(autojump_clock):
    a = scripted("a", failures=2, drifted=False, meta={"retry": 2, "delay": "100ms"})
    async with running(a) as story:
        await story.converged()
        a.script.failures = 2
        story.drift("scripted#a")
        await story.converged(times=2)
    assert len(a.script.checks) == 6


@pytest.mark.parametrize("delay", ["1s", "1ms"])
async def test_scenario_24_endless_retries_can_be_stopped(autojump_clock, delay):
    a = scripted("a", failures=float("inf"), meta={"delay": delay})
    async with running(a) as story:
        await a.script.begun(4)
        story.engine.stop()
        await story.until(lambda: story.all(Ended))


async def test_scenario_24_a_rate_limit_holds_and_leaves_no_pending_refreshes(autojump_clock):
    a = scripted("a", drifted=False, meta={"limit": "5/s"})
    async with running(a) as story:
        await story.converged()
        start = trio.current_time()
        for _ in range(50):
            story.drift("scripted#a")
            await trio.sleep(0.02)
        await story.rest()
        in_burst = [at for at in a.script.checks if at >= start]
        assert 4 <= len(in_burst) <= 7
        await trio.sleep(2)
        single = trio.current_time()
        story.drift("scripted#a")
        await story.rest()
    assert a.script.checks[-1] == pytest.approx(single, abs=0.001), "a later single event is never punished"


# ---- 25: stop ----


async def test_scenario_25_stop_lets_running_checks_end_and_starts_no_successor(autojump_clock):
    a, b = scripted("a", takes=10), scripted("b", require=["scripted#a"])
    async with running(a, b) as story:
        await a.script.begun()
        story.engine.stop()
        await story.until(lambda: story.all(Ended))
    assert a.script.applies
    assert not b.script.checks
    assert [event.ref for event in story.all(Skipped)] == ["scripted#b"]


async def test_scenario_25_cancel_ends_running_checks(autojump_clock):
    a = scripted("a", takes=1000)
    async with running(a) as story:
        await a.script.begun()
        begun = trio.current_time()
        story.engine.cancel()
        await story.until(lambda: story.all(Ended))
        assert trio.current_time() - begun < 1


async def test_what_is_marked_after_the_end_is_not_checked(autojump_clock):
    """Services, such as `reactor pause --undo`, may still mark a vertex while they end."""
    async with running(scripted("a", drifted=False)) as story:
        await story.converged()
    story.drift("scripted#a")
    assert len(story.checks("scripted#a")) == 1


async def test_a_wall_clock_that_steps_back_disturbs_nothing(autojump_clock, monkeypatch):
    backwards = iter(range(2_000_000_000, 0, -3))
    monkeypatch.setattr("time.time", lambda: float(next(backwards)))
    a, b = scripted("a"), scripted("b", require=["scripted#a"])
    async with running(a, b) as story:
        await story.converged()
        b.script.drifted = True
        story.drift("scripted#b")
        await story.converged(times=2)
    assert len(b.script.applies) == 2


# ---- files beside commands ----


async def test_files_do_not_wait_for_the_jobs_that_commands_have_taken(tmp_path):
    """The commands end when the file is there."""
    path = tmp_path / "f"
    commands = [Exec(name=f"sh -c 'until test -e {path}; do sleep 0.02; done; true {n}'") for n in range(5)]
    file = managed(path, content="x")
    with trio.fail_after(30):
        ended, _ = await converge_once(*commands, file, options=RunOptions(jobs=2))
    assert ended.counts["changed"] == 6
