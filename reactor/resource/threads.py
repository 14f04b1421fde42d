"""Work that may take long: blocking calls in threads, and waits that take no job."""

from __future__ import annotations

import errno
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import TypeVar, TypeVarTuple

import trio

waiter: ContextVar[Callable[[], None] | None] = ContextVar("waiter", default=None)
"""Set by the engine for the task that runs a check."""


def waits() -> None:
    """Take no job from now on for the check that runs: others are made meanwhile. Outside of a check it means nothing."""
    if (lend := waiter.get()) is not None:
        lend()


_Result = TypeVar("_Result")
_Arguments = TypeVarTuple("_Arguments")

_MOST_HANGING = 16
_hanging: trio.lowlevel.RunVar[trio.CapacityLimiter] = trio.lowlevel.RunVar("hanging")


async def in_thread(
    work: Callable[[*_Arguments], _Result],
    *arguments: *_Arguments,
    limiter: trio.CapacityLimiter | None = None,
    abandon_on_cancel: bool = False,
) -> _Result:
    """What ``work`` returns, called in a thread as `trio.to_thread.run_sync` does.

    What may be abandoned is what may hang, and has threads of its own: however many hang, other work finds a thread.

    Raises what it raises; and OSError (EAGAIN) when no thread can be started. For Python that is a RuntimeError, which
    no caller expects: it would end a run that only has to wait.
    """
    if limiter is None and abandon_on_cancel:
        limiter = _limiter_of_what_may_hang()
    try:
        return await trio.to_thread.run_sync(
            work, *arguments, limiter=limiter, abandon_on_cancel=abandon_on_cancel
        )
    except RuntimeError as error:
        if str(error) != "can't start new thread":
            raise
        reason = "no thread can be started, the limit of processes is reached"
        raise OSError(errno.EAGAIN, reason) from error


def stop_if_cancelled() -> None:
    """In the thread of `in_thread`: raise trio.Cancelled once its caller is cancelled. Elsewhere, do nothing.

    For work in pieces that takes as long as another user of the host likes: a run could not end before it otherwise.
    """
    with suppress(RuntimeError):  # this is no thread of trio
        trio.from_thread.check_cancelled()


def _limiter_of_what_may_hang() -> trio.CapacityLimiter:
    try:
        return _hanging.get()
    except LookupError:
        _hanging.set(limiter := trio.CapacityLimiter(_MOST_HANGING))
        return limiter
