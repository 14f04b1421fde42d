"""The events of all hosts, from the batches that they send."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection
from typing import Any, NamedTuple

from reactor.fleet.bucket_names import EVENT, EVENTS
from reactor.fleet.documents import DocumentError, is_host_id
from reactor.fleet.event_batch import batch_id_of, decode_batch, sent_in
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.reading import ONCE
from reactor.fleet.link.stored import Stored

_ON_THE_WAY = 5.0
"""Seconds that a batch may be on its way: so far, the clock of its host counts as right."""
_FEW = 50
"""For at most this many hosts, the server is asked only for their batches."""


class HostEvent(NamedTuple):
    """An event of ``host``. ``record``: as JSON. Nothing in it is trusted: a host may have written anything.

    ``time``: when it was, in seconds since 1970 on the clock of the servers; that in the record is of the clock of the host.
    """

    host: str
    record: dict[str, Any]
    time: float


class Damaged(NamedTuple):
    """A batch of ``host`` that can't be read."""

    host: str
    why: str


async def fleet_events(
    js: JetStream,
    *,
    since: float | None = None,
    hosts: Collection[str] | None = None,
    follow: bool = False,
    damaged: Callable[[Damaged], None] = lambda _: None,
) -> AsyncGenerator[list[HostEvent]]:
    """Yield the events of each batch, in the order in which the server received the batches. Raises LinkError.

    ``since``: seconds since 1970, None for new events only; ``hosts``: only of these; ``follow``: wait for
    more after the last. An event that was sent twice is yielded once.
    """
    if hosts is not None and not hosts:
        return
    few = sorted(hosts) if hosts is not None and len(hosts) <= _FEW else []
    subjects = [EVENT + host for host in few] or [f"{EVENT}*"]
    seen: dict[tuple[str, str], int] = {}
    start = "new" if since is None else "all"
    how: dict[str, Any] = {"start": start, "since": since, "patience": ONCE, "lasting": follow}
    async with js.reading(EVENTS, subjects, **how) as reader:
        async for stored in reader:
            if stored is None and not follow:
                return
            host = stored.subject.removeprefix(EVENT) if stored is not None else ""
            if stored is None or not is_host_id(host) or (hosts is not None and host not in hosts):
                continue
            try:
                events = _fresh(stored, host, seen)
            except DocumentError as error:
                damaged(Damaged(host, error.message))
                continue
            if found := [each for each in events if since is None or each.time >= since]:
                yield found


def _fresh(stored: Stored, host: str, seen: dict[tuple[str, str], int]) -> list[HostEvent]:
    """The events of a batch that no earlier batch had, by the clock of the servers. Raises DocumentError."""
    records, known = decode_batch(stored.data, f"a batch of events of {host}"), 0
    if (batch := batch_id_of(stored.headers)) is not None:
        known = seen.get((host, batch.journal), 0)
        seen[host, batch.journal] = max(known, batch.last)
    ahead = _ahead(stored)
    return [
        HostEvent(host, each, _time(each) - ahead)
        for each in records
        if not isinstance(each.get("id"), int) or each["id"] > known
    ]


def _ahead(stored: Stored) -> float:
    """The seconds by which the clock of the host is ahead of that of the servers; 0 if it is right."""
    sent = sent_in(stored.headers)
    difference = 0.0 if sent is None else sent - stored.time
    return difference if abs(difference) > _ON_THE_WAY else 0.0


def _time(record: dict[str, Any]) -> float:
    time = record.get("time")
    return float(time) if isinstance(time, int | float) else 0.0
