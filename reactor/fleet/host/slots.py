"""Slots: at most N hosts change at once. A lease is a key with a time to live, taken by compare-and-set over the keys of all.

See `reactor.fleet.slot_holder` for the keys.

A holder counts its lease from before the request, on a clock that can not be set. So it stops before the server frees the
slot.
"""

from __future__ import annotations

import math
import random
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import trio

from reactor.clock import uptime
from reactor.fleet.bucket_names import CHANGED_SLOT, SLOTS
from reactor.fleet.host.leases import Lease, LeaseRenewer
from reactor.fleet.link.connection import Connection
from reactor.fleet.link.direct_get import last_messages
from reactor.fleet.link.errors import DisconnectedError, LinkError, WrongRevisionError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.key_value import Entry
from reactor.fleet.slot_holder import Holder, Place, holder_of
from reactor.fleet.wire.parser import Message
from reactor.resource.common_properties import Slot

FIRST_WAIT, LONGEST_WAIT = 0.02, 5.0
"""The longest random wait in seconds after a slot became free: at first, and at most."""
_GROWTH, _SHRINKAGE = 4, 2
_FEW = 8
"""With at most about this many waiting hosts, the longest wait shrinks."""
_REPORT_AGAIN = 10.0
_NAMED = 5
_PATIENCE = 3.0
"""Seconds without a connection after which the servers count as unreachable."""
_AGAIN = 1.0
_FAREWELL = 2.0
_EXPIRY = 1.0
"""Seconds within which a server notices that a lease has ended."""


class FleetSlots:
    """Implements `reactor.engine.slots.SlotGate` for one host. ``look``: seconds between two reads without a hint."""

    def __init__(
        self,
        host: str,
        groups: Sequence[str] = (),
        *,
        look: float = 20.0,
        clock: Callable[[], float] = uptime,
    ) -> None:
        self.renewer = LeaseRenewer()
        self._host = host
        self._groups = tuple(sorted(set(groups)))
        self._look = look
        self._clock = clock
        self._js: JetStream | None = None

    async def run(self, connection: Connection) -> None:
        """Take slots over ``connection``, and renew them, until cancelled."""
        self._js = JetStream(connection)
        try:
            await self.renewer.run()
        finally:
            self._js = None

    async def admit(self, slot: Slot, ref: str, waits: Callable[[str], None]) -> Lease:
        """Implements `reactor.engine.slots.SlotGate`."""
        holder = Holder(self._host, ref, secrets.token_hex(8))
        lease = Lease(slot, holder, self.renewer, self._clock)
        reporter = _ReasonReporter(waits)
        names = self._names(slot)
        try:
            for name in names:
                await self._take(lease, name, reporter)
                if len(names) > 1:
                    lease.begin()  # the others may take long
        except BaseException:
            with trio.move_on_after(_FAREWELL, shield=True):
                await lease.release()
            raise
        lease.end()
        return lease

    def _names(self, slot: Slot) -> list[str]:
        """The names of the slots to take, always in this order, so that no two hosts wait for each other."""
        if slot.per == "fleet" or not self._groups:
            return [slot.name]
        return [f"{slot.name}={group}" for group in self._groups]

    async def _take(self, lease: Lease, name: str, reporter: _ReasonReporter) -> None:
        """Return when the lease has one of the slots ``name``, or does not need one."""
        spread, since = _Spread(), self._clock()
        while True:
            try:
                js = self._connected()
                with _Hints.of(js, name, spread, lease.slot.lease) as hints:
                    while held := await self._try(js, lease, name, reporter):
                        hints.expect(held)
                        await hints.wait(self._look)
                        spread.grow()
                        since = self._clock()
            except WrongRevisionError:
                await spread.sleep()
                spread.grow()
            except LinkError as error:
                away = not isinstance(error, DisconnectedError) or self._clock() - since >= _PATIENCE
                if away and lease.slot.offline == "proceed":
                    return
                if away:
                    reporter.report(f"the servers of the fleet do not answer: {error.message}")
                await trio.sleep(_AGAIN)
            else:
                return

    def _connected(self) -> JetStream:
        if self._js is None or not self._js.connection.up:
            raise DisconnectedError("there is no connection")
        return self._js

    async def _try(
        self, js: JetStream, lease: Lease, name: str, reporter: _ReasonReporter
    ) -> frozenset[Place]:
        """Take a slot and return nothing; if none is free, return those that are held.

        Raises WrongRevisionError if another host was faster, and LinkError.
        """
        entries = await _entries(js, name)
        revisions = {Place.of(each.key): each.revision for each in entries}  # of each slot the last
        holders = [
            (Place.of(each.key), holder_of(each.key, each.value)) for each in entries if not each.deleted
        ]
        ours = next((place for place, holder in holders if holder.token == lease.holder.token), None)
        taken = frozenset(place for place, _ in holders)
        free = [place for n in range(lease.slot.at_most) if (place := Place(name, str(n))) not in taken]
        if ours is None and (len(taken) >= lease.slot.at_most or not free):
            reporter.report(_held_by(holder for _, holder in holders))
            return taken
        place = ours or random.choice(free)  # noqa: S311 - no secret
        with trio.CancelScope(shield=True):  # else it is not known who has it
            await lease.take(js.key_value(SLOTS), place, revisions.get(place, 0))
        return frozenset()


