"""Reads all hosts and channels of a fleet: the channels that each host follows, and its last report."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import trio

from reactor.fleet.bucket_names import CHANNELS, DRIVE
from reactor.fleet.documents import to_time_text
from reactor.fleet.host_spec import HostSpec
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.key_value import Entry
from reactor.fleet.operator.clock import ServerClock
from reactor.fleet.operator.stored_secrets import StoredSecrets, read_stored_secrets
from reactor.fleet.operator.views import read_host_specs, read_summaries
from reactor.fleet.rollout.hosts import HostPhase
from reactor.fleet.rollout.rank import rank_of
from reactor.fleet.rollout.state import ChannelState
from reactor.fleet.summary import ChannelReport, Summary
from reactor.resource.entry_points import installed_version

SILENT = 900.0
"""A host counts as silent after this many seconds without a summary: three heartbeats."""
NEVER_HEARD = "never heard"
SAYS_NOTHING = frozenset(("silent", NEVER_HEARD))
"""The phases of hosts that do not report."""
WELL = frozenset(("converged", "excluded"))
"""The phases of hosts that need no attention."""


@dataclass(frozen=True)
class HostLine:
    """One host in one channel. ``phase`` is also ``silent`` or ``never heard``; ``serial`` is 0 if it is not known."""

    host: str
    channel: str
    phase: str
    serial: int
    rank: int
    in_wave: bool
    why: str


@dataclass(frozen=True)
class KnownHost:
    """A host. ``summary``: the newest one, which the server received at ``heard``; both None if there was none."""

    spec: HostSpec
    summary: Summary | None = None
    heard: float | None = None

    @property
    def name(self) -> str:
        """The id of the host."""
        return self.spec.host

    @property
    def differing_version(self) -> str:
        """The version of reactor on the host, in parentheses, if it is not the one here: it may know less, or more."""
        there, here = self.summary.reactor if self.summary else "", installed_version()
        return f" (reactor {there} there, {here} here)" if there != here else ""

    def report(self, channel: str) -> ChannelReport | None:
        """The report of the host on a channel."""
        return self.summary.channels.get(channel) if self.summary else None


@dataclass(frozen=True)
class FleetView:
    """The state of a fleet on the servers at ``now``. ``drivers``: channel -> the name of its driver.

    ``may_be_old``: JetStream had no leader, so the server may be cut off from the others, and know less than they do.
    ``unknown``: the hosts that report, and have no document on the servers, as after these were lost.
    """

    hosts: Mapping[str, KnownHost]
    channels: Mapping[str, ChannelState]
    drivers: Mapping[str, str] = field(default_factory=dict)
    now: float = 0.0
    secrets: StoredSecrets = field(default_factory=StoredSecrets)
    may_be_old: bool = False
    unknown: tuple[str, ...] = ()

    def members(self) -> list[KnownHost]:
        """Return the hosts without those that were expelled."""
        return [host for host in self.hosts.values() if host.spec.expelled is None]

    def lines_of(self, host: KnownHost) -> list[HostLine]:
        """Return a line for each channel that the host follows."""
        return [self.line(host, channel) for channel in host.spec.channels]

    def line(self, host: KnownHost, channel: str) -> HostLine:
        """Return the host in one channel."""
        state, report = self.channels.get(channel), host.report(channel)
        rank, in_wave = 0, False
        if state is not None:
            rank = rank_of(channel, state.serial, host.name, is_canary=host.spec.is_canary)
            in_wave = rank < state.wave
        phase, why = self._phase(host, state, report)
        return HostLine(host.name, channel, phase, report.serial if report else 0, rank, in_wave, why)

    def _phase(
        self, host: KnownHost, state: ChannelState | None, report: ChannelReport | None
    ) -> tuple[str, str]:
        if host.heard is None:
            return NEVER_HEARD, ""
        if self.now - host.heard > SILENT:
            return "silent", f"last heard {to_time_text(host.heard)}"
        if report is None:
            return HostPhase.WAITING.value, "its newest summary does not name the channel"
        is_old = state is not None and report.about not in (state.release, state.previous)
        if is_old and report.phase is HostPhase.CONVERGED:
            return HostPhase.MOVING.value, report.why  # it has not read the channel since
        if report.phase is HostPhase.REJECTED:
            return report.phase.value, report.why + host.differing_version
        return report.phase.value, report.why

    def of_channel(self, channel: str) -> Iterator[tuple[KnownHost, HostLine]]:
        """Yield the hosts of a channel by name, each with its line."""
        for _, host in sorted(self.hosts.items()):
            if channel in host.spec.channels:
                yield host, self.line(host, channel)


async def read_fleet(js: JetStream, channels: Sequence[str] = ()) -> FleetView:
    """Read all hosts, and all channels or those in ``channels``. Raises LinkError, DocumentError."""
    found: dict[str, Any] = {}

    async def ask(name: str, question: Any) -> None:
        found[name] = await question()

    questions = {
        "specs": partial(read_host_specs, js),
        "summaries": partial(read_summaries, js),
        "states": partial(read_channels, js, channels),
        "drivers": partial(read_drivers, js),
        "now": ServerClock(js).now,
        "secrets": partial(read_stored_secrets, js),
        "old": partial(_has_no_leader, js),
    }
    async with trio.open_nursery() as nursery:
        for name, question in questions.items():
            nursery.start_soon(ask, name, question)
    summaries: Mapping[str, tuple[Summary, float]] = found["summaries"]
    hosts = {
        name: KnownHost(spec, *summaries.get(name, (None, None))) for name, spec in found["specs"].items()
    }
    return FleetView(
        hosts,
        found["states"],
        found["drivers"],
        found["now"],
        found["secrets"],
        may_be_old=found["old"],
        unknown=unknown_of(summaries, hosts, found["now"]),
    )


def unknown_of(
    summaries: Mapping[str, tuple[Summary, float]], known: Collection[str], now: float
) -> tuple[str, ...]:
    """Return the hosts that report, and that have no document on the servers. A silent one may be gone for ever."""
    return tuple(
        sorted(name for name, (_, heard) in summaries.items() if name not in known and now - heard <= SILENT)
    )


async def _has_no_leader(js: JetStream) -> bool:
    cluster = (await js.stream_info(f"KV_{CHANNELS}")).get("cluster")
    return cluster is not None and not cluster.get("leader")


async def read_channels(js: JetStream, names: Sequence[str] = ()) -> dict[str, ChannelState]:
    """Return the states of the channels, of all if none is named. Raises LinkError, DocumentError."""
    entries = await js.key_value(CHANNELS).entries()
    wanted = [each for each in entries if not names or each.key in names]
    return {
        each.key: ChannelState.from_bytes(each.value, each.key)
        for each in sorted(wanted, key=lambda entry: entry.key)
    }


async def read_drivers(js: JetStream) -> dict[str, str]:
    """Return the name of the current driver of each channel. Raises LinkError."""
    found = {}
    for entry in await js.key_value(DRIVE).entries():
        with suppress(ValueError, KeyError, TypeError):
            found[entry.key] = driver_in(entry)
    return found


def driver_in(entry: Entry) -> str:
    """Return the name of the driver in a lease. Raises ValueError, KeyError, TypeError."""
    return str(json.loads(entry.value)["by"])
