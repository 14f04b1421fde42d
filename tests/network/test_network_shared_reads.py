"""A table is read once for all who ask for it together, and at once for who asks alone."""

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from reactor.engine.options import RunOptions
from reactor.resources.network import Address, Route, rtnetlink
from reactor.resources.network.rtnetlink import RtnetlinkSocket, SharedReads
from reactor.testing.story import converge_once


class Clock:
    """Says what it is set to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class World:
    """Something that can be read, which takes a second. ``readings`` are what was found, by who read how."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.state = "old"
        self.readings: list[str] = []
        self.sharing: SharedReads[str] = SharedReads(self.clock)
        self.go_on = trio.Event()
        self.go_on.set()

    async def ask(self) -> str:
        return await self.sharing.read("key", self.at_once, self.later)

    async def at_once(self) -> str:
        return await self._read("at once")

    async def later(self) -> str:
        return await self._read("later")

    async def _read(self, how: str) -> str:
        self.readings.append(how)
        found = self.state
        self.clock.now += 1
        await self.go_on.wait()
        if found == "broken":
            raise OSError("broken")
        return found


async def test_a_user_who_asks_alone_is_answered_at_once():
    world = World()
    for _ in range(3):
        assert await world.ask() == "old"
        world.clock.now += 1  # longer than it took
    assert world.readings == ["at once"] * 3


async def asked_by(world: World, count: int) -> list[str]:
    answers: list[str] = []

    async def one() -> None:
        answers.append(await world.ask())

    async with trio.open_nursery() as nursery:
        for _ in range(count):
            nursery.start_soon(one)
            await trio.lowlevel.checkpoint()
    return answers


async def test_those_who_come_one_after_the_other_share_one_reading():
    world = World()
    await world.ask()
    assert await asked_by(world, 50) == ["old"] * 50
    assert world.readings == ["at once", "later"]


async def test_no_one_is_given_what_was_read_before_they_asked():
    world = World()
    await world.ask()
    world.go_on = trio.Event()
    found: list[str] = []

    async def one() -> None:
        found.append(await world.ask())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(one)
        await wait_all_tasks_blocked()  # it reads
        world.state = "new"
        nursery.start_soon(one)
        await wait_all_tasks_blocked()
        world.go_on.set()
    assert sorted(found) == ["new", "old"]


async def test_a_reading_that_fails_is_not_the_failure_of_all():
    world = World()
    await world.ask()
    world.state = "broken"
    world.go_on = trio.Event()
    found: list[str] = []

    async def fails() -> None:
        with pytest.raises(OSError, match="broken"):
            await world.ask()

    async def one() -> None:
        found.append(await world.ask())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(fails)
        await trio.lowlevel.checkpoint()
        nursery.start_soon(one)
        nursery.start_soon(one)
        await wait_all_tasks_blocked()
        world.state = "new"
        world.go_on.set()
    assert found == ["new", "new"]


async def test_a_user_who_is_cancelled_leaves_the_others_a_reading_of_their_own():
    world = World()
    await world.ask()
    world.go_on = trio.Event()
    found: list[str] = []

    async def cancelled(scope: trio.CancelScope) -> None:
        with scope:
            await world.ask()

    async def one() -> None:
        found.append(await world.ask())

    async with trio.open_nursery() as nursery:
        scope = trio.CancelScope()
        nursery.start_soon(cancelled, scope)
        await trio.lowlevel.checkpoint()
        nursery.start_soon(one)
        await wait_all_tasks_blocked()
        scope.cancel()
        await wait_all_tasks_blocked()
        world.go_on.set()
    assert found == ["old"]


@pytest.mark.parametrize("kind", ["address", "route"])
async def test_to_check_many_is_not_to_read_all_of_them_for_each(world, monkeypatch, kind):
    count = 400
    inside = {"netns": world.name, "link": "v0"}
    if kind == "address":
        resources = [Address(name=f"10.{n // 250}.{n % 250}.1/24", **inside) for n in range(count)]
        world.run_at_once(f"address add {each.name} dev v0" for each in resources)
    else:
        resources = [Route(name=f"10.{n // 250}.{n % 250}.0/24", **inside) for n in range(count)]
        world.run_at_once(f"route add {each.name} dev v0" for each in resources)
    readings = 0
    really = RtnetlinkSocket._table

    async def counted(self, question):
        nonlocal readings
        readings += 1
        clock.now += 1  # so reading takes all of the time, whatever else this machine does
        return await really(self, question)

    clock = Clock()
    monkeypatch.setattr(rtnetlink, "_tables", SharedReads(clock))
    monkeypatch.setattr(RtnetlinkSocket, "_table", counted)
    ended, _ = await converge_once(*resources, options=RunOptions())
    assert ended.changes == 0
    assert readings <= 1 + count / 32  # there are up to 64 checks at once
