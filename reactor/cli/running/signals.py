"""Stops a run on signals, in steps: first wait for running checks, then cancel them, then kill processes."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import trio

from reactor.console.open_problems import name_some
from reactor.engine.engine import Engine
from reactor.number_format import counted
from reactor.resource.protected_processes import PROTECTED_PROCESSES

TIMEOUT = 15.0
"""Seconds after SIGTERM or SIGHUP until the next step is taken, if the run has not ended."""

_HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """Handles the signals of a run.

    The first signal waits for running checks and starts no others; the second cancels them; the third kills their
    processes, except package managers; the fourth ends the run without waiting for these. SIGINT takes one step for each
    ^C. SIGTERM and SIGHUP come once, from a service manager or a closed terminal, so they take the next step every
    `TIMEOUT` seconds. With ``reload``, SIGHUP reloads instead, as service managers expect; after its terminal was closed,
    such a run ends because its output has no reader.
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
        """The last signal."""

    @property
    def cut_short(self) -> bool:
        """Whether running checks were cancelled."""
        return self.taken > 1

    @property
    def left_work(self) -> bool:
        """Whether the run was stopped before all pending checks and retries were done."""
        return self.taken > 0 and not self._engine.scheduler.at_rest

    async def listen(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Take a step for each signal. Signals that were ignored at the start, as with nohup, stay ignored."""
        handled = [number for number in _HANDLED if signal.getsignal(number) is not signal.SIG_IGN]
        with trio.open_signal_receiver(*handled) as arriving:
            task_status.started()
            while True:
                with trio.move_on_after(self._timeout()):
                    number = await anext(arriving)
                    if number == signal.SIGHUP and self._reload is not None:
                        self._reload()
                        continue
                    self.number = number
                self._steps[min(self.taken, len(self._steps) - 1)]()
                self.taken += 1

    def _timeout(self) -> float:
        escalates = self.number in (signal.SIGTERM, signal.SIGHUP) and self.taken < len(self._steps)
        return TIMEOUT if escalates else math.inf

    def _stop(self) -> None:
        self._engine.stop()
        if running := self._engine.running():
            self._notify(f"stopping: waiting for {name_some(running)}; interrupt again to cancel")

    def _cancel(self) -> None:
        self._engine.cancel()
        if running := self._engine.running():
            self._notify(f"cancelling {name_some(running)}; interrupt again to kill their processes")

    def _kill(self) -> None:
        groups = kill_children()
        self._notify(f"killed {counted(groups, 'process group')}")
        if PROTECTED_PROCESSES:
            names = ", ".join(f"{program} (pid {number})" for number, program in PROTECTED_PROCESSES.items())
            what = f"{names} is not killed: that could leave packages half installed"
            self._notify(f"{what}; interrupt again to end without waiting for it")

    def _leave(self) -> None:
        """End without waiting for the package manager: it finishes alone, and the next run goes on from there."""
        if not PROTECTED_PROCESSES:
            self._kill()
            return
        self._notify("ending; the package manager goes on")
        os._exit(128 + self.number)


def kill_children() -> int:
    """Send SIGKILL to each child with its process group; return the number of groups.

    Commands run in their own process groups. A child in our group is killed alone. Children in `PROTECTED_PROCESSES`
    are not killed.
    """
    ours = os.getpgrp()
    groups: set[int] = set()
    for child in set(_children(os.getpid())) - PROTECTED_PROCESSES.keys():
        with suppress(ProcessLookupError):
            group = os.getpgid(child)
            if group == ours:
                os.kill(child, signal.SIGKILL)
            elif group not in groups:
                os.killpg(group, signal.SIGKILL)
            groups.add(group)
    return len(groups)


def _children(parent: int) -> Iterator[int]:
    """The processes whose parent is ``parent``. The program name in ``stat`` may contain anything, also ``) ``."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                stat = (entry / "stat").read_bytes()
                if int(stat.rpartition(b")")[2].split()[1]) == parent:
                    yield int(entry.name)
