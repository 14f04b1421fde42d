"""The real engine and a real journal, led through random lives and killed in between, against a model of the world.

In the end all is as desired, every refresh that was owed has happened, and no check ever began before its time.
"""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
import trio
from engine_worlds import Unhurried
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from reactor.engine.engine import Engine
from reactor.engine.events import Cause
from reactor.engine.options import RunOptions
from reactor.resource.base import Resource
from reactor.resource.plan import Action, ResourceError
from reactor.testing.story import graph_of

NAMES = "abcde"
STEP = 0.5
"""Seconds that each half of a change takes: time enough to be killed before it, in the middle and after it."""
TIMEOUT = 20_000.0
"""Seconds of the jumping clock: a retry may come 300 s later, and each of five may wait for another."""


@dataclass(frozen=True)
class Entry:
    """One resource of a manifest. ``above`` maps names to the property that refers to them."""

    version: int
    above: dict[str, str]
    quiet: bool
    mode: str

    def meta(self):
        return {"mode": self.mode, **({"quiet": {"for": "3s", "at_most": "10s"}} if self.quiet else {})}


@dataclass
class World:
    """What is there, whoever lives. ``owed`` is the model: changes that a subscriber has not been refreshed for."""

    manifest: dict[str, Entry]
    value: dict[str, int] = field(default_factory=dict)
    failing: dict[str, str] = field(default_factory=dict)
    owed: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    active: set[str] = field(default_factory=set)
    wall: float = 0.0
    in_motion: Callable[[str], bool] = field(default=lambda _: False)

    def subscribers(self, name):
        return {other for other, entry in self.manifest.items() if entry.above.get(name) == "subscribe"}

    def ancestors(self, name):
        above = self.manifest[name].above if name in self.manifest else {}
        return set(above).union(*(self.ancestors(up) for up in above))

    @contextmanager
    def checking(self, name, *, first=False):
        """A part of a check of ``name`` begins: no other one of it runs, and none of what it depends on.

        When it is the ``first`` part, nothing that it depends on owes one either.
        """
        assert name not in self.active, "one at a time"
        early = self.active & self.ancestors(name)
        assert not early, f"{name} began while {early} ran"
        dirty = {up for up in self.ancestors(name) if self.in_motion(up)}
        assert not dirty or not first, f"{name} began while {dirty} still owed a check"
        self.active.add(name)
        try:
            yield
        finally:
            self.active.discard(name)


class Part(Resource, kind="part"):
    """A number in the world that is to be ``version``."""

    ensure: str = "present"
    version: int = 0

    def put_into(self, world):
        self.__dict__["world"] = world
        return self

    async def observe(self):
        with self.world.checking(self.name, first=True):
            await trio.sleep(STEP)
            if self.world.failing.get(self.name) == "look":
                raise ResourceError("it can't be looked at")
            return self.world.value.get(self.name), self.world.subscribers(self.name)

    def plan(self, state, *, refresh):
        value, subscribers = state
        actions = []
        if value != self.version:
            actions.append(Action("would change", "changed", lambda: self.change(subscribers)))
        if refresh:
            actions.append(Action("would refresh", "refreshed", self.refresh))
        return tuple(actions)

    async def verify(self):
        return ()

    async def change(self, subscribers):
        world = self.world
        subscribers = subscribers & world.subscribers(self.name)
        with world.checking(self.name):
            await trio.sleep(STEP)
            self.fail_if("before")
            world.value[self.name] = self.version
            for subscriber in subscribers:
                world.owed[subscriber].add(self.name)
            await trio.sleep(STEP)
            self.fail_if("after")

    async def refresh(self):
        with self.world.checking(self.name):
            await trio.sleep(STEP)
            self.fail_if("before")
            self.world.owed[self.name].clear()
            await trio.sleep(STEP)
            self.fail_if("after")

    def fail_if(self, when):
        if self.world.failing.get(self.name) == when:
            raise ResourceError(f"it fails {when} the change")


def resources_of(world):
    for name, entry in sorted(world.manifest.items()):
        refs = {how: [f"part#{up}" for up, kind in entry.above.items() if kind == how] for how in HOWS}
        yield Part(name=name, version=entry.version, meta=entry.meta(), **refs).put_into(world)


HOWS = ("require", "subscribe", "after")


