"""Processes that must come to their end, whatever becomes of a run: half a transaction of packages is worse than none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

_running: dict[int, str] = {}

LEFT_ALONE: Mapping[int, str] = MappingProxyType(_running)
"""The children that must not be killed, by process number; the name of the program of each."""


@contextmanager
def left_alone(process: int, program: str) -> Iterator[None]:
    """Within this context, the child ``process`` must not be killed, which leads a group of its own."""
    _running[process] = program
    try:
        yield
    finally:
        del _running[process]
