"""Changes file systems that may hang: each change has its own task, and each file system its own thread for calls.

A system call on a frozen file system, or on a disk that hangs, can't be cancelled. So the caller waits without
occupying a job, and abandons the change when one call takes too long. The task and its open files remain until the
file system answers. Until then `fragile_mounts` keeps everything else away from that file system.

A file system in memory can't hang, and is changed at once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, TypeVar, TypeVarTuple

import trio

from reactor.hostfs.grouped_work import GroupedWork, Job, Steps
from reactor.resource.mount_health import FragileMount, fragile_mounts, mount_of
from reactor.resource.output import mute
from reactor.resource.plan import ResourceError
from reactor.resource.threads import in_thread, waits

TIMEOUT = 5.0
"""Seconds within which a call that changes only names, attributes or memory must return."""
FLUSH_TIMEOUT = 30.0
"""Seconds within which a flush to the disk must return, however much was written."""
_CHECK_INTERVAL = 0.25
"""Seconds between two looks at the changes under way. A change that two looks find is slow."""
_MOST_AT_LENGTH = 4
_MOST_ON_A_SLOW_DISK = 64
"""The most changes in progress on a slow disk: each is looked at every `_CHECK_INTERVAL`, and more are no faster."""

_Result = TypeVar("_Result")
_Arguments = TypeVarTuple("_Arguments")


class Disk:
    """A file system that is not in memory. Makes changes to it, and abandons changes that hang."""

    def __init__(self) -> None:
        self.calls = _Calls()
        self.long = trio.CapacityLimiter(_MOST_AT_LENGTH)
        self.hung: FragileMount | None = None
        """The mount that does not answer; a placeholder if the mount is not known, as with subvolumes of btrfs."""
        self.slow: set[DiskChange] = set()
        """Changes that two looks have found under way: later changes will probably wait, too."""
        self.under_way: set[DiskChange] = set()
        """Changes that have neither ended nor hang."""
        self._is_looking = False
        self._given_up = 0
        self._places = trio.CapacityLimiter(_MOST_ON_A_SLOW_DISK)

    async def make(self, path: str, change: Callable[[], Awaitable[None]]) -> None:
        """Make ``change``, which concerns ``path``, in a task.

        Raises its errors, and ResourceError when the file system hangs.
        """
        await self.carry_out(path, partial(_begin_task, change))

    async def carry_out(self, path: str, begin: Callable[[DiskChange], Callable[[], object]]) -> None:
        """Let ``begin`` begin a change of ``path``, and wait for its end. ``begin`` returns what cancels it.

        Raises as `make` does.
        """
        if self.hung is not None:
            raise self.hung.failure()
        if not self.slow:
            await self._carry_out(path, begin)
            return
        waits()
        async with self._places:
            if self.hung is not None:
                raise self.hung.failure()
            await self._carry_out(path, begin)

    async def _carry_out(self, path: str, begin: Callable[[DiskChange], Callable[[], object]]) -> None:
        this = DiskChange(self)
        cancel = begin(this)
        self._look_after(this)
        try:
            is_over = await this.is_over()
        except trio.Cancelled:
            this.is_cancelled = True
            cancel()
            with trio.CancelScope(shield=True):
                if await this.is_over():
                    await this.finish()
                else:
                    self._give_up(this, path)
            raise
        if not is_over:
            raise self._give_up(this, path)
        await this.finish()
        if this.error is not None:
            raise this.error

    def _look_after(self, change: DiskChange) -> None:
        """Look after ``change`` until it has ended or hangs, in one task for all: a timer for each takes more time."""
        self.under_way.add(change)
        if not self._is_looking:
            self._is_looking = True
            trio.lowlevel.spawn_system_task(self._look_at_all)

    async def _look_at_all(self) -> None:
        """Look at each change that was under way at the look before. End when there is none."""
        known: set[DiskChange] = set()
        while self.under_way:
            await trio.sleep(_CHECK_INTERVAL)
            for change in self.under_way & known:
                change.look()
            known = self.under_way.copy()
        self._is_looking = False

    def _give_up(self, change: DiskChange, path: str) -> ResourceError:
        change.context.run(mute)
        self._given_up += 1
        if self.hung is None:
            self.hung = mount_of(path)
            fragile_mounts().hangs(self.hung)
        trio.lowlevel.spawn_system_task(self._outlast, change, context=change.context)
        return self.hung.failure()

    async def _outlast(self, change: DiskChange) -> None:
        await change.ended.wait()
        self._given_up -= 1
        if not self._given_up and self.hung is not None:
            mount, self.hung = self.hung, None
            fragile_mounts().answers(mount)
        await change.finish()


class _Calls:
    """The calls that change one file system. Calls that wait at the same time are passed to one thread together.

    So concurrent changes progress at the same pace, and also share their flushes.
    """

    def __init__(self) -> None:
        self._grouped: GroupedWork[Job[Any]] = GroupedWork(_advance_all)

    async def make(self, work: Callable[[], _Result]) -> _Result:
        """Run ``work`` in the thread; return its result.

        Raises its errors, and OSError when no thread can be started.
        """
        job = Job(_only_step(work))
        await self._grouped.join(job)
        return job.result()


def _only_step(work: Callable[[], _Result]) -> Steps[_Result]:
    yield from ()
    return work()


def _advance_all(jobs: Iterable[Job[Any]]) -> None:
    for job in jobs:
        job.advance()


class DiskChange:
    """A change in progress. ``due`` is the deadline of its present call, by time.monotonic."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.due = math.inf
        self.waits_for_turn = False
        self.is_cancelled = False
        self.ended = trio.Event()
        self.error: Exception | None = None
        self.finish: Callable[[], Awaitable[None]] = _nothing
        """Called after the end, with an error and without, also if the change was cancelled or given up. Raises nothing."""
        self.context = copy_context()
        self.context.run(_under_way.set, self)
        self._ended_or_hangs = trio.Event()
        self._was_due = False

    def expect(self, seconds: float) -> None:
        """The present call must return within ``seconds``. Any thread may say so."""
        self.due = time.monotonic() + seconds

    def expect_answer(self) -> None:
        """The present call changes only names, attributes or memory."""
        self.waits_for_turn = False
        self.expect(TIMEOUT)

    def expect_flush(self) -> None:
        """The present call flushes, or waits for its turn to do so."""
        self.expect(FLUSH_TIMEOUT)

    def expect_turn(self) -> None:
        """The first call waits for its turn, while others flush. If the disk hangs, it does not come."""
        self.waits_for_turn = True
        self.expect(FLUSH_TIMEOUT)

    def end(self, error: Exception | None) -> None:
        """The change is over. `Disk.carry_out` raises ``error``."""
        self.error = error
        self.disk.slow.discard(self)
        self.ended.set()
        self._decide()

    async def is_over(self) -> bool:
        """Wait. Returns True when the change has ended, False when a call takes too long."""
        await self._ended_or_hangs.wait()
        return self.ended.is_set()

    def look(self) -> None:
        """Called while it is under way, at each of the regular looks but the first. Decides whether it hangs.

        The deadline must have passed at two looks in a row: after a stop of this process (SIGSTOP), a finished call
        needs the time in between to be noticed.
        """
        is_hung = self.waits_for_turn and self.disk.hung is not None
        is_due = is_hung or time.monotonic() >= self.due
        if is_due and self._was_due:
            self._decide()
            return
        self._was_due = is_due
        self.disk.slow.add(self)
        self.context.run(waits)

    def _decide(self) -> None:
        self.disk.under_way.discard(self)
        self._ended_or_hangs.set()


