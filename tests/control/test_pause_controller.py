"""Pauses on a running engine, on a clock that jumps."""

from contextlib import asynccontextmanager

import pytest
import trio
from control_worlds import CONTINUOUS

from reactor.atomic_write import replace_file
from reactor.control.names import UnknownNameError
from reactor.control.pause_controller import PauseController
from reactor.control.pause_file import PauseFile
from reactor.engine.events import Paused, Resumed
from reactor.testing.scripted import scripted
from reactor.testing.story import Story, graph_of

EPOCH = 1_000_000.0


was_set = [0.0]
"""The seconds by which the clock of the host was set."""


def wall():
    return EPOCH + was_set[0] + trio.current_time()


@pytest.fixture(autouse=True)
def correct_clock():
    was_set[0] = 0.0


class PausedWorld:
    """A story with a pauser."""

    def __init__(self, directory, resources):
        self.story = Story(graph_of(resources), CONTINUOUS)
        self.pause_controller = PauseController(
            self.story.engine, PauseFile(str(directory), print), wall, trio.current_time
        )

    def heard(self):
        kinds = (Paused, Resumed)
        return [(type(e).__name__, e.ref) for e in self.story.events if isinstance(e, kinds)]


@asynccontextmanager
async def pausing(directory, *resources):
    world = PausedWorld(directory, resources)
    world.pause_controller.load()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.pause_controller.run)
        await nursery.start(world.story.engine.run)
        yield world
        world.story.engine.cancel()
        nursery.cancel_scope.cancel()


async def test_a_paused_resource_has_its_check_pending_and_is_checked_at_resume(tmp_path, autojump_clock):
    a, b = scripted("a"), scripted("b")
    async with pausing(tmp_path, a, b) as world:
        await world.story.converged()
        assert world.pause_controller.pause(["scripted#a"], 3600, "upgrade") == ["scripted#a"]
        a.script.drifted = b.script.drifted = True
        world.story.drift("scripted#a")
        world.story.drift("scripted#b")
        await trio.sleep(60)
        assert (a.script.drifted, b.script.drifted) == (True, False)
        assert world.story.engine.scheduler.in_motion(0)
        assert world.pause_controller.resume(["*"]) == ["scripted#a"]
        await world.story.converged(times=2)
    assert not a.script.drifted
    assert world.heard() == [("Paused", "scripted#a"), ("Resumed", "scripted#a")]


async def test_a_pause_ends_by_itself_at_its_time(tmp_path, autojump_clock):
    a = scripted("a")
    async with pausing(tmp_path, a) as world:
        await world.story.converged()
        world.pause_controller.pause(["*"], 7200, "upgrade")
        (paused,) = world.story.all(Paused)
        assert paused.until == pytest.approx(wall() + 7200)
        assert paused.reason == "upgrade"
        a.script.drifted = True
        world.story.drift("scripted#a")
        before = trio.current_time()
        with trio.fail_after(8000):
            await a.script.begun(2)
        assert trio.current_time() - before == pytest.approx(7200)
        await world.story.converged(times=2)
    assert not a.script.drifted


async def test_a_running_check_goes_on_when_its_resource_is_paused(tmp_path, autojump_clock):
    a = scripted("a", takes=10)
    async with pausing(tmp_path, a) as world:
        await a.script.begun()
        world.pause_controller.pause(["*"], 100, "x")
        await world.story.converged()
        assert trio.current_time() - a.script.checks[0] == pytest.approx(10)
    assert len(a.script.checks) == 1


async def test_what_depends_on_a_paused_resource_that_has_a_pending_check_waits(tmp_path, autojump_clock):
    a, b = scripted("a"), scripted("b", require=["scripted#a"])
    async with pausing(tmp_path, a, b) as world:
        await world.story.converged()
        world.pause_controller.pause(["scripted#a"], 100, "x")
        world.story.drift("scripted#a")
        world.story.drift("scripted#b")
        await trio.sleep(80)
        assert (len(a.script.checks), len(b.script.checks)) == (1, 1)
        await world.story.converged(times=2)
    assert a.script.checks[1] <= b.script.checks[1]


async def test_a_pause_of_an_earlier_run_is_honoured_from_the_start(tmp_path, autojump_clock):
    PauseFile(str(tmp_path), print).add(["scripted#a"], wall(), wall() + 100, "upgrade")
    a, b = scripted("a"), scripted("b")
    async with pausing(tmp_path, a, b) as world:
        await b.script.begun()
        await trio.sleep(90)
        assert a.script.checks == []
        await a.script.begun()
        assert a.script.checks[0] == pytest.approx(100)
        await world.story.converged()
    assert not a.script.drifted


async def test_a_pause_within_a_pause_ends_into_the_wider_one(tmp_path, autojump_clock):
    a = scripted("a")
    async with pausing(tmp_path, a) as world:
        await world.story.converged()
        world.pause_controller.pause(["*"], 100, "wide")
        world.pause_controller.pause(["scripted#a"], 10, "narrow")
        world.story.drift("scripted#a")
        await a.script.begun(2)
        assert a.script.checks[1] - a.script.checks[0] == pytest.approx(100)
        assert [event.reason for event in world.story.all(Paused)] == ["wide", "narrow", "wide"]
        assert len(world.story.all(Resumed)) == 1


