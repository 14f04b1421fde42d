"""Keeps time for the scheduler."""

from __future__ import annotations

import math
from collections.abc import Callable

import trio


class Alarm:
    """Rings at the time that ``due`` names. `set` it whenever that time may have come nearer."""

    def __init__(self, due: Callable[[], float]) -> None:
        self._due = due
        self._nap = trio.CancelScope()
        self._rings_at = math.inf

    def set(self) -> None:
        """Look again when to ring."""
        if (due := self._due()) < self._rings_at:
            self._rings_at = self._nap.deadline = due

    async def wait(self) -> None:
        """Return when it rings.

        A task that sleeps is woken by an exception, which takes longer than many a repair. This one is just woken.
        """
        task = trio.lowlevel.current_task()

        def wake(_raise_cancel: object) -> trio.lowlevel.Abort:
            trio.lowlevel.reschedule(task)
            return trio.lowlevel.Abort.FAILED

        self._rings_at = self._due()
        with trio.CancelScope(deadline=self._rings_at) as self._nap:
            await trio.lowlevel.wait_task_rescheduled(wake)
        await trio.lowlevel.checkpoint_if_cancelled()  # by somebody else
