"""Runs work in a thread for groups of items: items that wait at the same time are worked on together."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

import trio

from reactor.resource.threads import NO_THREAD

if TYPE_CHECKING:
    from outcome import Outcome

_Item = TypeVar("_Item")

Ended = Callable[[OSError | None], None]
"""Called when an item has been worked on, with the error that has kept all of its group from it."""


class GroupedWork(Generic[_Item]):
    """Calls ``work`` in a thread with one group at a time: all items that were waiting when it began.

    ``work`` blocks, and may raise OSError. Not by `trio.to_thread`: a repair of one file waits for the start, and a task of
    its own for each group would be three times as long.
    """

    def __init__(self, work: Callable[[Sequence[_Item]], None]) -> None:
        self._work = work
        self._waiting: dict[_Item, Ended] = {}
        self._is_working = False

    def add(self, item: _Item, ended: Ended) -> None:
        """Work on ``item`` as soon as possible, and call ``ended`` on the event loop then."""
        self._waiting[item] = ended
        if not self._is_working:
            self._begin()

    def withdraw(self, item: _Item) -> bool:
        """Take back what still waits. False if the thread has it already."""
        return self._waiting.pop(item, None) is not None

    async def join(self, item: _Item) -> None:
        """Return when ``work`` has had ``item``. If it fails, every member of the group raises OSError.

        ``item`` is not used after this has returned, not even after a cancellation.
        """
        is_over, errors = trio.Event(), list[OSError]()

        def ended(error: OSError | None) -> None:
            if error is not None:
                errors.append(error)
            is_over.set()

        self.add(item, ended)
        try:
            await is_over.wait()
        except trio.Cancelled:
            if not self.withdraw(item):
                with trio.CancelScope(shield=True):  # the thread has the item
                    await is_over.wait()
            raise
        if errors:
            raise OSError(*errors[0].args) from errors[0]

    def _begin(self) -> None:
        """Work on all that waits."""
        group, self._waiting = self._waiting, {}
        self._is_working = True
        token = trio.lowlevel.current_trio_token()

        def deliver(result: Outcome[None]) -> None:
            with suppress(trio.RunFinishedError):
                token.run_sync_soon(self._end, group, result.unwrap)

        try:
            trio.lowlevel.start_thread_soon(partial(self._work, list(group)), deliver)
        except RuntimeError:
            token.run_sync_soon(self._end, group, _fail_without_thread)

    def _end(self, group: dict[_Item, Ended], result: Callable[[], None]) -> None:
        error = None
        try:
            result()
        except OSError as refusal:
            error = refusal
        if self._waiting:
            self._begin()
        else:
            self._is_working = False
        for ended in group.values():
            ended(error)


def _fail_without_thread() -> None:
    raise OSError(errno.EAGAIN, NO_THREAD)