async def test_a_pause_of_many_is_one_write_and_compares_no_names(tmp_path, autojump_clock, monkeypatch):
    comparisons, writes = [], []
    monkeypatch.setattr("reactor.control.names.covers", lambda *given: comparisons.append(given))
    monkeypatch.setattr(
        "reactor.control.pause_file.replace_file", lambda *given: writes.append(given) or replace_file(*given)
    )
    every = [f"scripted#r{number}" for number in range(50)]
    async with pausing(tmp_path, *(scripted(f"r{number}") for number in range(50))) as world:
        await world.story.converged()
        assert sorted(world.pause_controller.pause(every[:40], 100, "x")) == sorted(every[:40])
        assert world.pause_controller.resume([every[3], every[5]]) == [every[3], every[5]]
        assert len(world.pause_controller.paused()) == 38
        with pytest.raises(UnknownNameError):
            world.pause_controller.pause([every[45], "scripted#nope"], 100, "x")
    assert len(writes) == 2
    assert not comparisons


async def test_one_is_resumed_out_of_a_pause_of_all(tmp_path, autojump_clock):
    a, b = scripted("a"), scripted("b")
    async with pausing(tmp_path, a, b) as world:
        await world.story.converged()
        world.pause_controller.pause(["*"], 100, "x")
        assert world.pause_controller.resume(["scripted#b"]) == ["scripted#b"]
        world.story.drift("scripted#a")
        world.story.drift("scripted#b")
        await b.script.begun(2)
        await trio.sleep(50)
        assert len(a.script.checks) == 1


async def test_an_unknown_name_changes_nothing(tmp_path, autojump_clock):
    async with pausing(tmp_path, scripted("a")) as world:
        with pytest.raises(UnknownNameError):
            world.pause_controller.pause(["scripted#b"], 5, "x")
        assert list(tmp_path.iterdir()) == []
        assert world.heard() == []


async def test_what_a_reload_brings_is_paused_before_its_first_check(tmp_path, autojump_clock):
    a, b = scripted("a"), scripted("b")
    async with pausing(tmp_path, a) as world:
        await world.story.converged()
        world.pause_controller.pause(["*"], 100, "x")
        world.story.engine.reload(graph_of([a, b]))
        world.pause_controller.apply()
        await trio.sleep(50)
        assert b.script.checks == []
        await b.script.begun()
        assert b.script.checks[0] == pytest.approx(100, rel=0.05)


async def test_idle_pauses_cost_no_wakeups(tmp_path, autojump_clock):
    class Count(trio.abc.Instrument):
        steps = 0

        def task_scheduled(self, task):
            self.steps += 1

    async with pausing(tmp_path, scripted("a")) as world:
        await world.story.converged()
        world.pause_controller.pause(["*"], 1e6, "x")
        count = Count()
        trio.lowlevel.add_instrument(count)
        await trio.sleep(600)
        trio.lowlevel.remove_instrument(count)
    assert count.steps < 30


async def test_what_depends_on_a_paused_resource_that_has_nothing_pending_goes_on(tmp_path, autojump_clock):
    a, b = scripted("a"), scripted("b", require=["scripted#a"])
    async with pausing(tmp_path, a, b) as world:
        await world.story.converged()
        world.pause_controller.pause(["scripted#a"], 100, "x")
        world.story.drift("scripted#b")
        with trio.fail_after(1):
            await b.script.begun(2)
        world.story.drift("scripted#a")
        world.story.drift("scripted#b")
        await trio.sleep(80)
        assert (len(a.script.checks), len(b.script.checks)) == (1, 2)


@pytest.mark.parametrize("step", [36_000.0, -36_000.0])
async def test_a_pause_lasts_as_long_as_was_asked_for_though_the_clock_is_set(tmp_path, autojump_clock, step):
    a, b = scripted("a"), scripted("b")
    async with pausing(tmp_path, a, b) as world:
        await world.story.converged()
        world.pause_controller.pause(["scripted#a"], 3600, "x")
        world.story.drift("scripted#a")
        was_set[0] = step
        world.pause_controller.pause(["scripted#b"], 3600, "y")
        began = trio.current_time()
        await a.script.begun(2)
        assert trio.current_time() - began == pytest.approx(3600)
        assert {pause.pattern for pause in PauseFile(str(tmp_path), print).read()} == {
            "scripted#a",
            "scripted#b",
        }


async def test_a_clock_that_is_set_while_nothing_asks_moves_the_pauses_in_the_file(tmp_path, autojump_clock):
    async with pausing(tmp_path, scripted("a")) as world:
        await world.story.converged()
        world.pause_controller.pause(["*"], 3600, "x")
        was_set[0] = 36_000.0
        await trio.sleep(120)
        (pause,) = PauseFile(str(tmp_path), print).read()
        assert pause.until == pytest.approx(wall() + 3480)
        assert world.story.all(Paused)[-1].until == pause.until
        assert not world.story.all(Resumed)
