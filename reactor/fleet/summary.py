"""The status that a host reports: one small document, of which only the newest is stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reactor.fleet.documents import Document, DocumentError, canonical, parsed, to_time_text
from reactor.fleet.rollout.hosts import HostPhase, HostView, on_server_clock
from reactor.fleet.rollout.rank import RANKS

MOST_BYTES = 2048
"""The size limit of a summary that is sent. Reading allows more, for the fields of later versions."""
_LONGEST_SENTENCE = 300
_PHASES = tuple(HostPhase)
_MOST_LEVELS = 20
"""How deeply the facts of a summary may be nested."""


@dataclass(frozen=True)
class ChannelReport:
    """A host in one channel: see `reactor.fleet.rollout.hosts.HostView`. ``since`` on the clock of the host.

    ``serial``: of the release in force, 0 if there is none; ``rank``: in the release of the channel.
    """

    in_force: str | None = None
    about: str | None = None
    serial: int = 0
    rank: int = 0
    phase: HostPhase = HostPhase.WAITING
    since: float = 0.0
    why: str = ""

    def to_fields(self) -> dict[str, Any]:
        """Return the report as JSON has it."""
        return {
            "release": self.in_force,
            "about": self.about,
            "serial": self.serial,
            "rank": self.rank,
            "phase": self.phase.value,
            "since": to_time_text(self.since),
            "why": self.why[:_LONGEST_SENTENCE],
        }


@dataclass(frozen=True)
class EngineReport:
    """The status of the run: counts of resources, the worst failures as (resource, sentence), health checks by name.

    ``would_change``: resources that differ, and that the manifest lets nobody change.
    """

    resources: int = 0
    ok: int = 0
    failed: int = 0
    blocked: int = 0
    changed: int = 0
    worst: tuple[tuple[str, str], ...] = ()
    checks: Mapping[str, str] = field(default_factory=dict)
    would_change: int = 0


@dataclass(frozen=True)
class Summary:
    """The summary of a host. ``time`` on its own clock, in seconds since 1970.

    ``facts``: the facts that the configuration declares; ``seq``: the id of the newest event in its journal; ``lost``:
    how many events the journal dropped before they were sent; ``twin``: another machine reports as this host, too.
    ``certificate``: what is wrong with the certificate of its server, as `Status.certificate_problem` says it.
    """

    host: str
    channels: Mapping[str, ChannelReport]
    engine: EngineReport = field(default_factory=EngineReport)
    reactor: str = ""
    time: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)
    seq: int = 0
    lost: int = 0
    twin: bool = False
    certificate: str = ""

    def to_bytes(self) -> bytes:
        """Return at most 2 KiB. A summary that is too long loses its facts, then its failures, then its checks."""
        worst = [[name[:100], why[:_LONGEST_SENTENCE]] for name, why in self.engine.worst[:5]]
        checks, facts = dict(self.engine.checks), dict(self.facts)
        while len(data := canonical(self._fields(worst, checks, facts), errors="replace")) > MOST_BYTES:
            if facts:
                facts.popitem()
            elif worst:
                worst.pop()
            elif checks:
                checks.popitem()
            else:
                break
        return data

    def _fields(
        self, worst: list[list[str]], checks: Mapping[str, str], facts: Mapping[str, Any]
    ) -> dict[str, Any]:
        engine = self.engine
        return {
            "v": 1,
            "host": self.host,
            "channel": {name: report.to_fields() for name, report in self.channels.items()},
            "resources": engine.resources,
            "ok": engine.ok,
            "failed": engine.failed,
            "blocked": engine.blocked,
            "changed": engine.changed,
            "would_change": engine.would_change,
            "worst": worst,
            "checks": dict(checks),
            "health": dict(Counter(checks.values())),
            "facts": dict(facts),
            "reactor": self.reactor,
            "seq": self.seq,
            "lost": self.lost,
            "time": to_time_text(self.time),
            **({"twin": True} if self.twin else {}),
            **({"certificate": self.certificate[:_LONGEST_SENTENCE]} if self.certificate else {}),
        }


def read_summary(data: bytes, host: str) -> Summary:
    """Read the summary of ``host``. Raises DocumentError."""
    document = parsed(data, f"the summary of {host}")
    document.require_version()
    channels = document.part("channel")
    worst = document.fields.get("worst", [])
    facts = document.part("facts").fields if "facts" in document.fields else {}
    if not isinstance(worst, list) or not _is_shallow(facts):
        raise DocumentError(
            f"the summary of {host} is damaged: worst is not a list, or facts are nested deeply"
        )
    checks = document.part("checks").fields
    return Summary(
        host=host,
        channels={name: _report(channels.part(name)) for name in channels.fields},
        engine=EngineReport(
            **{name: document.integer(name) for name in ("resources", "ok", "failed", "blocked", "changed")},
            worst=tuple((str(each[0]), str(each[1])) for each in worst if _is_failure(each)),
            checks={str(name): str(status) for name, status in checks.items()},
            would_change=document.integer("would_change") if "would_change" in document.fields else 0,
        ),
        reactor=document.text("reactor"),
        time=document.time("time"),
        facts=facts,
        seq=document.integer("seq") if "seq" in document.fields else 0,
        lost=document.integer("lost") if "lost" in document.fields else 0,
        twin=document.fields.get("twin") is True,
        certificate=str(document.fields.get("certificate", ""))[:_LONGEST_SENTENCE],
    )


def _is_failure(value: object) -> bool:
    """Whether ``value`` is a resource and a sentence."""
    return isinstance(value, list) and len(value) == 2  # noqa: PLR2004


def _is_shallow(value: object, levels: int = _MOST_LEVELS) -> bool:
    """Whether ``value`` is nested so little that it can be written again everywhere."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_is_shallow(each, levels - 1) for each in inner)


def _report(part: Document) -> ChannelReport:
    return ChannelReport(
        in_force=part.optional_digest("release"),
        about=part.optional_digest("about"),
        serial=part.integer("serial"),
        rank=part.integer("rank", most=RANKS),
        phase=HostPhase(part.one_of("phase", _PHASES)),
        since=part.time("since"),
        why=part.text("why"),
    )


def view_of(summary: Summary, channel: str, rank: int, heard: float) -> HostView:
    """Return the driver's view of a host in ``channel``; ``heard`` is when the server received the summary."""
    report = summary.channels.get(channel)
    if report is None:
        return HostView(summary.host, rank, heard)
    return HostView(
        id=summary.host,
        rank=rank,
        heard=heard,
        in_force=report.in_force,
        about=report.about,
        phase=report.phase,
        since=on_server_clock(report.since, summary.time, heard),
        checks=summary.engine.checks,
    )
