"""The pauses people have asked for, in a file of the state directory, so that they outlive the process.

Needs no trio: the commands use it too when nothing runs.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from reactor.atomic_write import replace_file
from reactor.graph.names import covers
from reactor.journal.state_directory import PAUSES_FILE

LONGEST = 366 * 86400.0
"""Seconds that a pause may last."""
_LOCK = "pauses.lock"
_YEAR_10000 = 253402300800.0
"""In seconds since 1970. Later times have no date to show."""


@dataclass(frozen=True, slots=True)
class Pause:
    """What is called like ``pattern`` is not checked from ``since`` to ``until`` (seconds since 1970).

    ``until`` is None for an exception: it takes part of earlier, wider pauses back. The last word on a resource wins.
    """

    pattern: str
    since: float
    until: float | None
    reason: str


def is_sane(seconds: float) -> bool:
    """Whether something may be paused for so many seconds."""
    return math.isfinite(seconds) and 0 < seconds <= LONGEST


def effective(pauses: Sequence[Pause], names: Sequence[str], now: float) -> Pause | None:
    """The pause that is in force at ``now`` for the resource with these names."""
    for pause in reversed(pauses):
        if (pause.until is None or pause.until > now) and covers(pause.pattern, names):
            return None if pause.until is None else pause
    return None


def patterns(pauses: Iterable[Pause]) -> set[str]:
    """What the pauses are about; exceptions are none."""
    return {pause.pattern for pause in pauses if pause.until is not None}


class PauseFile:
    """The file in a state directory. Every change reads, writes and replaces it under a lock, so that no two processes undo each other's."""

    def __init__(self, directory: str, tell: Callable[[str], None]) -> None:
        self._directory = directory
        self._path = os.path.join(directory, PAUSES_FILE)
        self._tell = tell

    def read(self) -> tuple[Pause, ...]:
        """All pauses, the last asked for last; none where they can't be read, and then `tell` hears of it."""
        try:
            return self._read()
        except OSError as error:
            self._tell(f"{self._path} can't be read ({error.strerror}): nothing is paused; mend or remove it")
            return ()

    def living(self, now: float) -> list[Pause]:
        """The pauses that are not over."""
        return _living(self.read(), now)

    def add(self, pattern: str, now: float, until: float, reason: str) -> tuple[Pause, ...]:
        """Pause what matches ``pattern``; what the same pattern said before is replaced. Returns all pauses."""
        with self._changing() as pauses:
            pauses[:] = [pause for pause in _living(pauses, now) if pause.pattern != pattern]
            pauses.append(Pause(pattern, now, until, reason))
        return tuple(pauses)

    def take_back(self, pattern: str, now: float) -> tuple[Pause, ...]:
        """End every pause of what matches ``pattern``. Returns all pauses that are left."""
        with self._changing() as pauses:
            pauses[:] = [p for p in _living(pauses, now) if not covers(pattern, (p.pattern,))]
            pauses.append(Pause(pattern, now, None, ""))
            pauses[:] = _living(pauses, now)
        return tuple(pauses)

    def is_lost(self) -> bool:
        """Whether there is no file."""
        return not os.path.lexists(self._path)

    def put_back(self, known: Sequence[Pause], now: float) -> tuple[Pause, ...]:
        """Write down what is ``known`` from a file that was removed. Returns all pauses: what came meanwhile goes on top."""
        with self._changing() as pauses:
            pauses[:] = _living([*known, *(pause for pause in pauses if pause not in known)], now)
        return tuple(pauses)

    def _read(self) -> tuple[Pause, ...]:
        """All pauses. A file that makes no sense is moved aside. Raises OSError where even that can't be."""
        try:
            with open(self._path, encoding="utf-8", opener=_without_waiting) as file:
                return tuple(map(_parsed, json.load(file)))
        except FileNotFoundError:
            return ()
        except (ValueError, TypeError, RecursionError) as error:
            reason = str(error)
        except OSError as error:
            if os.path.isfile(self._path):  # only its disk is sick: what it says may be read later
                raise
            reason = os.strerror(error.errno or 0)
        aside = f"{self._path}.broken-{time.time_ns()}"
        os.replace(self._path, aside)
        self._tell(f"the file of pauses makes no sense ({reason}): nothing is paused; it is kept as {aside}")
        return ()

    @contextmanager
    def _changing(self) -> Iterator[list[Pause]]:
        descriptor = os.open(
            os.path.join(self._directory, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            pauses = list(self._read())
            yield pauses
            text = json.dumps([asdict(pause) for pause in pauses], indent=1) + "\n"
            replace_file(self._path, text.encode(), 0o600)
        finally:
            os.close(descriptor)


def _without_waiting(path: str, flags: int) -> int:
    """Open a pipe that somebody has put there without waiting for a writer."""
    return os.open(path, flags | os.O_NONBLOCK)


def _living(pauses: Iterable[Pause], now: float) -> list[Pause]:
    """Without what is over, and without exceptions that have nothing earlier left to take from."""
    living: list[Pause] = []
    for pause in pauses:
        if bool(living) if pause.until is None else pause.until > now:
            living.append(pause)
    return living


def _parsed(record: Any) -> Pause:
    pause = Pause(**record)
    times = (pause.since, 0.0 if pause.until is None else pause.until)
    if not (isinstance(pause.pattern, str) and isinstance(pause.reason, str)):
        raise TypeError("a pattern and a reason are texts")
    if not all(isinstance(time, int | float) for time in times):
        raise TypeError("times are seconds since 1970")
    if not all(0 <= time < _YEAR_10000 for time in times):
        raise ValueError("times are from 1970 to 9999")
    return pause
