"""The simulated hosts of `fleet.py`, spread over processes that each answer the questions of the benchmark.

A real host has a process of its own. A thousand in one would take turns, and be measured as one after the other.
"""

from __future__ import annotations

import gc
import multiprocessing
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import trio

from reactor.resource.gc_control import LongLived

_FAILS_EVERY = 5
"""One of so many hosts fails with a bad release."""
_FAREWELL = 10.0


class Taken(list[int]):
    """The serials that a host took, and when it took each the last time."""

    def __init__(self) -> None:
        super().__init__()
        self.when: dict[int, float] = {}

    def append(self, serial: int) -> None:
        self.when[serial] = time.monotonic()
        super().append(serial)


class Part:
    """The hosts of one process. Each public method answers a question, with values that can be pickled."""

    def __init__(self, fleet: Any, names: Sequence[str]) -> None:
        self._fleet = fleet
        self._hosts = [fleet.hosts[name] for name in names]
        self._read: dict[str, float] = {}
        self._pause = max(len(self._hosts) / 50_000, 0.01)
        for host in self._hosts:
            host.stores["web"].taken = Taken()

    async def run(self, pipe: Connection) -> None:
        """Let the hosts run when they are asked to, and answer until the question is None."""
        async with trio.open_nursery() as nursery:
            while (question := await _received(pipe)) is not None:
                name, *values = question
                if name == "begin":
                    for host in self._hosts:
                        nursery.start_soon(self._fleet.run_host, host.name)
                pipe.send(await getattr(self, name)(*values))
            nursery.cancel_scope.cancel()

    async def begin(self) -> None:
        """Wait until all are connected."""
        await self._until(lambda: all(host.fleet is not None for host in self._hosts))
        await self.up()

    async def settle(self) -> None:
        """Let the collector of this process do what those of as many processes would do.

        As in each run, what lives long is exempt. The collector begins when a host has made so many objects, not all hosts
        together: else it would look at what all others are at, again and again.
        """
        LongLived().exempt()
        most, *others = gc.get_threshold()
        gc.set_threshold(most * len(self._hosts), *others)
        for host in self._hosts:
            follower = host.fleet.followers[0]
            follower._look = self._stamped(host.name, follower._look)  # noqa: SLF001 - to see when it has looked

    async def taken(self, serial: int) -> list[float]:
        """When each took a release, which all have in force then."""
        await self._until(lambda: all(host.stores["web"].taken[-1:] == [serial] for host in self._hosts))
        return [host.stores["web"].taken.when[serial] for host in self._hosts]

    async def ever_taken(self, serial: int, before: float) -> int:
        """How many had taken a release before that moment."""
        return sum(host.stores["web"].taken.when.get(serial, before) < before for host in self._hosts)

    async def fail(self, digest: str) -> None:
        """Let a part of the hosts fail with a release."""
        for host in self._hosts[::_FAILS_EVERY]:
            host.engine.fails.add(digest)

    async def forget(self) -> None:
        """Forget who has read the channel."""
        self._read.clear()

    async def read(self) -> list[float]:
        """When each read the channel, and verified the release that it names."""
        await self._until(lambda: len(self._read) == len(self._hosts))
        return list(self._read.values())

    async def down(self) -> None:
        """Wait until no host has a connection."""
        await self._until(lambda: not any(host.fleet.connection.up for host in self._hosts))

    async def up(self) -> None:
        """Wait until each has one."""
        await self._until(lambda: all(host.fleet.connection.up for host in self._hosts))

    async def _until(self, condition: Callable[[], bool]) -> None:
        """A look at many hosts costs time, so it is done less often."""
        while not condition():  # noqa: ASYNC110 - what changes it is another program
            await trio.sleep(self._pause)

    def _stamped(self, name: str, look: Callable[[], Awaitable[bool]]) -> Callable[[], Awaitable[bool]]:
        async def looked() -> bool:
            done = await look()
            if done:
                self._read[name] = time.monotonic()
            return done

        return looked


class Parts:
    """The hosts of all processes."""

    def __init__(self, pipes: Sequence[Connection], count: int) -> None:
        self.count = count
        self._pipes = pipes

    async def ask(self, *question: Any, seconds: float) -> list[Any]:
        """Ask each process; return the answers. ``seconds``: the patience with 1,000 hosts, which share the processor."""
        with trio.fail_after(seconds * max(1.0, self.count / 1000)):
            for pipe in self._pipes:
                pipe.send(question)
            return [await _received(pipe) for pipe in self._pipes]

    async def times(self, *question: Any, seconds: float) -> list[float]:
        """The same, where each answer is a list of times."""
        return [each for answer in await self.ask(*question, seconds=seconds) for each in answer]


@contextmanager
def hosts_in_processes(fleet: Any, processes: int) -> Iterator[Parts]:
    """Spread the hosts over as many processes, copies of this one. They wait for the question ``begin``."""
    context = multiprocessing.get_context("fork")
    names = list(fleet.hosts)
    pipes, children = [], []
    for number in range(processes):
        ours, theirs = context.Pipe()
        part = Part(fleet, names[number::processes])
        children.append(context.Process(target=trio.run, args=(part.run, theirs)))
        children[-1].start()
        theirs.close()
        pipes.append(ours)
    try:
        yield Parts(pipes, len(names))
    finally:
        for pipe in pipes:
            pipe.send(None)
        for child in children:
            child.join(_FAREWELL)
            child.kill()


async def _received(pipe: Connection) -> Any:
    await trio.lowlevel.wait_readable(pipe.fileno())
    return pipe.recv()
