"""Ends commands that checks have started and that nothing gentler has ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from reactor.resource.left_alone import LEFT_ALONE


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
