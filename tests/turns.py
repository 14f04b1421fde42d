"""Bars in seconds that hold on a busy machine: of some turns, the best counts."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import inf

TURNS = 6


class StopWatch:
    """``seconds`` that a block took, or that the test sets."""

    def __init__(self) -> None:
        self.seconds = inf

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self.seconds = time.monotonic() - self._began


def turns(most: float) -> Iterator[StopWatch]:
    """A stop-watch for each turn, until one shows less than ``most`` seconds. It is an AssertionError if none does.

    What is slow by itself is so in each turn; other work of the machine is not in its way each time.
    """
    found = []
    with before_others():
        for _ in range(TURNS):
            watch = StopWatch()
            yield watch
            if watch.seconds < most:
                return
            found.append(round(watch.seconds, 4))
    raise AssertionError(f"seconds of the turns: {found}; one of them is to be less than {most:g}")


@contextmanager
def before_others() -> Iterator[None]:
    """Run this process, and what it starts, before the other work of the machine while a block lasts. Only root may.

    A bar is about the program, not about the tests that run beside this one.
    """
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, usual - 15)
    try:
        yield
    finally:
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, usual)
