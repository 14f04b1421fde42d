"""The counts of each channel. Aggregators write them, so that large fleets are shown without reading each host."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import trio

from reactor.fleet.bucket_names import COUNTS
from reactor.fleet.documents import DocumentError, canonical, parsed, to_time_text
from reactor.fleet.link.errors import LinkError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.operator.known_hosts import FleetView
from reactor.fleet.operator.live_fleet import LiveFleet
from reactor.fleet.operator.overview import Overview, overviews
from reactor.fleet.rollout.rank import RANKS

INTERVAL = 5.0
"""Seconds between two writes."""


@dataclass(frozen=True)
class ChannelCounts:
    """``phases``: phase -> number of hosts; ``oldest``: seconds since the oldest summary; ``time``: of the counting."""

    channel: str
    serial: int
    state: str
    wave: int
    phases: dict[str, int]
    oldest: float
    time: float
    by: str

    def to_fields(self) -> dict[str, Any]:
        """Return the counts as values for JSON."""
        return {"v": 1, **vars(self), "time": to_time_text(self.time)}

    @classmethod
    def from_bytes(cls, data: bytes, channel: str) -> ChannelCounts:
        """Read the counts of ``channel``. Raises DocumentError."""
        document = parsed(data, f"the counts of the channel {channel}")
        document.require_version()
        phases = document.part("phases")
        return cls(
            channel=channel,
            serial=document.integer("serial"),
            state=document.text("state"),
            wave=document.integer("wave", most=RANKS),
            phases={name: phases.integer(name) for name in phases.fields},
            oldest=document.number("oldest"),
            time=document.time("time"),
            by=document.text("by"),
        )

    def headline(self, now: float) -> str:
        """One line for people."""
        counts = ", ".join(f"{count} {phase}" for phase, count in self.phases.items()) or "no hosts"
        ago = f"counted {max(now - self.time, 0):.0f} s ago by {self.by}"
        return f"{self.channel}: release {self.serial} {self.state} {self.wave / 100:g} %; {counts}; {ago}"


def counts_of(fleet: FleetView, each: Overview, by: str) -> ChannelCounts:
    """Return the counts of one channel."""
    state = each.state
    heard = [fleet.hosts[line.host].heard for line in each.hosts]
    oldest = max((fleet.now - moment for moment in heard if moment is not None), default=0.0)
    return ChannelCounts(
        state.channel,
        state.serial,
        state.phase.value,
        state.wave,
        each.counts(),
        max(round(oldest, 3), 0.0),
        fleet.now,
        by,
    )


async def keep_counting(
    js: JetStream,
    by: str,
    on_counts: Callable[[ChannelCounts], None],
    on_trouble: Callable[[LinkError], None],
) -> None:
    """Write the counts of all channels at each `INTERVAL`, until cancelled.

    ``on_trouble`` gets each failure to write, once until a write succeeds. Raises LinkError if they can't be read.
    """
    live = LiveFleet(js)
    reported: set[str] = set()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(live.run)
        await live.complete.wait()
        while True:
            fleet = await live.view()
            try:
                for each in overviews(fleet):
                    found = counts_of(fleet, each, by)
                    await js.key_value(COUNTS).put(found.channel, canonical(found.to_fields()))
                    on_counts(found)
                    reported.clear()
            except LinkError as error:
                if error.message not in reported:
                    reported.add(error.message)
                    on_trouble(error)
            await trio.sleep(INTERVAL)


async def read_counts(js: JetStream) -> list[ChannelCounts]:
    """Return the last counts of each channel. Raises LinkError."""
    found = []
    for entry in sorted(await js.key_value(COUNTS).entries(), key=lambda entry: entry.key):
        with suppress(DocumentError):
            found.append(ChannelCounts.from_bytes(entry.value, entry.key))
    return found
