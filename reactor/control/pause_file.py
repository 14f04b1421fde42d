"""The file of pauses in the state directory, which outlives the process.

It needs no trio: commands use it too while no run is active.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from reactor.atomic_write import replace_file
from reactor.graph.globs import covers
from reactor.journal.state_directory import PAUSES_FILE

LONGEST = 366 * 86400.0
"""The longest pause, in seconds."""
_LOCK = "pauses.lock"
YEAR_10000 = 253402300800.0
"""In seconds since 1970. `datetime` has no later dates."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Pauses the resources that match ``pattern``, from ``since`` to ``until`` (seconds since 1970).

    With ``until`` None it is an exception: it ends the earlier, wider pauses of the resources that match. The last
    pause or exception that matches a resource applies.
    """

    pattern: str
    since: float
    until: float | None
    reason: str


def is_valid_duration(seconds: float) -> bool:
    """Whether a pause may last ``seconds``."""
    return math.isfinite(seconds) and 0 < seconds <= LONGEST


def effective(pauses: Sequence[Pause], names: Sequence[str], now: float) -> Pause | None:
    """The pause that applies at ``now`` to the resource with these names; None if it is not paused."""
    for pause in reversed(pauses):
        if (pause.until is None or pause.until > now) and covers(pause.pattern, names):
            return None if pause.until is None else pause
    return None


def patterns(pauses: Iterable[Pause]) -> set[str]:
    """The patterns of the pauses, without exceptions."""
    return {pause.pattern for pause in pauses if pause.until is not None}


def moved(pauses: Iterable[Pause], step: float) -> tuple[Pause, ...]:
    """The pauses after the clock was set by ``step`` seconds."""
    return tuple(
        replace(
            each,
            since=_possible(each.since + step),
            until=None if each.until is None else _possible(each.until + step),
        )
        for each in pauses
    )


def _possible(moment: float) -> float:
    return min(max(moment, 0.0), YEAR_10000 - 1)


class PauseFile:
    """The file of pauses. Every change reads and replaces it under a lock, so that processes do not overwrite each other."""

    def __init__(self, directory: str, warn: Callable[[str], None]) -> None:
        self._directory = directory
        self._path = os.path.join(directory, PAUSES_FILE)
        self._warn = warn

    def read(self) -> tuple[Pause, ...]:
        """All pauses, the oldest first. If the file can't be read, no pauses, with a warning."""
        try:
            return self._read()
        except OSError as error:
            self._warn(f"{self._path} can't be read ({error.strerror}): nothing is paused; fix or remove it")
            return ()

    def active(self, now: float) -> list[Pause]:
        """The pauses that have not ended at ``now``."""
        return _active(self.read(), now)

    def add(self, patterns: Collection[str], now: float, until: float, reason: str) -> tuple[Pause, ...]:
        """Add pauses, in place of earlier ones with the same patterns. Return all pauses. Raises OSError."""
        with self._changing() as pauses:
            added = {pattern: Pause(pattern, now, until, reason) for pattern in patterns}
            pauses[:] = [pause for pause in _active(pauses, now) if pause.pattern not in added]
            pauses.extend(added.values())
        return tuple(pauses)

    def remove(self, patterns: Collection[str], now: float) -> tuple[Pause, ...]:
        """End the pauses of the resources that match any of ``patterns``. Return the remaining pauses. Raises OSError."""
        with self._changing() as pauses:
            for pattern in patterns:
                pauses[:] = [p for p in _active(pauses, now) if not covers(pattern, (p.pattern,))]
                pauses.append(Pause(pattern, now, None, ""))
            pauses[:] = _active(pauses, now)
        return tuple(pauses)

    def move(self, step: float) -> None:
        """Move all pauses after the clock was set by ``step`` seconds. Raises OSError."""
        with self._changing() as pauses:
            pauses[:] = moved(pauses, step)

    def is_lost(self) -> bool:
        """Whether the file is missing."""
        return not os.path.lexists(self._path)

    def write_back(self, known: Sequence[Pause], now: float) -> tuple[Pause, ...]:
        """Write the ``known`` pauses again after the file was removed. Return all: these, then newer ones."""
        with self._changing() as pauses:
            pauses[:] = _active([*known, *(pause for pause in pauses if pause not in known)], now)
        return tuple(pauses)

    def _read(self) -> tuple[Pause, ...]:
        """All pauses. An invalid file is moved aside. Raises OSError if it can't be read or moved."""
        try:
            with open(self._path, encoding="utf-8", opener=_without_waiting) as file:
                return tuple(map(_parsed, json.load(file)))
        except FileNotFoundError:
            return ()
        except (ValueError, TypeError, RecursionError) as error:
            reason = str(error)
        except OSError as error:
            if os.path.isfile(self._path):  # a disk error: the file may be readable later, so it is kept
                raise
            reason = os.strerror(error.errno or 0)
        aside = f"{self._path}.broken-{time.time_ns()}"
        os.replace(self._path, aside)
        self._warn(f"the file of pauses is invalid ({reason}): nothing is paused; it is kept as {aside}")
        return ()

    @contextmanager
    def _changing(self) -> Iterator[list[Pause]]:
        descriptor = os.open(
            os.path.join(self._directory, _LOCK),
            os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW,
            0o600,
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
    """Open without blocking: a pipe in place of the file would wait for a writer."""
    return os.open(path, flags | os.O_NONBLOCK)


def _active(pauses: Iterable[Pause], now: float) -> list[Pause]:
    """The pauses that have not ended, and the exceptions that come after one of them."""
    active: list[Pause] = []
    for pause in pauses:
        if bool(active) if pause.until is None else pause.until > now:
            active.append(pause)
    return active


def _parsed(record: Any) -> Pause:
    pause = Pause(**record)
    times = (pause.since, 0.0 if pause.until is None else pause.until)
    if not (isinstance(pause.pattern, str) and isinstance(pause.reason, str)):
        raise TypeError("a pattern and a reason must be strings")
    if not all(isinstance(time, int | float) for time in times):
        raise TypeError("times are seconds since 1970")
    if not all(0 <= time < YEAR_10000 for time in times):
        raise ValueError("times are from 1970 to 9999")
    return pause
