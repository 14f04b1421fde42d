"""Runs work in a thread for groups of items: items that wait at the same time are worked on together.

So do changes of a disk in steps, between which what was written is flushed: they go step by step together and share the
flushes. A whole change is one item: each costs the event loop some switches of tasks, and a repair the time until the
thread runs.

Python runs one thread at a time, and each system call lets another one run. Where the event loop checks files while the
thread writes others, the two take turns several times for each file, which takes longer than both. So a single item
begins at once, and after a group of several the next one begins when no more items come.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import trio

from reactor.resource.threads import NO_THREAD

if TYPE_CHECKING:
    from outcome import Outcome

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

Steps = Generator[int, None, _Result]
"""A change that blocks. It yields each descriptor whose file must be on the disk before it goes on, and returns its result."""
Sync = Callable[[Sequence[int]], None]
"""Flushes the files at all the descriptors. Blocking. Raises OSError."""

_QUIET_PASSES = 2
"""Passes of the event loop without a new item after which a group begins. The first may still be that in which the items
of the last group are reported."""
_LONGEST_GATHERING = 0.01
"""Seconds after which it begins in any case."""

Ended = Callable[[Exception | None], None]
"""Called when an item has been worked on, with the error that has kept all of its group from it."""


class GroupedWork(Generic[_Item]):
    """Calls ``work`` in a thread with one group at a time: all items that were waiting when it began.

    ``work`` blocks. What it raises concerns the whole group. Not by `trio.to_thread`: a repair of one file waits for the
    start, and a task of its own for each group would be three times as long.
    """

    def __init__(self, work: Callable[[Sequence[_Item]], None]) -> None:
        self._work = work
        self._waiting: dict[_Item, Ended] = {}
        self._is_working = False
        """Whether a group is worked on or gathered."""

    def add(self, item: _Item, ended: Ended) -> None:
        """Work on ``item`` as soon as possible, and call ``ended`` on the event loop then."""
        self._waiting[item] = ended
        if not self._is_working:
            self._begin()

    def withdraw(self, item: _Item) -> bool:
        """Take back what still waits. False if the thread has it already."""
        return self._waiting.pop(item, None) is not None

    async def join(self, item: _Item) -> None:
        """Return when ``work`` has had ``item``. Raises what ``work`` raises, and OSError when no thread can be started.

        ``item`` is not used after this has returned, not even after a cancellation.
        """
        is_over, errors = trio.Event(), list[Exception]()

        def ended(error: Exception | None) -> None:
            if error is not None:
                errors.append(error)
            is_over.set()

        self.add(item, ended)
        try:
            await is_over.wait()
        except trio.Cancelled:
            if not self.withdraw(item):
                with trio.CancelScope(shield=True):  # the thread has the item
                    await is_over.wait()
            raise
        if errors:
            raise errors[0]

    def _begin(self) -> None:
        """Work on all that waits."""
        group, self._waiting = self._waiting, {}
        self._is_working = True
        token = trio.lowlevel.current_trio_token()

        def deliver(result: Outcome[None]) -> None:
            with suppress(trio.RunFinishedError):
                token.run_sync_soon(self._end, group, result.unwrap)

        try:
            trio.lowlevel.start_thread_soon(partial(self._work, list(group)), deliver)
        except RuntimeError:
            token.run_sync_soon(self._end, group, _fail_without_thread)

    def _end(self, group: dict[_Item, Ended], result: Callable[[], None]) -> None:
        error = None
        try:
            result()
        except Exception as failure:  # noqa: BLE001 - it is raised in the tasks that wait for the group
            error = failure
        for ended in group.values():
            ended(error)
        if len(group) + len(self._waiting) > 1:
            self._gather(0, len(self._waiting), time.monotonic() + _LONGEST_GATHERING)
        else:
            self._is_working = False

    def _gather(self, quiet: int, before: int, until: float) -> None:
        """Begin the next group after enough passes of the event loop in which no item came. ``quiet`` of them are over.

        ``before`` items were waiting one pass ago.
        """
        if len(self._waiting) != before:
            quiet = 0
        if quiet < _QUIET_PASSES and time.monotonic() < until:
            with suppress(trio.RunFinishedError):
                again = partial(self._gather, quiet + 1, len(self._waiting), until)
                trio.lowlevel.current_trio_token().run_sync_soon(again)
        elif self._waiting:
            self._begin()
        else:
            self._is_working = False


def _fail_without_thread() -> None:
    raise OSError(errno.EAGAIN, NO_THREAD)


class Change(Protocol):
    """The change that a job makes: it is told what it waits for, and may be cancelled."""

    is_cancelled: bool

    def expect_answer(self) -> None:
        """A call that changes names, attributes or memory begins."""

    def expect_flush(self) -> None:
        """A flush begins."""


class Job(Generic[_Result]):
    """Steps that are carried out, for ``change`` if that is given."""

    def __init__(self, steps: Steps[_Result], change: Change | None = None) -> None:
        self._steps = steps
        self._change = change
        self._result: _Result | None = None
        self._error: Exception | None = None
        self.fd = -1
        """The descriptor that the next step waits for."""

    def advance(self, failure: OSError | None = None) -> bool:
        """Take the next step, where ``failure`` of the flush is raised. Returns whether there is one after it.

        There is none once the change is cancelled.
        """
        if self._change is not None:
            self._change.expect_answer()
        try:
            if self._change is not None and self._change.is_cancelled:
                self._steps.close()
                return False
            self.fd = next(self._steps) if failure is None else self._steps.throw(failure)
        except StopIteration as end:
            self._result = end.value
            return False
        except Exception as error:  # noqa: BLE001 - `result` raises it in the task that waits for it
            self._error = error
            return False
        if self._change is not None:
            self._change.expect_flush()
        return True

    def result(self) -> _Result:
        """What the steps have returned. Raises what they have raised."""
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value] # they have ended


def take_together(jobs: Sequence[Job[Any]], sync: Sync) -> None:
    """Carry out all jobs, each step of all of them before the next one. A flush that fails fails all that wait for it."""
    waiting = [job for job in jobs if job.advance()]
    while waiting:
        failure = None
        try:
            sync([job.fd for job in waiting])
        except OSError as error:
            failure = error
        waiting = [job for job in waiting if job.advance(failure and OSError(*failure.args))]
