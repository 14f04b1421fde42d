"""The status of a run for a fleet: whether the releases in force have converged, counts, failures, health checks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reactor.engine.engine import Engine
from reactor.engine.events import (
    Checked,
    Event,
    Paused,
    Reloaded,
    ReloadRejected,
    Result,
    Resumed,
    SlotWaited,
)
from reactor.fleet.debounced_event import DebouncedEvent
from reactor.fleet.documents import to_time_text
from reactor.fleet.host.root_manifest import current_path
from reactor.fleet.rollout.hosts import HostPhase
from reactor.fleet.summary import EngineReport
from reactor.resource.composite import Composite
from reactor.resource.health import HealthStatus

_MOST_FAILURES = 5
_SOON = 30.0
"""Seconds in which a retry must come for a first failure not to count yet, and in which a check of what was well must end."""
_WORST_FIRST = tuple(reversed(HealthStatus))


class RunStatus:
    """A sink of the events of a run. ``being_loaded`` returns channel -> release, as the last load has read them.

    ``left_out`` has the channels that do not load, with the reasons. ``changed`` is set at each event that may change
    the answers.
    """

    def __init__(
        self, being_loaded: Callable[[], Mapping[str, str]], left_out: Mapping[str, str], evaluate: Any
    ) -> None:
        self.changed = DebouncedEvent()
        self.is_target: Callable[[str], bool] = evaluate
        self._being_loaded = being_loaded
        self._left_out = left_out
        self._loaded: dict[str, str] = {}
        """Channel -> the release that the engine runs."""
        self._rejected: dict[str, str] = {}
        """Release -> why the engine could not load it."""
        self._problem = ""
        """Why the newest load failed, also if it did not come to know the releases."""
        self._engine: Engine | None = None
        self._members: dict[str, frozenset[int]] = {}
        self._composites: frozenset[int] = frozenset()
        self._failed_now: set[str] = set()
        """What failed since the release was loaded, and failed again, or is not retried soon."""
        self._failed_once: set[str] = set()
        """What failed once, and is retried soon."""
        self._errors: dict[str, str] = {}
        self._paused: dict[str, Paused] = {}
        self._slots: dict[str, SlotWaited] = {}
        """What waits for a slot since its last check."""
        self._settled: dict[str, float | None] = {}
        """The releases that have converged, and since then nothing was changed or failed: since when checks run, if any do."""
        self._health: dict[str, dict[str, HealthStatus]] = {}
        self._facts: Mapping[str, Any] = {}

    def attach(self, engine: Engine) -> None:
        """Read the status of this engine, which has loaded the releases in force."""
        self._engine = engine
        self._loaded = self._loaded or dict(self._being_loaded())
        self._index()
        self.changed.set()

    def __call__(self, event: Event) -> None:
        """Handle one event."""
        if type(event) is Checked:
            self._take_check(event)
        elif type(event) is Reloaded:
            loaded = dict(self._being_loaded())
            if loaded != self._loaded:
                self._failed_now.clear()
            self._loaded = loaded
            self._settled.clear()
            self._rejected.clear()
            self._problem = ""
            self._failed_now.difference_update(event.gone)
            self._failed_once.difference_update(event.gone)
            for ref in event.gone:
                for known in (self._errors, self._health, self._paused, self._slots):
                    known.pop(ref, None)
            self._members = {}
        elif type(event) is ReloadRejected:
            self._problem = event.problems[0]
            self._rejected = dict.fromkeys(self._being_loaded().values(), self._problem)
        else:
            self._take_wait(event)
        self.changed.set()

    def _take_wait(self, event: Event) -> None:
        if type(event) is Paused:
            self._paused[event.ref] = event
        elif type(event) is Resumed:
            self._paused.pop(event.ref, None)
        elif type(event) is SlotWaited:
            self._slots[event.ref] = event

    def _take_check(self, event: Checked) -> None:
        self._slots.pop(event.ref, None)
        if event.result in (Result.CHANGED, Result.FAILED):
            self._settled.clear()
        if event.health:
            self._health[event.ref] = {each.name: each.status for each in event.health}
        if event.result is Result.FAILED:
            self._note_failure(event)
            self._errors[event.ref] = event.error or "it failed"
        elif event.ref in self._errors:
            self._failed_now.discard(event.ref)
            self._failed_once.discard(event.ref)
            del self._errors[event.ref]

    def _note_failure(self, event: Checked) -> None:
        is_first = event.ref not in self._failed_once | self._failed_now
        if is_first and event.retry_in is not None and event.retry_in <= _SOON:
            self._failed_once.add(event.ref)
        else:
            self._failed_once.discard(event.ref)
            self._failed_now.add(event.ref)

    # ---- answers ----

    def phase_of(self, release: str) -> HostPhase:
        """FAILED when a retry has failed too since the release was loaded; CONVERGED if nothing moves, failed or is blocked.

        It stays CONVERGED while resources that were well are checked again, as every health check with an interval
        does: else a gate that waits for a time since the last host converged would wait for ever. While the only
        resources that are not well are retried soon after their first failure, or wait for a value from the network,
        the release is MOVING.
        """
        channel, engine = self._channel_of(release), self._engine
        if channel is None or engine is None:
            is_refused = channel is None and self._refusal_of(release)
            return HostPhase.FAILED if is_refused else HostPhase.MOVING
        members = self._of_channel(channel)
        members -= self._composites  # these are as their members
        failed = engine.scheduler.blocking.failed & members
        bad = failed | engine.scheduler.blocking.blocked & members
        if any(engine.vertex_table.refs[vertex] in self._failed_now for vertex in bad):
            return HostPhase.FAILED
        if any(engine.scheduler.in_motion(vertex) for vertex in members):
            return HostPhase.CONVERGED if self._is_routine(release) and not bad else HostPhase.MOVING
        hopeful = {vertex for vertex in failed if engine.vertex_table.refs[vertex] in self._failed_once}
        hopeful |= engine.results.waits.keys() & bad
        if hopeful and failed <= hopeful:
            return HostPhase.MOVING
        if bad:
            return HostPhase.FAILED
        self._settled[release] = None
        return HostPhase.CONVERGED

    def _is_routine(self, release: str) -> bool:
        """Whether checks of a release that had converged have begun lately, and wait for nothing."""
        if release not in self._settled or self._wait_of(release):
            return False
        began = self._settled[release] = self._settled[release] or time.monotonic()
        return time.monotonic() - began < _SOON

    def why_of(self, release: str) -> str:
        """The reason why the engine does not run a release in force, or what the release waits for; empty if it goes on."""
        return self._refusal_of(release) or self._wait_of(release)

    def _wait_of(self, release: str) -> str:
        """What a release waits for that may take long: people, a slot, a value from the network, or a load that succeeds."""
        channel, engine = self._channel_of(release), self._engine
        if channel is None or engine is None:
            return self._problem
        table, members = engine.vertex_table, self._of_channel(channel)
        waits = [
            *(
                (ref, f"is paused until {to_time_text(each.until)}: {each.reason}")
                for ref, each in self._paused.items()
            ),
            *((ref, f"waits for slot {each.slot}: {each.reason}") for ref, each in self._slots.items()),
        ]
        for ref, words in waits:
            vertex = table.find(ref)
            if vertex is not None and vertex in members and engine.scheduler.in_motion(vertex):
                return f"{ref} {words}"
        found = min(engine.results.waits.keys() & members, default=None)
        return "" if found is None else f"{table.refs[found]} waits for {engine.results.waits[found]}"

    def _refusal_of(self, release: str) -> str:
        if release in self._rejected:
            return self._rejected[release]
        channels = {digest: channel for channel, digest in self._being_loaded().items()}
        return self._left_out.get(channels.get(release, ""), "")

    def declared_facts(self) -> Mapping[str, Any]:
        """The facts for the summary, as they were evaluated last."""
        return self._facts

    def set_facts(self, facts: Mapping[str, Any]) -> None:
        """Report these facts from now on."""
        if facts != self._facts:
            self._facts = facts
            self.changed.set()

    def report(self) -> EngineReport:
        """Counts of resources, the first failures, and the health checks by name: of equal names the worst."""
        engine = self._engine
        if engine is None:
            return EngineReport()
        own = self._own(engine)
        present = engine.vertex_table.present - own
        counts = engine.results.counts(present, engine.scheduler.blocking.blocked)
        changed = counts[Result.CHANGED]
        return EngineReport(
            len(present),
            counts[Result.OK] + changed,
            counts[Result.FAILED],
            counts[Result.BLOCKED],
            changed,
            tuple(self._worst(engine)),
            self._checks(),
            counts[Result.WOULD_CHANGE],
        )

    def _worst(self, engine: Engine) -> Iterator[tuple[str, str]]:
        shown = 0
        for ref, why in self._errors.items():
            vertex = engine.vertex_table.find(ref)
            if vertex is None or vertex in self._composites:
                continue
            yield ref, why
            if (shown := shown + 1) == _MOST_FAILURES:
                return

    def _checks(self) -> dict[str, str]:
        found: dict[str, HealthStatus] = {}
        for checks in self._health.values():
            for name, status in checks.items():
                found[name] = min(found.get(name, status), status, key=_WORST_FIRST.index)
        return {name: str(status) for name, status in sorted(found.items())}

    # ---- the vertices of a channel ----

    def _channel_of(self, release: str) -> str | None:
        for channel, digest in self._loaded.items():
            if digest == release and channel not in self._left_out:
                return channel
        return None

    def _of_channel(self, channel: str) -> frozenset[int]:
        if not self._members:
            self._index()
        return self._members.get(channel, frozenset())

    def _own(self, engine: Engine) -> set[int]:
        """The vertices of the root manifest."""
        found = (_vertex_of(engine, channel) for channel in self._loaded)
        return {vertex for vertex in found if vertex is not None}

    def _index(self) -> None:
        """Find the vertices of each channel: the members of its `apply`, and their members."""
        engine = self._engine
        if engine is None:
            return
        table = engine.vertex_table
        self._members = {}
        for channel in self._loaded:
            found: set[int] = set()
            rest = [_vertex_of(engine, channel)]
            while rest:
                vertex = rest.pop()
                if vertex is not None and vertex not in found:
                    found.add(vertex)
                    rest += map(table.find, table.resources[vertex].declared.members)
            self._members[channel] = frozenset(found)
        self._composites = frozenset(
            vertex for vertex in table.present if isinstance(table.resources[vertex], Composite)
        )


def _vertex_of(engine: Engine, channel: str) -> int | None:
    """The vertex of the `apply` of a channel."""
    return engine.vertex_table.find(f"apply#{current_path(channel)}")
