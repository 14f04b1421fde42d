"""Reads the hosts of a channel for the driver: the hosts that follow it, and their last summaries."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress

import trio

from reactor.fleet.bucket_names import HOSTS, STATE
from reactor.fleet.documents import DocumentError
from reactor.fleet.host_spec import HostSpec
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.key_value import Entry
from reactor.fleet.rollout.hosts import HostView
from reactor.fleet.rollout.rank import rank_of
from reactor.fleet.summary import Summary, read_summary, view_of

_AT_ONCE = 100


async def _unhurried(entries: list[Entry]) -> AsyncIterator[Entry]:
    """Yield the entries, and let other tasks run: to parse 10,000 takes so long that their answers would come too late."""
    for number, entry in enumerate(entries):
        if number % _AT_ONCE == 0:
            await trio.lowlevel.checkpoint()
        yield entry


async def read_host_specs(js: JetStream) -> dict[str, HostSpec]:
    """The spec of each host, by id. A damaged document is left out. Raises LinkError."""
    found = {}
    async for entry in _unhurried(await js.key_value(HOSTS).entries()):
        with suppress(DocumentError):
            found[entry.key] = HostSpec.from_bytes(entry.value, entry.key)
    return found


async def read_summaries(js: JetStream) -> dict[str, tuple[Summary, float]]:
    """The newest summary of each host, and when the server received it. Raises LinkError.

    A summary that can't be read counts as none: such a host is silent, and that stops a wave.
    """
    found = {}
    async for entry in _unhurried(await js.key_value(STATE).entries()):
        with suppress(DocumentError):
            found[entry.key] = read_summary(entry.value, entry.key), entry.time
    return found


async def read_views(js: JetStream, channel: str, serial: int) -> list[HostView]:
    """The hosts that follow ``channel``, with their ranks in release ``serial``. Raises LinkError."""
    specs, summaries = await read_host_specs(js), await read_summaries(js)
    views = []
    for name, each in specs.items():
        if channel not in each.channels:
            continue
        rank = rank_of(channel, serial, name, is_canary=each.is_canary)
        received = summaries.get(name)
        views.append(view_of(received[0], channel, rank, received[1]) if received else HostView(name, rank))
    return views
