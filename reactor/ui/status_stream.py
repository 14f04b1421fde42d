"""How every resource stands, in the few words that a picture needs, and what of it has changed."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from json.encoder import encode_basestring_ascii as quote

from reactor.control.status_table import StatusTable
from reactor.engine.engine import Engine
from reactor.ui.time_slice import TimeSlice


class StatusStream:
    """What was told last of every resource, as JSON texts: comparing two is fast, and telling everything again too."""

    def __init__(self, engine: Engine, status_table: StatusTable) -> None:
        self._engine = engine
        self._status_table = status_table
        self._told: dict[str, str] = {}
        """By ref, each with it: ``"kind#name":{...}``."""
        self._moving: set[int] = set()
        self._texts: dict[tuple[str, str | None, bool, bool], str] = {}

    def whole(self) -> str:
        """What was told of all resources, as a JSON object."""
        return _object(self._told.values())

    async def now(self) -> str:
        """How all resources stand at this moment, as a JSON object; what was told of them stays as it is."""
        return _object([member async for _, member in self._found(sorted(self._engine.vertex_table.present))])

    async def renew(self) -> str | None:
        """Look at every resource; what left is forgotten. Returns what has changed, as a JSON object; None for nothing."""
        vertex_table = self._engine.vertex_table
        for ref in self._told.keys() - {vertex_table.refs[vertex] for vertex in vertex_table.present}:
            del self._told[ref]
        self._moving = set(self._in_motion())
        return await self._look_at(sorted(vertex_table.present))

    async def follow(self, touched: Iterable[str]) -> str | None:
        """The same for what is or was in motion, and for those ``touched`` by an event."""
        vertex_table = self._engine.vertex_table
        numbers = {vertex_table.number(ref) for ref in touched if ref in self._status_table.resource_statuses}
        moving = set(self._in_motion())
        seen, self._moving = moving | self._moving | numbers, moving
        return await self._look_at(sorted(seen & vertex_table.present))

    def _in_motion(self) -> Iterator[int]:
        order = self._engine.scheduler.order
        if order.active_count:
            vertex = order.active.find(1)
            while vertex >= 0:
                yield vertex
                vertex = order.active.find(1, vertex + 1)

    async def _look_at(self, vertices: Iterable[int]) -> str | None:
        changed = {ref: told async for ref, told in self._found(vertices) if self._told.get(ref) != told}
        self._told.update(changed)
        return _object(changed.values()) if changed else None

    async def _found(self, vertices: Iterable[int]) -> AsyncIterator[tuple[str, str]]:
        """The refs of ``vertices``, and how each stands, as a member of a JSON object."""
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
        """What a resource in motion is doing; None for one that rests."""
        order = self._engine.scheduler.order
        if not order.active[vertex]:
            return None
        if ref in running:
            return "running"
        return "waiting" if paused or order.waiting[vertex] else "dirty"


def _text(state: str, activity: str | None, paused: bool, fine: bool) -> str:
    moves = activity is not None
    told = {"state": state, "in_motion": moves, "activity": activity, "paused": paused, "fine": fine}
    return json.dumps(told, separators=(",", ":"))


def _object(members: Iterable[str]) -> str:
    return f"{{{','.join(members)}}}"
