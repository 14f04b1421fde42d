"""What there is to see of a channel: its rollout, its hosts by what they are, its driver."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from reactor.fleet.bucket_names import DRIVE
from reactor.fleet.documents import to_time_text
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.operator.channels import Channels
from reactor.fleet.operator.views import read_host_specs, read_summaries
from reactor.fleet.rollout.hosts import HostPhase
from reactor.fleet.rollout.rank import rank_of
from reactor.fleet.rollout.state import ChannelState, Phase
from reactor.fleet.summary import Summary

SILENT = 900.0
"""Seconds without a summary after which a host is silent: three heartbeats."""


@dataclass(frozen=True)
class HostLine:
    """One host in one channel. ``phase`` is also ``silent`` or ``never heard``."""

    host: str
    phase: str
    serial: int
    rank: int
    in_wave: bool
    why: str


@dataclass(frozen=True)
class Overview:
    """One channel. ``driver``: who drives it, None for nobody."""

    state: ChannelState
    hosts: tuple[HostLine, ...]
    driver: str | None

    def counts(self) -> dict[str, int]:
        """How many hosts are in each phase."""
        found: dict[str, int] = {}
        for host in self.hosts:
            found[host.phase] = found.get(host.phase, 0) + 1
        return dict(sorted(found.items()))

    def to_fields(self) -> dict[str, Any]:
        """Return it for programs."""
        hosts = [vars(host) for host in self.hosts]
        return {**self.state.to_fields(), "driver": self.driver, "counts": self.counts(), "hosts": hosts}

    def headline(self) -> str:
        """One line for people."""
        state = self.state
        where = (
            f" {state.wave / 100:g} %" if state.phase in (Phase.ROLLING, Phase.PAUSED, Phase.HALTED) else ""
        )
        counts = ", ".join(f"{count} {phase}" for phase, count in self.counts().items()) or "no hosts"
        moves = state.phase in (Phase.ROLLING, Phase.REVERTING)
        driver = f"driver {self.driver}" if self.driver else "NO DRIVER: it stands still"
        return f"{state.channel}: release {state.serial} {state.phase}{where}; {counts}" + (
            f"; {driver}" if moves else ""
        )


async def overviews(js: JetStream, channel: str | None = None) -> list[Overview]:
    """Return all channels, or one. Raises LinkError, DocumentError."""
    channels = Channels(js)
    specs, summaries, now = await read_host_specs(js), await read_summaries(js), await channels.clock.now()
    found = []
    for name in [channel] if channel else await channels.names():
        state, _ = await channels.read(name)
        if state is None:
            continue
        hosts = []
        for host, each in sorted(specs.items()):
            if name in each.channels:
                rank = rank_of(name, state.serial, host, is_canary=each.is_canary)
                hosts.append(_line(host, state, rank, summaries.get(host), now))
        found.append(Overview(state, tuple(hosts), await _driver(js, name)))
    return found


def _line(
    host: str, state: ChannelState, rank: int, told: tuple[Summary, float] | None, now: float
) -> HostLine:
    inside = rank < state.wave
    report = told[0].channels.get(state.channel) if told else None
    if report is None or told is None:
        return HostLine(host, "never heard", 0, rank, inside, "")
    heard = told[1]
    if now - heard > SILENT:
        return HostLine(host, "silent", report.serial, rank, inside, f"last heard {to_time_text(heard)}")
    phase = report.phase
    if report.about not in (state.release, state.previous) and phase is HostPhase.CONVERGED:
        phase = HostPhase.MOVING  # it has not read the channel since
    return HostLine(host, phase.value, report.serial, rank, inside, report.why)


async def _driver(js: JetStream, channel: str) -> str | None:
    entry = await js.key_value(DRIVE).get(channel)
    try:
        return None if entry is None else str(json.loads(entry.value)["by"])
    except (ValueError, KeyError, TypeError):
        return None
