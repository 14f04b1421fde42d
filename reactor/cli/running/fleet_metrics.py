"""The metrics of a whole fleet. Imported at the first request, because prometheus-client takes 45 ms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prometheus_client.core import CollectorRegistry, CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from reactor.fleet.operator.known_hosts import FleetView
from reactor.fleet.operator.overview import Overview
from reactor.fleet.rollout.rank import RANKS
from reactor.fleet.rollout.state import Phase


def render(fleet: FleetView, found: Sequence[Overview], accept: str) -> tuple[bytes, str]:
    """Return the metrics in the format that ``accept`` (a header) prefers, and its media type."""
    registry = CollectorRegistry()
    registry.register(_Families(fleet, found))
    encode, media_type = choose_encoder(accept)
    return encode(registry), media_type


class _Families(Collector):
    def __init__(self, fleet: FleetView, found: Sequence[Overview]) -> None:
        self._fleet = fleet
        self._found = found

    def collect(self) -> Iterator[Metric]:
        """All metrics."""
        hosts = GaugeMetricFamily(
            "reactor_fleet_hosts", "Hosts by channel and phase.", labels=("channel", "phase")
        )
        wave = GaugeMetricFamily(
            "reactor_fleet_wave", "The share of ranks in the wave, 0 to 1.", labels=("channel",)
        )
        state = GaugeMetricFamily(
            "reactor_fleet_rollout_state", "1 for the phase of the rollout.", labels=("channel", "state")
        )
        for each in self._found:
            channel = each.state.channel
            for phase, count in each.counts().items():
                hosts.add_metric((channel, phase), count)
            wave.add_metric((channel,), each.state.wave / RANKS)
            for phase_of_rollout in Phase:
                state.add_metric((channel, phase_of_rollout.value), each.state.phase is phase_of_rollout)
        yield from (hosts, wave, state)
        ages = [self._fleet.now - host.heard for host in self._fleet.members() if host.heard is not None]
        oldest = max((0.0, *ages))
        yield GaugeMetricFamily(
            "reactor_fleet_oldest_summary_seconds", "The age of the oldest summary of a host.", oldest
        )
        # A counter never goes back, so that of a host that was expelled stays in it.
        lost = sum(host.summary.lost for host in self._fleet.hosts.values() if host.summary)
        yield CounterMetricFamily(
            "reactor_fleet_events_lost", "Events that hosts lost before they were sent.", lost
        )
