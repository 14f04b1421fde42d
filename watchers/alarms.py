"""Marks a vertex at a time that its resource has set, such as the moment at which a file becomes too old."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import trio

from reactor import Watch, Watcher, WatchSink


class Alarm:
    """The next time at which a resource must be checked, by the clock of the trio loop. A resource has one."""

    def __init__(self) -> None:
        self.at = math.inf
        self._on_change: Callable[[], None] | None = None

    def set(self, at: float) -> None:
        """Set the time; ``math.inf`` for none. The earlier time is dropped."""
        self.at = at
        if self._on_change is not None:
            self._on_change()

    def listen(self, on_change: Callable[[], None] | None) -> None:
        """Call ``on_change`` when the time is set."""
        self._on_change = on_change


@dataclass(frozen=True, slots=True)
class AlarmWatch(Watch):
    """A check at the time of ``alarm``."""

    alarm: Alarm


class AlarmWatcher(Watcher):
    """Waits for the earliest of all alarms. Between them it does nothing."""

    serves = AlarmWatch

    def __init__(self, sink: WatchSink) -> None:
        super().__init__(sink)
        self._alarms: dict[int, Alarm] = {}
        self._is_set = trio.Event()

    async def arm(self, watch: Watch, vertex: int) -> None:
        """Listen for an AlarmWatch."""
        alarm = self._alarms[vertex] = cast("AlarmWatch", watch).alarm
        alarm.listen(self._wake)
        self._wake()

    def disarm(self, watch: Watch, vertex: int) -> None:
        """Stop listening for an AlarmWatch."""
        if self._alarms.get(vertex) is cast("AlarmWatch", watch).alarm:
            self._alarms.pop(vertex).listen(None)

    async def run(self) -> None:
        """Mark each vertex when its time has come, until cancelled."""
        while True:
            with trio.move_on_at(min((alarm.at for alarm in self._alarms.values()), default=math.inf)):
                await self._is_set.wait()
            self._is_set = trio.Event()
            now = trio.current_time()
            for vertex, alarm in self._alarms.items():
                if alarm.at <= now:
                    alarm.at = math.inf
                    self.sink.mark(vertex)

    def close(self) -> None:
        """Do nothing: there is no descriptor to free."""

    def _wake(self) -> None:
        self._is_set.set()
