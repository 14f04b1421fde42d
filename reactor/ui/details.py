"""The details of one resource: its properties, status, neighbours and diff, and its history from the journal."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from reactor.control.explanation import Explanation
from reactor.control.names import find
from reactor.graph.export.picture import properties, shortened
from reactor.graph.graph import Edge
from reactor.journal.history import Entry, History, HistoryError
from reactor.journal.journal import Journal
from reactor.resource.threads import in_thread
from reactor.ui.event_buffer import text_of

if TYPE_CHECKING:
    from reactor.ui.live_page import LivePage


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


RECENT = 20
"""The most events in the details of one resource."""


async def details(page: LivePage, name: str) -> dict[str, Any]:
    """The details of the resource ``name`` as a JSON object. Raises UnknownNameError."""
    engine = page.engine
    resource = engine.vertex_table.resources[find(engine.vertex_table, name)]
    resource_status, diff = page.run_handle.resource(resource.ref), page.diffs.of(resource.ref)
    why, events = await _past(page, resource.ref)
    return {
        "ref": resource.ref,
        "kind": resource.kind,
        "name": resource.name,
        "alias": resource.alias,
        "place": None if resource.declared.place is None else str(resource.declared.place),
        "properties": shortened(properties(resource)),
        "status": resource_status,
        "edges": await in_thread(partial(_neighbours, page, resource.ref)),
        "diff": None if diff is None else diff._asdict(),
        "why": why,
        "events": events,
    }


def _neighbours(page: LivePage, ref: str) -> dict[str, list[dict[str, str]]]:
    edges = page.drawing.edges(page.engine)
    return {
        "before": [_neighbour(edge.first, edge) for edge in edges if edge.second == ref],
        "after": [_neighbour(edge.second, edge) for edge in edges if edge.first == ref],
    }


def _neighbour(ref: str, edge: Edge) -> dict[str, str]:
    return {"ref": ref, "kind": str(edge.kind), "reason": edge.reason}


async def _past(page: LivePage, ref: str) -> tuple[list[str] | None, list[dict[str, Any]]]:
    """The explanation and the last events of ``ref``; without a journal, None and the events of this run."""
    if page.past is not None:
        return await page.past.of(ref, RECENT)
    return None, [json.loads(text_of(each)) for each in page.event_buffer.latest(ref=ref)[-RECENT:]]
