"""The details of one resource: its properties, status, neighbours, diff and history."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from reactor.control.names import find
from reactor.graph.export.picture import properties, shortened
from reactor.graph.graph import Edge
from reactor.resource.threads import in_thread
from reactor.ui.event_buffer import text_of
from reactor.ui.live_page import LivePage

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
