"""A program of its own: it ends the commands of a reactor that has died. Its arguments are their leaders' numbers.

`reaper_pipe` has it started.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

import trio

from reactor.resources.process.group import end_group


async def end_all(leaders: Iterable[int]) -> None:
    """End their groups, all at once."""
    async with trio.open_nursery() as nursery:
        for leader in leaders:
            nursery.start_soon(end_group, leader)


if __name__ == "__main__":
    trio.run(end_all, map(int, sys.argv[1:]))