class _ReasonReporter:
    """Reports the reason for waiting, at a limited rate: among 300 hosts, the holder of a slot changes every second."""

    def __init__(self, waits: Callable[[str], None]) -> None:
        self._waits = waits
        self._reported = ""
        self._last = -math.inf

    def report(self, reason: str) -> None:
        """Report a new reason, unless the last report was too recent."""
        now = trio.current_time()
        if reason != self._reported and now - self._last >= _REPORT_AGAIN:
            self._reported, self._last = reason, now
            self._waits(reason)


class _Spread:
    """Random waits, so that not all waiting hosts ask at once.

    They grow when another host was faster, and shrink when a slot stayed free for long: with n hosts it is the nth part.
    """

    def __init__(self) -> None:
        self.longest = FIRST_WAIT

    async def sleep(self) -> None:
        """Wait at random, for ``longest`` seconds at most."""
        await trio.sleep(random.uniform(0, self.longest))  # noqa: S311 - no secret

    def grow(self) -> None:
        """Another host may have been faster."""
        self.longest = min(_GROWTH * self.longest, LONGEST_WAIT)

    def taken(self, seconds: float) -> None:
        """Another host has taken a slot that was free for ``seconds``."""
        if seconds > self.longest / _FEW:
            self.longest = max(self.longest / _SHRINKAGE, FIRST_WAIT)


class _Hints:
    """Signals when a slot of one name becomes free, or is not renewed for ``lease`` seconds.

    It tells ``spread`` when a free one was taken.
    """

    def __init__(self, spread: _Spread, lease: float) -> None:
        self._spread = spread
        self._lease = lease + _EXPIRY
        self._free: dict[str, float] = {}
        self._ends: dict[str, float] = {}
        self._event = trio.Event()

    @classmethod
    @contextmanager
    def of(cls, js: JetStream, name: str, spread: _Spread, lease: float) -> Iterator[_Hints]:
        """Receive the hints for the slots ``name`` within the block."""
        hints = cls(spread, lease)
        with ExitStack() as stack:
            subject = f"{CHANGED_SLOT}{name}.*.*"
            stack.enter_context(js.connection.subscribed(subject, hints._take))
            stack.enter_context(js.connection.watched(hints._look))
            yield hints

    def _take(self, message: Message) -> None:
        place = message.subject.rpartition(".")[0]
        if "KV-Operation" in message.headers:
            self._free[place] = trio.current_time()
            self._ends.pop(place, None)
            self._event.set()
            return
        self._ends[place] = trio.current_time() + self._lease
        if (since := self._free.pop(place, None)) is not None:
            self._spread.taken(trio.current_time() - since)

    def _look(self, _: object) -> None:
        """The connection has changed: hints may have been lost."""
        self._free[""] = trio.current_time()
        self._event.set()

    def expect(self, held: Collection[Place]) -> None:
        """Expect that the holders of these slots renew them."""
        now = trio.current_time()
        places = (f"{CHANGED_SLOT}{place.name}.{place.number}" for place in held)
        self._ends = {
            place: end if (end := self._ends.get(place, 0.0)) > now else now + self._lease for place in places
        }

    def _may_be_free(self) -> bool:
        return bool(self._free) or trio.current_time() >= min(self._ends.values(), default=math.inf)

    async def wait(self, look: float) -> None:
        """Return when a slot may be free, or when the interval is over."""
        with trio.move_on_after(look * random.uniform(0.5, 1.5)):  # noqa: S311 - no secret
            while True:
                with trio.move_on_at(min(self._ends.values(), default=math.inf)):
                    await self._event.wait()
                self._event = trio.Event()
                await self._spread.sleep()
                if self._may_be_free():
                    break
        self._free.clear()


async def _entries(js: JetStream, name: str) -> list[Entry]:
    """The last entry of each host for each of the slots, by revision."""
    bucket = js.key_value(SLOTS)
    found = await last_messages(js, bucket.stream, [f"{bucket.prefix}{name}.*.*"])
    return [bucket.entry_of(each) for each in found]


def _held_by(holders: Iterable[Holder]) -> str:
    names = sorted({each.host for each in holders})
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"held by {', '.join(names[:_NAMED])}{more}"
