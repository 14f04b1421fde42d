"""A lease of one or more slots, and the task that renews the leases in use."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import trio

from reactor.fleet.link.errors import LinkError, WrongRevisionError
from reactor.fleet.link.key_value import KeyValue
from reactor.fleet.slot_holder import Holder, Place, holder_of
from reactor.resource.common_properties import Slot

_GIVEN_BACK = 1
"""Seconds for which it stays there that a slot was given back."""
_AGAIN = 1.0
"""Seconds until the next attempt to renew, when the servers did not answer."""


class LeaseRenewer:
    """Renews the leases that are in use. After a restart of `run`, it goes on with them."""

    def __init__(self) -> None:
        self._in_use: dict[Lease, trio.CancelScope] = {}
        self._nursery: trio.Nursery | None = None

    async def run(self) -> None:
        """Renew until cancelled."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            try:
                for lease in self._in_use:
                    self._start(lease)
                await trio.sleep_forever()
            finally:
                self._nursery = None

    def begin(self, lease: Lease) -> None:
        """Begin to renew ``lease``."""
        if lease not in self._in_use:
            self._start(lease)

    def end(self, lease: Lease) -> None:
        """Stop renewing ``lease``."""
        if (scope := self._in_use.pop(lease, None)) is not None:
            scope.cancel()

    def _start(self, lease: Lease) -> None:
        scope = self._in_use[lease] = trio.CancelScope()
        if self._nursery is not None:
            self._nursery.start_soon(_renew, lease, scope)


async def _renew(lease: Lease, scope: trio.CancelScope) -> None:
    with scope:
        pause = lease.slot.lease / 3
        while True:
            await trio.sleep(pause)
            try:
                await lease.renew()
            except WrongRevisionError:
                return
            except LinkError:
                pause = min(_AGAIN, lease.slot.lease / 3)
            else:
                pause = lease.slot.lease / 3


class Lease:
    """Implements `reactor.engine.slots.Permit`: the slots of ``holder``, until the lease ends by ``clock``."""

    def __init__(self, slot: Slot, holder: Holder, renewer: LeaseRenewer, clock: Callable[[], float]) -> None:
        self.slot = slot
        self.holder = holder
        self._renewer = renewer
        self._clock = clock
        self._bucket: KeyValue | None = None
        self._until: dict[str, float] = {}
        self._revisions: dict[str, int] = {}

    @property
    def is_held(self) -> bool:
        """Whether the lease is certainly still valid. Without slots, as while no server can be reached, it is."""
        now = self._clock()
        return all(now < until for until in self._until.values())

    def begin(self) -> None:
        """Begin to renew the lease."""
        if self._revisions:
            self._renewer.begin(self)

    def end(self) -> None:
        """Stop renewing the lease."""
        self._renewer.end(self)

    async def take(self, bucket: KeyValue, place: Place, revision: int) -> None:
        """Take a slot if its last entry of all hosts still has ``revision``. Raises WrongRevisionError, LinkError."""
        self._bucket = bucket
        await self._write(place.key(self.holder.host), revision, among=place.filter)

    async def renew(self) -> None:
        """Renew each slot. Raises WrongRevisionError when a slot was lost, and LinkError."""
        for key, revision in list(self._revisions.items()):
            try:
                await self._write(key, revision)
            except WrongRevisionError:
                self._until[key] = -math.inf
                raise

    async def release(self) -> None:
        """Release all slots. Slots that no server releases become free when the lease expires."""
        self.end()
        keys, self._until = list(self._until), {}
        for key in keys:
            try:
                await self._delete(key)
            except LinkError:
                continue

    async def _write(self, key: str, revision: int, among: str | None = None) -> None:
        if self._bucket is None:
            raise AssertionError("a lease is renewed only after it was taken")
        asked = self._clock()
        ttl = math.ceil(self.slot.lease)
        value = self.holder.to_bytes()
        self._revisions[key] = await self._bucket.update(key, value, revision, ttl=ttl, among=among)
        self._until[key] = asked + self.slot.lease

    async def _delete(self, key: str) -> None:
        """Delete a slot of ours. An interrupted renewal may have changed its revision."""
        if self._bucket is None:
            return
        delete = partial(self._bucket.delete, key, ttl=_GIVEN_BACK)
        try:
            await delete(revision=self._revisions.get(key, 0))
        except WrongRevisionError:
            entry = await self._bucket.get(key)
            if entry is not None and holder_of(key, entry.value).token == self.holder.token:
                await delete(revision=entry.revision)
