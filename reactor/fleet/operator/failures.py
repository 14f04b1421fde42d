"""The failures of all hosts, grouped by resource and message."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from reactor.fleet.operator.known_hosts import FleetView, HostLine, KnownHost
from reactor.fleet.operator.where import Predicate, everything
from reactor.fleet.rollout.hosts import BAD


@dataclass(frozen=True)
class Failure:
    """``resource``: its name, or the channel whose release was refused; ``hosts``: all that reported it, by name."""

    resource: str
    message: str
    hosts: tuple[str, ...]

    def to_fields(self) -> dict[str, Any]:
        """Return the failure as values for JSON."""
        return {"resource": self.resource, "message": self.message, "hosts": list(self.hosts)}


def failures(fleet: FleetView, where: Predicate = everything) -> list[Failure]:
    """Return the current failures on the chosen hosts, most frequent first. A host reports its five worst failures."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, host in sorted(fleet.hosts.items()):
        lines = [line for line in fleet.lines_of(host) if where(host, line)]
        if host.summary is not None and lines:
            for problem in dict.fromkeys(_problems(host, lines)):
                found.setdefault(problem, []).append(name)
    ranked = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    return [Failure(resource, message, tuple(hosts)) for (resource, message), hosts in ranked]


def _problems(host: KnownHost, lines: Iterable[HostLine]) -> Iterable[tuple[str, str]]:
    if host.summary is not None:
        yield from host.summary.engine.worst
    for line in lines:
        report = host.report(line.channel)
        if report is not None and report.phase in BAD and report.why:
            yield f"channel {line.channel}", report.why
