"""Reads the journal of the run for its page."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any, TypeVar

from reactor.control.explanation import Explanation
from reactor.journal.history import Entry, History, HistoryError
from reactor.journal.journal import Journal
from reactor.resource.threads import in_thread

_Answer = TypeVar("_Answer")


class PageHistory:
    """Reads the journal in ``directory`` in a thread, while ``journal`` writes it."""

    def __init__(self, directory: str, journal: Journal) -> None:
        self._directory = directory
        self._journal = journal

    async def of(self, ref: str, most: int) -> tuple[list[str] | None, list[dict[str, Any]]]:
        """The explanation of ``ref`` and its last ``most`` events; None and no events if the journal can't be read."""
        await self._journal.catch_up()

        def ask(history: History) -> tuple[list[str] | None, list[dict[str, Any]]]:
            why = Explanation(history, time.time()).explain(ref)
            return why, [_record(entry) for entry in history.latest(most, ref=ref)]

        return await self._ask(ask) or (None, [])

    async def before(self, moment: float, most: int) -> list[dict[str, Any]]:
        """The last ``most`` events before ``moment`` (seconds since 1970)."""

        def ask(history: History) -> list[dict[str, Any]]:
            return [_record(entry) for entry in history.latest(most, before=moment)]

        return await self._ask(ask) or []

    async def _ask(self, question: Callable[[History], _Answer]) -> _Answer | None:
        return await in_thread(partial(self._asked, question))

    def _asked(self, question: Callable[[History], _Answer]) -> _Answer | None:
        try:
            with closing(History(self._directory)) as history:
                return question(history)
        except HistoryError:  # the run has warned when the disk began to fail
            return None


def _record(entry: Entry) -> dict[str, Any]:
    return {"id": entry.id, **entry.record}
