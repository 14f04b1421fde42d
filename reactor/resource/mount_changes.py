"""Word of every change of the mount table."""

from __future__ import annotations

import select
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import trio

from reactor.mountinfo import MOUNTINFO


async def follow_mounts(look: Callable[[], None]) -> None:
    """Call ``look`` now and after every change of a mount, for ever. Raises OSError when there is no /proc.

    What ``look`` raises ends it. The kernel tells of changes as urgent data, for which trio can't wait, but epoll can.
    It tells of each once, and to begin a wait is to ask, which answers what came before: so that is when to look.
    """

    async def soon() -> None:  # is when the wait has begun
        look()

    with _changes() as changes:
        async with trio.open_nursery() as nursery:
            while True:
                nursery.start_soon(soon)
                await trio.lowlevel.wait_readable(changes.fileno())
                changes.poll(0)


@contextmanager
def _changes() -> Iterator[select.epoll]:
    with open(MOUNTINFO, "rb") as table, select.epoll() as changes:
        changes.register(table, select.EPOLLPRI)
        yield changes
