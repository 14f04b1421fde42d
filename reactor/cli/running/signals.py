"""Ends a run on signals, step by step: first wait, then cancel, then kill."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import trio

from reactor.console.number_format import counted
from reactor.console.open_problems import name_some
from reactor.engine.engine import Engine
from reactor.resource.left_alone import LEFT_ALONE

PATIENCE = 15.0
"""Seconds until a termination that has not ended the run takes the next step by itself."""

_HEEDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """What signals have asked of a run.

    The first one lets running checks end and starts none; the second cancels them; the third kills the
    processes they have started, but for package managers: the fourth ends the run without waiting for these. A person at the keyboard decides when to take the next step. SIGTERM and SIGHUP
    come from a service manager or a closed terminal, where nobody does: they climb every `PATIENCE` seconds.
    With ``reload``, a SIGHUP asks for that instead, as service managers and people expect of a program that stays;
    after a closed terminal, such a run ends because nobody reads what it writes.
    """

    def __init__(
        self, engine: Engine, notify: Callable[[str], None], reload: Callable[[], None] | None = None
    ) -> None:
        self._engine = engine
        self._notify = notify
        self._reload = reload
        self._steps = (self._stop, self._cancel, self._kill, self._leave)
        self.taken = 0
        self.number = 0
        """The signal that came last."""

    @property
    def cut_short(self) -> bool:
        """Whether running checks were cancelled."""
        return self.taken > 1

    @property
    def left_work(self) -> bool:
        """Whether the run was ended before all that was owed was done: a check, or another attempt."""
        return self.taken > 0 and not self._engine.scheduler.at_rest

    async def listen(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Take a step for each signal. Those ignored since before our start, as under nohup, stay ignored."""
        heeded = [number for number in _HEEDED if signal.getsignal(number) is not signal.SIG_IGN]
        with trio.open_signal_receiver(*heeded) as arriving:
            task_status.started()
            while True:
                with trio.move_on_after(self._patience()):
                    number = await anext(arriving)
                    if number == signal.SIGHUP and self._reload is not None:
                        self._reload()
                        continue
                    self.number = number
                self._steps[min(self.taken, len(self._steps) - 1)]()
                self.taken += 1

    def _patience(self) -> float:
        climbs = self.number in (signal.SIGTERM, signal.SIGHUP) and self.taken < len(self._steps)
        return PATIENCE if climbs else math.inf

    def _stop(self) -> None:
        self._engine.stop()
        if running := self._engine.running():
            self._notify(f"stopping: waiting for {name_some(running)}; interrupt again to cancel")

    def _cancel(self) -> None:
        self._engine.cancel()
        if running := self._engine.running():
            self._notify(f"cancelling {name_some(running)}; interrupt again to kill what they run")

    def _kill(self) -> None:
        groups = kill_children()
        self._notify(f"killed {counted(groups, 'process group')}")
        if LEFT_ALONE:
            names = ", ".join(f"{program} (pid {number})" for number, program in LEFT_ALONE.items())
            what = f"{names} must come to an end: to kill it now could leave packages half installed"
            self._notify(f"{what}; interrupt again to end without waiting for it")

    def _leave(self) -> None:
        """What comes to its end alone needs nobody. A run that was killed is no other: the next one goes on from there."""
        if not LEFT_ALONE:
            self._kill()
            return
        self._notify("ending, and leaving it to its work")
        os._exit(128 + self.number)


def kill_children() -> int:
    """Send SIGKILL to each child with its whole process group; return the number of groups.

    Commands run in groups of their own. A child that shares ours is killed alone, and one that must come to its end is not.
    """
    ours = os.getpgrp()
    groups: set[int] = set()
    for child in set(_children(os.getpid())) - LEFT_ALONE.keys():
        with suppress(ProcessLookupError):
            group = os.getpgid(child)
            if group == ours:
                os.kill(child, signal.SIGKILL)
            elif group not in groups:
                os.killpg(group, signal.SIGKILL)
            groups.add(group)
    return len(groups)


def _children(parent: int) -> Iterator[int]:
    """The processes whose parent is ``parent``. A name in ``stat`` may hold anything, also ``) ``."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                stat = (entry / "stat").read_bytes()
                if int(stat.rpartition(b")")[2].split()[1]) == parent:
                    yield int(entry.name)
