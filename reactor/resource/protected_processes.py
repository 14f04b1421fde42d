"""Processes that must not be killed, however a run ends: half a package transaction is worse than none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

_running: dict[int, str] = {}

PROTECTED_PROCESSES: Mapping[int, str] = MappingProxyType(_running)
"""The children that must not be killed: process number -> name of the program."""


@contextmanager
def protect_process(process: int, program: str) -> Iterator[None]:
    """Within this context, the child ``process``, which leads its own process group, must not be killed."""
    _running[process] = program
    try:
        yield
    finally:
        del _running[process]
