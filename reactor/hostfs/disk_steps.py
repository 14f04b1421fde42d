"""Changes of a disk in steps, in a thread: between two steps, what was written is flushed.

Changes that wait at the same time go step by step together, so they share the flushes. The whole change is one call of
the thread: each call costs the event loop a few switches of tasks, and the repair the time until the thread runs.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Generic, TypeVar

from reactor.hostfs.disks import DiskChange

_Result = TypeVar("_Result")

Steps = Generator[int, None, _Result]
"""A change that blocks. It yields each descriptor whose file must be on the disk before it goes on, and returns its result."""
Sync = Callable[[Sequence[int]], None]
"""Flushes the files at all the descriptors. Blocking. Raises OSError."""


class Job(Generic[_Result]):
    """Steps that are carried out, for ``change`` if that is given."""

    def __init__(self, steps: Steps[_Result], change: DiskChange | None) -> None:
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
            if self._change.is_cancelled:
                self._steps.close()
                return False
        try:
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
