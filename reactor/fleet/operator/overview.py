"""The summary of a channel for people: its rollout and gate, its hosts by phase, its driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reactor.fleet.operator.known_hosts import SAYS_NOTHING, WELL, FleetView, HostLine
from reactor.fleet.operator.secrets import lacking
from reactor.fleet.operator.where import Predicate, everything
from reactor.fleet.rollout.conditions import Condition, conditions_of
from reactor.fleet.rollout.hosts import BAD, HostView
from reactor.fleet.rollout.state import ChannelState, Phase
from reactor.fleet.summary import view_of

_MOVES = (Phase.ROLLING, Phase.REVERTING)
_SHOWS_WAVE = (Phase.ROLLING, Phase.PAUSED, Phase.HALTED)


@dataclass(frozen=True)
class Overview:
    """One channel. ``driver``: the name of its driver or None; ``gate``: the reason why the next wave waits.

    ``lacks``: host -> the names of its missing secrets; ``twins``: hosts as which two machines report.
    """

    state: ChannelState
    hosts: tuple[HostLine, ...]
    driver: str | None
    gate: tuple[Condition, ...] = field(default=())
    lacks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    twins: tuple[str, ...] = ()

    def counts(self) -> dict[str, int]:
        """The number of hosts in each phase."""
        return dict(sorted(Counter(host.phase for host in self.hosts).items()))

    def unwell(self) -> list[HostLine]:
        """The hosts that need attention: first those that failed, then those that say nothing."""
        return sorted((host for host in self.hosts if host.phase not in WELL), key=_urgency)

    def to_fields(self) -> dict[str, Any]:
        """Return the overview as values for JSON."""
        return {
            **self.state.to_fields(),
            "driver": self.driver,
            "counts": self.counts(),
            "conditions": [vars(each) for each in self.gate],
            "hosts": [vars(host) for host in self.hosts],
            "lacks": {host: list(names) for host, names in self.lacks.items()},
            "twins": list(self.twins),
        }

    def headline(self) -> str:
        """One line for people."""
        state = self.state
        where = f" {state.wave / 100:g} %{self._reached()}" if state.phase in _SHOWS_WAVE else ""
        counts = ", ".join(f"{count} {phase}" for phase, count in self.counts().items()) or "no hosts"
        driver = f"driver {self.driver}" if self.driver else "NO DRIVER: it stands still"
        ending = f"; {driver}" if state.phase in _MOVES else ""
        return f"{state.channel}: release {state.serial} {state.phase}{where}; {counts}{ending}"

    def _reached(self) -> str:
        """On how many hosts the release is in force: one that has not taken it has converged to another."""
        have = sum(host.serial == self.state.serial for host in self.hosts)
        return f", in force on {have} of {len(self.hosts)}" if self.hosts else ""


def _urgency(host: HostLine) -> int:
    if host.phase in BAD:
        return 0
    return 1 if host.phase in SAYS_NOTHING else 2


def overviews(fleet: FleetView, where: Predicate = everything) -> list[Overview]:
    """Return all channels with the hosts that ``where`` chooses. The gate counts all hosts."""
    lacks = lacking(fleet)
    return [_overview(fleet, state, where, lacks) for state in fleet.channels.values()]


def _overview(
    fleet: FleetView, state: ChannelState, where: Predicate, lacks: Mapping[str, Sequence[str]]
) -> Overview:
    lines, views, twins = [], [], []
    for host, line in fleet.of_channel(state.channel):
        if where(host, line):
            lines.append(line)
            if host.summary and host.summary.twin:
                twins.append(host.name)
        if state.phase is Phase.ROLLING and line.in_wave:
            views.append(
                view_of(host.summary, state.channel, line.rank, host.heard)
                if host.summary and host.heard is not None
                else HostView(host.name, line.rank)
            )
    gate = conditions_of(state, views, fleet.now) if state.phase is Phase.ROLLING else ()
    missing = {line.host: lacks[line.host] for line in lines if line.host in lacks}
    return Overview(state, tuple(lines), fleet.drivers.get(state.channel), gate, missing, tuple(twins))
