"""How a running check tells that it waits for something that may never come."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

waiter: ContextVar[Callable[[], None] | None] = ContextVar("waiter", default=None)
"""Set by the engine for the task that runs a check."""


def waits() -> None:
    """Take no job from now on for the check that runs: others are made meanwhile. Outside of a check it means nothing."""
    if (lend := waiter.get()) is not None:
        lend()
