"""Runs work in a thread for groups of items: items that wait at the same time are worked on together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import trio

from reactor.resource.threads import in_thread

_Item = TypeVar("_Item")


class _Group(Generic[_Item]):
    """Items that one call works on."""

    def __init__(self) -> None:
        self.items: list[_Item] = []
        self.ended = trio.Event()
        self.error: OSError | None = None


class GroupedWork(Generic[_Item]):
    """Calls ``work`` in a thread with one group at a time: all items that were waiting when it began.

    ``work`` blocks, and may raise OSError.
    """

    def __init__(self, work: Callable[[Sequence[_Item]], None]) -> None:
        self._work = work
        self._gathering: _Group[_Item] = _Group()
        self._working = False

    async def join(self, item: _Item) -> None:
        """Return when ``work`` has had ``item``. If it fails, every member of the group raises OSError.

        ``item`` is not used after this has returned, not even after a cancellation.
        """
        group = self._gathering
        group.items.append(item)
        if not self._working:
            self._working = True
            trio.lowlevel.spawn_system_task(self._run)
        try:
            await group.ended.wait()
        except trio.Cancelled:
            if group is self._gathering:
                group.items.remove(item)
            else:
                with trio.CancelScope(shield=True):  # the thread has the item
                    await group.ended.wait()
            raise
        if group.error is not None:
            raise OSError(*group.error.args) from group.error

    async def _run(self) -> None:
        """Work on group after group. Begins after the tasks that are ready now, so that they join the first group."""
        while self._gathering.items:
            group, self._gathering = self._gathering, _Group()
            try:
                await in_thread(self._work, group.items)
            except OSError as error:
                group.error = error
            finally:
                group.ended.set()
        self._working = False
