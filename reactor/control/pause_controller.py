"""Applies the pauses in the state directory to a running engine, and ends each at its time."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import trio

from reactor.clock import STEP, uptime
from reactor.control.names import matching, names_by_vertex
from reactor.control.pause_file import Pause, PauseFile, effective, moved
from reactor.engine.events import Paused, Resumed

if TYPE_CHECKING:
    from reactor.engine.engine import Engine

LONGEST_NAP = 60.0
"""The longest sleep in seconds. Then the wall clock is read again: it may have been set, or the host suspended."""


class PauseController:
    """Keeps the vertices of ``engine`` paused that match a pause. ``clock`` returns seconds since 1970.

    ``steady_clock`` can't be set: where the two differ, ``clock`` was set, and the pauses move with it.
    """

    def __init__(
        self,
        engine: Engine,
        pauses: PauseFile,
        clock: Callable[[], float] = time.time,
        steady_clock: Callable[[], float] = uptime,
    ) -> None:
        self._engine = engine
        self._vertex_table = engine.vertex_table
        self._file = pauses
        self._clock = clock
        self._steady_clock = steady_clock
        self._offset = clock() - steady_clock()
        self._pauses: tuple[Pause, ...] = ()
        self._held: dict[int, Pause] = {}
        self._changed = trio.Event()

    def load(self) -> None:
        """Apply the pauses in the file. Call it before the engine runs, and after the socket is open."""
        self._pauses = self._file.read()
        self.apply()

    def is_lost(self) -> bool:
        """Whether the file was removed although there are pauses."""
        return bool(self._pauses) and self._file.is_lost()

    def renew(self) -> None:
        """Write the pauses to a new file, or load those in a file that another process has created. Raises OSError."""
        if self._pauses:
            self._pauses = self._file.write_back(self._pauses, self._clock())
            self.apply()
        else:
            self.load()

    async def run(self) -> None:
        """End each pause at its time, until cancelled."""
        while True:
            self._changed = trio.Event()
            with trio.move_on_after(self._nap()):
                await self._changed.wait()
            if self._follow_clock() or self._nap() == 0:
                self.apply()

    def pause(self, pattern: str, seconds: float, reason: str) -> list[str]:
        """Pause the resources that match ``pattern`` for some seconds.

        Returns their refs. Raises UnknownNameError and OSError.
        """
        self._follow_clock()
        now = self._clock()
        refs = [self._vertex_table.refs[vertex] for vertex in matching(self._vertex_table, pattern)]
        self._pauses = self._file.add(pattern, now, now + seconds, reason)
        self.apply()
        return refs

    def resume(self, pattern: str) -> list[str]:
        """End the pauses of resources that match ``pattern``. Return the refs that were paused; raises as `pause`."""
        matching(self._vertex_table, pattern)
        self._follow_clock()
        before = list(self._held)
        self._pauses = self._file.remove(pattern, self._clock())
        self.apply()
        return [self._vertex_table.refs[vertex] for vertex in before if vertex not in self._held]

    def paused(self) -> list[Paused]:
        """An event for each vertex that is paused now."""
        refs, now = self._vertex_table.refs, self._clock()
        return [
            Paused(now, refs[vertex], pause.until, pause.reason)
            for vertex, pause in self._held.items()
            if pause.until is not None
        ]

    def apply(self) -> None:
        """Pause and resume vertices of the engine so that they match the pauses. Call it also after a reload."""
        self._follow_clock()
        wanted = self._wanted()
        for vertex in [vertex for vertex in self._held if vertex not in wanted]:
            del self._held[vertex]
            self._engine.emit(Resumed(self._clock(), self._vertex_table.refs[vertex]))
            self._engine.dispatcher.unpause(vertex)
        for vertex, pause in wanted.items():
            before = self._held.get(vertex)
            if before is None:
                self._engine.dispatcher.pause(vertex)
            if before != pause and pause.until is not None:
                self._held[vertex] = pause
                event = Paused(self._clock(), self._vertex_table.refs[vertex], pause.until, pause.reason)
                self._engine.emit(event)
        self._changed.set()

    def _follow_clock(self) -> bool:
        """If the clock was set, move the pauses with it, so that each lasts as long as was asked for. Return whether it was."""
        step = self._clock() - self._steady_clock() - self._offset
        if abs(step) <= STEP:
            return False
        self._offset += step
        if self._pauses:
            self._pauses = moved(self._pauses, step)
            with suppress(OSError):  # this run keeps them in memory
                self._file.move(step)
        return True

    def _wanted(self) -> dict[int, Pause]:
        if not self._pauses:
            return {}
        now = self._clock()
        found = ((v, effective(self._pauses, names, now)) for v, names in names_by_vertex(self._vertex_table))
        return {vertex: pause for vertex, pause in found if pause is not None}

    def _nap(self) -> float:
        ends = [pause.until for pause in self._held.values() if pause.until is not None]
        if not ends:
            return float("inf")
        return min(max(min(ends) - self._clock(), 0.0), LONGEST_NAP)
