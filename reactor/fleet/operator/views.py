"""Reads the hosts of a channel for the driver: the hosts that follow it, and their last summaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

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
_Document = TypeVar("_Document")


async def _parsed(entries: list[Entry], parse: Callable[[bytes, str], _Document]) -> dict[str, _Document]:
    """Parse the documents. Raises DocumentError for the first damaged one.

    Other tasks run in between: to parse 10,000 takes so long that their answers would come too late.
    """
    found = {}
    for start in range(0, len(entries), _AT_ONCE):
        await trio.lowlevel.checkpoint()
        for entry in entries[start : start + _AT_ONCE]:
            found[entry.key] = parse(entry.value, entry.key)
    return found


async def read_host_specs(js: JetStream) -> dict[str, HostSpec]:
    """The spec of each host, by id. Raises LinkError, and DocumentError for a damaged one.

    Without it, nobody knows the channels of the host, and a wave would go on as if it were in none.
    """
    return await _parsed(await js.key_value(HOSTS).entries(), HostSpec.from_bytes)


async def read_summaries(js: JetStream) -> dict[str, tuple[Summary, float]]:
    """The newest summary of each host, and when the server received it. Raises LinkError.

    A summary that can't be read counts as none: such a host is silent, and that stops a wave.
    """
    entries = await js.key_value(STATE).entries()
    found = await _parsed(entries, _summary_or_none)
    return {entry.key: (told, entry.time) for entry in entries if (told := found[entry.key]) is not None}


def _summary_or_none(data: bytes, host: str) -> Summary | None:
    try:
        return read_summary(data, host)
    except DocumentError:
        return None


async def read_views(js: JetStream, channel: str, serial: int) -> list[HostView]:
    """The hosts that follow ``channel``, with their ranks in release ``serial``. Raises LinkError, DocumentError."""
    specs, summaries = await read_host_specs(js), await read_summaries(js)
    views = []
    for name, each in specs.items():
        if channel not in each.channels:
            continue
        rank = rank_of(channel, serial, name, is_canary=each.is_canary)
        received = summaries.get(name)
        views.append(view_of(received[0], channel, rank, received[1]) if received else HostView(name, rank))
    return views