class Life:
    """One process, from its start to its violent end."""

    def __init__(self, world, directory):
        self.world = world
        self.heard = trio.Event()
        self.journal = Unhurried.open(directory, "/site.yaml", pytest.fail)
        resources = list(resources_of(world))
        options = RunOptions(watch=True, audit_interval=None, jobs=3)
        self.engine = Engine(graph_of(resources), options, self.hear, run_store=self.journal, watchers={})
        world.in_motion = self.in_motion

    def in_motion(self, name):
        return self.engine.scheduler.in_motion(self.engine.vertex_table.number(f"part#{name}"))

    def hear(self, event):
        self.journal.record(event)
        self.heard.set()
        self.heard = trio.Event()

    async def do(self, step):
        what, detail = step
        await getattr(self, what)(detail)

    async def drift(self, name):
        self.world.value[name] = -1
        self.notice(name)

    def notice(self, name):
        if name in self.world.manifest:
            self.engine.dispatcher.mark(self.engine.vertex_table.number(f"part#{name}"), Cause.DRIFT)

    async def fail(self, detail):
        name, when = detail
        self.world.failing[name] = when

    async def recover(self, name):
        self.world.failing.pop(name, None)

    async def edit(self, manifest):
        self.world.manifest = manifest
        graph = graph_of(list(resources_of(self.world)))
        prepared = self.engine.prepare(graph)
        for _ in range(len(manifest) % 3):  # the run may go on before the generation comes into force
            await trio.lowlevel.checkpoint()
        self.engine.reload(graph, None, prepared)

    async def sleep(self, seconds):
        await trio.sleep(seconds)

    async def set_clock(self, by):
        self.world.wall += by

    async def converge(self):
        """All obstacles are gone, and all is enforced: wait until nothing is in motion."""
        self.world.failing.clear()
        enforced = {
            name: Entry(entry.version, entry.above, entry.quiet, "enforce")
            for name, entry in self.world.manifest.items()
        }
        await self.edit(enforced)
        with trio.fail_after(TIMEOUT):
            while not self.engine.scheduler.converged:
                await self.heard.wait()


async def play(steps, world, directory):
    """Lives, one after the other: a step ``kill`` ends one, and the names with it drift while nobody looks."""
    steps = iter([*steps, None])
    while True:
        life = Life(world, directory)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(life.journal.run)
            await nursery.start(life.engine.run)
            for step in steps:
                if step is None:
                    await life.converge()
                elif step[0] == "kill":
                    break
                else:
                    await life.do(step)
            nursery.cancel_scope.cancel()
        life.journal.die()
        if step is None:
            return life
        for name in step[1]:
            world.value[name] = -1


@st.composite
def manifests(draw):
    names = draw(st.sets(st.sampled_from(NAMES), min_size=2))
    entries = {}
    for name in sorted(names):
        hows = st.sampled_from(("", *HOWS, "subscribe", "subscribe"))
        above = {up: draw(hows) for up in sorted(names) if up < name}
        entries[name] = Entry(
            version=draw(st.integers(0, 2)),
            above={up: how for up, how in above.items() if how},
            quiet=draw(st.booleans()),
            mode=draw(st.sampled_from(["enforce", "enforce", "enforce", "warn"])),
        )
    return entries


def busy_life(chance, edits):
    """Some 30 steps. Hypothesis alone picks too few drifts of what is subscribed to, with failures of who subscribes."""
    edits = iter(edits)
    life = []
    for _ in range(chance.randint(5, 30)):
        name = chance.choice(NAMES)
        dice = chance.random()
        if dice < 0.35:
            life.append(("sleep", chance.choice([0.2, 0.6, 1.1, 1.6, 2.1, 4.0, 400.0])))
        elif dice < 0.65:
            life.append(("drift", chance.choice("aab" + NAMES)))
        elif dice < 0.75:
            life.append(("fail", (name, chance.choice(["look", "before", "after"]))))
        elif dice < 0.83:
            life.append(("recover", name))
        elif dice < 0.92:
            life.append(("kill", {name} if chance.random() < 0.3 else set()))
        elif dice < 0.94:
            life.append(("set_clock", chance.choice([-1e6, 3600.0])))
        elif (manifest := next(edits, None)) is not None:
            life.append(("edit", manifest))
    return life


lives = st.builds(busy_life, st.randoms(use_true_random=False), st.lists(manifests(), max_size=3))


@given(manifest=manifests(), steps=lives)
@settings(max_examples=150)
def test_whatever_happens_the_end_is_desired_and_no_refresh_is_missing(manifest, steps):
    world, real_time = World(manifest), time.time
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patched:
        patched.setattr(time, "time", lambda: real_time() + world.wall)
        trio.run(play, steps, world, directory, clock=MockClock(autojump_threshold=0))
        with Unhurried.open(directory, "/site.yaml", pytest.fail)._writer.store._connection as kept:
            assert kept.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert {name: world.value[name] for name in world.manifest} == {
        name: entry.version for name, entry in world.manifest.items()
    }
    assert not {name: owed for name, owed in world.owed.items() if owed and name in world.manifest}