async def _nothing() -> None:
    pass


_under_way: ContextVar[DiskChange | None] = ContextVar("change", default=None)


def change_under_way() -> DiskChange | None:
    """The change of a disk that the running task makes."""
    return _under_way.get()


def _begin_task(work: Callable[[], Awaitable[None]], change: DiskChange) -> Callable[[], None]:
    scope = trio.CancelScope()

    async def run() -> None:
        error = None
        try:
            with scope:
                await work()
        except Exception as failure:  # noqa: BLE001 - it is raised in the task that has requested the change
            error = failure
        finally:
            change.end(error)

    trio.lowlevel.spawn_system_task(run, context=change.context)
    return scope.cancel


async def changing(work: Callable[[*_Arguments], _Result], *arguments: *_Arguments) -> _Result:
    """Run ``work``, a short change of a file system, in the thread of that file system; at once if it has none."""
    if (change := _under_way.get()) is None:
        return work(*arguments)
    with within(TIMEOUT):
        return await change.disk.calls.make(partial(work, *arguments))


async def changing_to_the_end(work: Callable[[*_Arguments], None], *arguments: *_Arguments) -> None:
    """Run ``work`` as `changing` does, even if the task has been cancelled."""
    if _under_way.get() is None:
        work(*arguments)
        return
    with trio.CancelScope(shield=True):
        await changing(work, *arguments)


async def at_length(work: Callable[[*_Arguments], _Result], *arguments: *_Arguments) -> _Result:
    """Run ``work``, which may take long (such as a large copy), in a thread."""
    change = _under_way.get()
    return await in_thread(work, *arguments, limiter=None if change is None else change.disk.long)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Expect the block to end within ``seconds``; otherwise the file system that it changes counts as hung."""
    change = _under_way.get()
    if change is None:
        yield
        return
    change.expect(seconds)
    try:
        yield
    finally:
        change.due = math.inf
