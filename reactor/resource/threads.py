"""Work that may take long: blocking calls in threads, and waits that use no job."""

from __future__ import annotations

import errno
from collections.abc import Callable
from contextlib import nullcontext, suppress
from contextvars import ContextVar
from typing import TypeVar, TypeVarTuple

import trio

from reactor.resource.thread_slices import long_slice, preferred

waiter: ContextVar[Callable[[], None] | None] = ContextVar("waiter", default=None)
"""Set by the engine for the task that runs a check."""


def waits() -> None:
    """The running check now waits and uses no job, so that other checks can run. Outside a check, it does nothing."""
    if (lend := waiter.get()) is not None:
        lend()


NO_THREAD = "no thread can be started, the limit of processes is reached"

_Result = TypeVar("_Result")
_Arguments = TypeVarTuple("_Arguments")

_MOST_HANGING = 16
_hanging: trio.lowlevel.RunVar[trio.CapacityLimiter] = trio.lowlevel.RunVar("hanging")


async def in_thread(
    work: Callable[[*_Arguments], _Result],
    *arguments: *_Arguments,
    limiter: trio.CapacityLimiter | None = None,
    abandon_on_cancel: bool = False,
    gives_way: bool = False,
) -> _Result:
    """Return what ``work`` returns, called in a thread like `trio.to_thread.run_sync`.

    Work that may be abandoned may hang, so it has its own limit of threads: however many hang, other work gets a
    thread. Work that ``gives_way`` is interrupted when a repair begins on the same processor: the event loop is preferred
    to it, also to other programs. Raises what ``work`` raises, and OSError (EAGAIN) when no thread can be started. Python
    raises RuntimeError for that, which no caller expects: it would end a run that only has to wait.
    """
    if limiter is None and abandon_on_cancel:
        limiter = _limiter_of_what_may_hang()
    if gives_way:
        work = long_slice()(work)
    try:
        with preferred() if gives_way else nullcontext():
            return await trio.to_thread.run_sync(
                work, *arguments, limiter=limiter, abandon_on_cancel=abandon_on_cancel
            )
    except RuntimeError as error:
        if str(error) != "can't start new thread":
            raise
        raise OSError(errno.EAGAIN, NO_THREAD) from error


def stop_if_cancelled() -> None:
    """In the thread of `in_thread`: raise trio.Cancelled once its caller is cancelled. Elsewhere, do nothing.

    For work in pieces whose length another user of the host decides: otherwise it could keep a run from ending.
    """
    with suppress(RuntimeError):  # not a thread of trio
        trio.from_thread.check_cancelled()


def _limiter_of_what_may_hang() -> trio.CapacityLimiter:
    try:
        return _hanging.get()
    except LookupError:
        _hanging.set(limiter := trio.CapacityLimiter(_MOST_HANGING))
        return limiter
