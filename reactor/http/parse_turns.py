"""Turns at parsing answers: of all requests together, one a turn of the event loop, so that a flood of them delays nobody."""

from __future__ import annotations

import trio

_turn: trio.lowlevel.RunVar[trio.Lock] = trio.lowlevel.RunVar("turn")


async def my_turn() -> None:
    """Return when the caller may parse what a few milliseconds suffice for; whatever else is due has run before."""
    try:
        lock = _turn.get()
    except LookupError:
        _turn.set(lock := trio.Lock())
    async with lock:
        await trio.lowlevel.checkpoint()
