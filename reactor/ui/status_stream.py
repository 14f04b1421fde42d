"""The status of every resource in the short form of the page, and its changes."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from json.encoder import encode_basestring_ascii as quote

from reactor.control.status_table import StatusTable
from reactor.engine.engine import Engine
from reactor.resource.time_slice import TimeSlice


class StatusStream:
    """Remembers the last sent status of every resource as JSON, so that it is fast to compare and to send again."""

    def __init__(self, engine: Engine, status_table: StatusTable) -> None:
        self._engine = engine
        self._status_table = status_table
        self._sent: dict[str, str] = {}
        """Ref -> its status as a member of a JSON object: ``"kind#name":{...}``."""
        self._moving: set[int] = set()
        self._texts: dict[tuple[str, str | None, bool, bool], str] = {}

    def whole(self) -> str:
        """The last sent status of all resources, as a JSON object."""
        return _object(self._sent.values())

    async def now(self) -> str:
        """The current status of all resources, as a JSON object. It does not count as sent."""
        return _object([member async for _, member in self._found(sorted(self._engine.vertex_table.present))])

    async def renew(self) -> str | None:
        """Compare every resource, and drop removed ones. Return the changes as a JSON object; None for no changes."""
        vertex_table = self._engine.vertex_table
        for ref in self._sent.keys() - {vertex_table.refs[vertex] for vertex in vertex_table.present}:
            del self._sent[ref]
        self._moving = set(self._in_motion())
        return await self._changes_of(sorted(vertex_table.present))

    async def follow(self, touched: Iterable[str]) -> str | None:
        """The changed statuses, among the resources that had events (``touched``) and those that are or were active."""
        vertex_table = self._engine.vertex_table
        numbers = {vertex_table.number(ref) for ref in touched if ref in self._status_table.resource_statuses}
        moving = set(self._in_motion())
        seen, self._moving = moving | self._moving | numbers, moving
        return await self._changes_of(sorted(seen & vertex_table.present))

    def _in_motion(self) -> Iterator[int]:
        order = self._engine.scheduler.order
        if order.active_count:
            vertex = order.active.find(1)
            while vertex >= 0:
                yield vertex
                vertex = order.active.find(1, vertex + 1)

    async def _changes_of(self, vertices: Iterable[int]) -> str | None:
        changed = {
            ref: status async for ref, status in self._found(vertices) if self._sent.get(ref) != status
        }
        self._sent.update(changed)
        return _object(changed.values()) if changed else None

    async def _found(self, vertices: Iterable[int]) -> AsyncIterator[tuple[str, str]]:
        """The refs of ``vertices`` and the status of each, as a member of a JSON object."""
        refs, now, time_slice = self._engine.vertex_table.refs, time.time(), TimeSlice()
        running = set(self._engine.running())
        for vertex in vertices:
            await time_slice.step()
            ref = refs[vertex]
            if (text := self._text(vertex, ref, running, now)) is not None:
                yield ref, f"{quote(ref)}:{text}"

    def _text(self, vertex: int, ref: str, running: set[str], now: float) -> str | None:
        resource_status = self._status_table.resource_statuses.get(ref)
        if resource_status is None:
            return None
        paused = resource_status.paused is not None
        key = (
            str(resource_status.state),
            self._activity(vertex, ref, running, paused),
            paused,
            resource_status.is_ok(now),
        )
        if (text := self._texts.get(key)) is None:
            text = self._texts[key] = _text(*key)
        return text

    def _activity(self, vertex: int, ref: str, running: set[str], paused: bool) -> str | None:
        """The activity of an active resource; None for an idle one."""
        order = self._engine.scheduler.order
        if not order.active[vertex]:
            return None
        if ref in running:
            return "running"
        return "waiting" if paused or order.waiting[vertex] else "dirty"


def _text(state: str, activity: str | None, paused: bool, is_ok: bool) -> str:
    moves = activity is not None
    status = {"state": state, "in_motion": moves, "activity": activity, "paused": paused, "fine": is_ok}
    return json.dumps(status, separators=(",", ":"))


def _object(members: Iterable[str]) -> str:
    return f"{{{','.join(members)}}}"
