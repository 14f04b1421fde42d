"""Slots of a fleet: a check that would change something waits until the gate admits it.

The check ends without a result, its vertex is held, and starts again with a slot: so it sees the host as it is then, no
worker waits, and everything below the vertex waits with it. A vertex without a slot never comes here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

import trio

from reactor.engine.dispatcher import Dispatcher
from reactor.engine.outcome import Outcome
from reactor.resource.common_properties import Slot
from reactor.resource.plan import ResourceError

_BAD = (Outcome.FAILED, Outcome.UNHEALTHY, Outcome.CRITICAL)
GIVING_BACK = 2.0
"""Seconds within which the slots must be given back at the end of a run. Later, their leases end."""
_AGAIN = 5.0
"""Seconds after which a gate is asked again that has failed, which is a bug in it."""


class Permit(Protocol):
    """A slot that was taken. It lasts for the lease; while it is `begun`, the gate renews it."""

    slot: Slot

    @property
    def is_held(self) -> bool:
        """Whether it certainly lasts still."""

    def begin(self) -> None:
        """The resource changes now: renew the lease."""

    def end(self) -> None:
        """The change is over: renew no longer."""

    async def release(self) -> None:
        """Give the slot back. Never raises: a slot that can't be given back ends with its lease."""


class SlotGate(Protocol):
    """Decides which host may change something now."""

    async def admit(self, slot: Slot, ref: str, waits: Callable[[str], None]) -> Permit:
        """Return when the resource ``ref`` may change. While it must wait, call ``waits`` with each new reason."""


class SlotQueue:
    """The vertices that wait for a slot, and those that have one. Without a ``gate`` there are no slots here."""

    def __init__(self, dispatcher: Dispatcher, gate: SlotGate | None) -> None:
        self.wanted: dict[int, Slot] = {}
        """The vertices whose running check ends now because they have no slot."""
        self.permits: dict[int, Permit] = {}
        self._dispatcher = dispatcher
        self._gate = gate
        self._kept: set[int] = set()
        self._waits: dict[int, trio.CancelScope] = {}
        self._nursery: trio.Nursery | None = None

    def start(self, nursery: trio.Nursery) -> None:
        """The run begins: wait in ``nursery``."""
        self._nursery = nursery

    def require(self, vertex: int, slot: Slot, *, noop: bool) -> None:
        """``vertex`` would be changed now: raise ResourceError if it may not. In a dry run no slot is taken."""
        if self._gate is None:
            if slot.offline == "wait":
                raise ResourceError(
                    f"it needs the slot {slot.name}, and this run belongs to no fleet",
                    "run it with 'reactor fleet follow', or set offline: proceed in the slot",
                    code="R0510",
                )
        elif not noop:
            permit = self.permits.get(vertex)
            if permit is None or not permit.is_held:
                self.wanted[vertex] = slot
                raise ResourceError(f"it waits for the slot {slot.name}", code="R0510")
            self._kept.discard(vertex)
            permit.begin()

    def wait(self, vertex: int) -> None:
        """The check of ``vertex`` has ended because it has no slot: hold it until it has one."""
        slot = self.wanted.pop(vertex)
        self._give_back(vertex)
        if self._nursery is None or self._dispatcher.is_stopping or not self._is_present(vertex):
            return
        self._dispatcher.scheduler.order.hold(vertex)
        scope = self._waits[vertex] = trio.CancelScope()
        self._nursery.start_soon(self._admit, vertex, slot, scope)

    def ended(self, vertex: int, outcome: Outcome) -> None:
        """The check of ``vertex`` has ended: give its slot back, or keep it until the lease ends."""
        permit = self.permits[vertex]
        permit.end()
        if permit.slot.keep_on_failure and outcome in _BAD:
            self._kept.add(vertex)
        else:
            self._give_back(vertex)

    def forget(self, vertices: list[int], running: Callable[[int], bool]) -> None:
        """``vertices`` have left the graph, or changed. A check that is running keeps its slot until it ends."""
        for vertex in vertices:
            if (scope := self._waits.pop(vertex, None)) is not None:
                scope.cancel()
                self._dispatcher.release(vertex)
            if vertex in self.permits and not running(vertex):
                self._give_back(vertex)

    def stop_waiting(self) -> None:
        """No more checks start: ask for no slots."""
        waits, self._waits = self._waits, {}
        for scope in waits.values():
            scope.cancel()

    async def drain(self) -> None:
        """The run is over: give all slots back, but those that a failure keeps."""
        self.stop_waiting()
        with trio.move_on_after(GIVING_BACK, shield=True):
            async with trio.open_nursery() as nursery:
                for vertex, permit in self.permits.items():
                    if vertex not in self._kept:
                        nursery.start_soon(permit.release)

    def _is_present(self, vertex: int) -> bool:
        return vertex in self._dispatcher.vertex_table.present

    def _give_back(self, vertex: int) -> None:
        permit = self.permits.pop(vertex, None)
        self._kept.discard(vertex)
        if permit is not None and self._nursery is not None:
            self._nursery.start_soon(permit.release)

    async def _admit(self, vertex: int, slot: Slot, scope: trio.CancelScope) -> None:
        ref = self._dispatcher.vertex_table.refs[vertex]
        waits = partial(self._dispatcher.recorder.slot_waited, vertex, slot.name)
        with scope:
            permit = await self._admitted(slot, ref, waits)
            if self._waits.get(vertex) is scope:
                del self._waits[vertex]
                self.permits[vertex] = permit
                self._dispatcher.release(vertex)
                return
            with trio.move_on_after(GIVING_BACK, shield=True):  # it was cancelled as it got the slot
                await permit.release()

    async def _admitted(self, slot: Slot, ref: str, waits: Callable[[str], None]) -> Permit:
        if self._gate is None:
            raise AssertionError("a vertex waits for a slot only where there is a gate")
        while True:
            try:
                return await self._gate.admit(slot, ref, waits)
            except Exception as error:  # noqa: BLE001 - a bug of the network's side must not end the run
                waits(f"asking for it failed: {type(error).__name__}: {error}")
            await trio.sleep(_AGAIN)
