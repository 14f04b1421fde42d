"""Keeps the current status of every resource. A sink of events: it never changes anything in the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from reactor.engine.events import (
    Blocked,
    Checked,
    Converged,
    Event,
    Flapping,
    Paused,
    Reloaded,
    ReloadRejected,
    Result,
    Resumed,
    Reversed,
    Reversing,
    Skipped,
    SlotWaited,
    Unblocked,
    WatcherChanged,
)
from reactor.named_tuple import NamedTuple
from reactor.resource.watch import WatchState

UNKNOWN = "unknown"
"""The state of a resource before its first check."""
WAITING = "waiting"
"""The state of a resource that differs, and waits for a slot of the fleet."""


class RunFacts(NamedTuple):
    """The facts about a run that do not change. ``started`` is seconds since 1970."""

    manifest: str
    pid: int
    started: float
    noop: bool


@dataclass(slots=True)
class ResourceStatus:
    """The status of one resource. ``state`` is a `Result`, `UNKNOWN` or `WAITING`; ``since`` is when it entered that state.

    ``checked`` is the last check, ``changed`` the last one that changed something, or would have in a dry run.
    """

    ref: str
    since: float
    state: str = UNKNOWN
    checked: Checked | None = None
    changed: Checked | None = None
    blocked: Blocked | None = None
    paused: Paused | None = None
    flapping: Flapping | None = None
    waited: SlotWaited | None = None
    """What it waits for, or waited for last."""
    degraded_watchers: tuple[WatcherChanged, ...] = ()
    """The last event of each watcher that can't watch this resource fully."""

    def enter(self, state: str, now: float) -> None:
        """Enter ``state`` at ``now``, unless it is in that state already."""
        if self.state != state:
            self.state = state
            self.since = now

    def is_flapping(self, now: float) -> bool:
        """Whether another program keeps changing the resource back."""
        return (
            self.flapping is not None and self.changed is not None and now - self.changed.time < FLAPPING_FOR
        )

    def is_ok(self, now: float) -> bool:
        """Whether nothing about the resource needs attention."""
        return (
            self.state in _OK_RESULTS
            and self.paused is None
            and not self.degraded_watchers
            and not self.is_flapping(now)
        )


_OK_RESULTS = (Result.OK, Result.CHANGED)
_DONE = (Result.CHANGED, Result.FAILED)
"""The results of a check whose actions were carried out: a failed one has changed something before it failed."""

FLAPPING_FOR = 60.0
"""Seconds without a repair after which a resource no longer counts as flapping."""


class StatusTable:
    """The status of every resource of one run. A check that found nothing to do costs well under a microsecond."""

    def __init__(self, facts: RunFacts, refs: Sequence[str]) -> None:
        self.facts = facts
        self.resource_statuses = {ref: ResourceStatus(ref, facts.started) for ref in refs}
        self.watchers: dict[str, WatcherChanged] = {}
        """The last event of each watcher about itself."""
        self.changes = 0
        self.converged_at: float | None = None
        """When the run converged last."""
        self._paused_when_gone: dict[str, Paused] = {}
        """Ref -> its pause, for the resources that the last reload removed: a pause also applies to the undo."""
        self.journal_refusal: Callable[[], str] = str  # which returns an empty text
        """Returns why the journal can't be written; empty if it can."""
        self.rejected: ReloadRejected | None = None
        """The rejected reload, if the newest version of the manifest is invalid."""

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if type(event) is Checked:
            resource_status = self.resource_statuses.get(event.ref)
            if resource_status is None:
                return
            resource_status.checked = event
            if resource_status.state is not event.result:
                resource_status.enter(event.result, event.time)
            if event.actions:
                self._changed(resource_status, event)
        else:
            self._other(event)

    def _changed(self, resource_status: ResourceStatus, event: Checked) -> None:
        resource_status.changed = event
        if event.result in _DONE:
            self.changes += 1

    def _other(self, event: Event) -> None:
        match event:
            case WatcherChanged(ref=None):
                self.watchers[event.watcher] = event
            case Converged():
                self.converged_at = event.time
            case Reloaded():
                self._renew(event)
            case ReloadRejected():
                self.rejected = event
            case Reversing():
                pause = self._paused_when_gone.pop(event.ref, None)
                self.resource_statuses[event.ref] = ResourceStatus(event.ref, event.time, paused=pause)
            case Reversed():
                self.resource_statuses.pop(event.ref, None)
            case _:
                resource_status = self.resource_statuses.get(getattr(event, "ref", ""))
                if resource_status is not None:
                    _note(resource_status, event)

    def _renew(self, event: Reloaded) -> None:
        self.rejected = None
        gone = [self.resource_statuses.pop(ref, None) for ref in event.gone]
        self._paused_when_gone = {each.ref: each.paused for each in gone if each and each.paused}
        self.resource_statuses.update((ref, ResourceStatus(ref, event.time)) for ref in event.added)


def _note(resource_status: ResourceStatus, event: Event) -> None:
    """Take an event about one resource, other than a check."""
    match event:
        case Blocked():
            resource_status.blocked = event
            resource_status.enter(Result.BLOCKED, event.time)
        case Unblocked():
            resource_status.blocked = None
            resource_status.enter(
                resource_status.checked.result if resource_status.checked else UNKNOWN, event.time
            )
        case Skipped():
            resource_status.enter(Result.SKIPPED, event.time)
        case Flapping():
            resource_status.flapping = event
        case SlotWaited():
            resource_status.waited = event
            resource_status.enter(WAITING, event.time)
        case Paused():
            resource_status.paused = event
        case Resumed():
            resource_status.paused = None
        case WatcherChanged():
            others = tuple(
                other for other in resource_status.degraded_watchers if other.watcher != event.watcher
            )
            resource_status.degraded_watchers = (
                others if event.state is WatchState.ARMED else (*others, event)
            )


class EngineStatus(NamedTuple):
    """The part of the status that only the engine knows. ``mode`` is ``enforce``, ``warn`` or ``noop``.

    ``refresh_at`` is when a debounced refresh is made, in seconds since 1970. ``pending`` has the causes of the pending or
    running check; ``is_checking`` says that it runs.
    """

    mode: str
    in_motion: bool
    refresh_at: float | None
    pending: Sequence[str] = ()
    is_checking: bool = False


def record_of(resource_status: ResourceStatus, engine_status: EngineStatus) -> dict[str, Any]:
    """The status of a resource as a JSON object. `docs/control.md` describes it."""
    return {
        "ref": resource_status.ref,
        "state": str(resource_status.state),
        "since": resource_status.since,
        "mode": engine_status.mode,
        "in_motion": engine_status.in_motion,
        "checking": engine_status.is_checking,
        "refresh_at": engine_status.refresh_at,
        "pending": list(engine_status.pending),
        **_checks_record(resource_status),
        **_hindrances_record(resource_status),
    }


def _checks_record(resource_status: ResourceStatus) -> dict[str, Any]:
    """The fields about the last check and the last change."""
    checked, changed = resource_status.checked, resource_status.changed
    failed = checked is not None and checked.result is Result.FAILED
    return {
        "checked": None
        if checked is None
        else {"time": checked.time, "causes": checked.causes.words, "duration": checked.duration},
        "changed": None
        if changed is None
        else {"time": changed.time, "causes": changed.causes.words, "actions": changed.actions},
        "error": checked.error if checked and failed else None,
        "hint": checked.hint if checked and failed else None,
        "code": checked.code if checked and failed else None,
        "retry_at": checked.time + checked.retry_in if checked and checked.retry_in is not None else None,
    }


def _hindrances_record(resource_status: ResourceStatus) -> dict[str, Any]:
    """The fields about what hinders a resource: a block, a slot, degraded watchers, flapping, a pause."""
    blocked, waited, flapping, paused = (
        resource_status.blocked,
        resource_status.waited,
        resource_status.flapping,
        resource_status.paused,
    )
    return {
        "blocked_by": blocked.culprits if blocked else [],
        "waiting_for": None
        if waited is None or resource_status.state != WAITING
        else {"slot": waited.slot, "reason": waited.reason},
        "watching": [watching_record(event) for event in resource_status.degraded_watchers],
        "flapping": None
        if flapping is None
        else {"time": flapping.time, "actions": flapping.actions, "expressions": flapping.expressions},
        "paused": None
        if paused is None
        else {"since": paused.time, "until": paused.until, "reason": paused.reason},
    }


def watching_record(event: WatcherChanged) -> dict[str, Any]:
    """The state of a watcher as a JSON object."""
    return {"watcher": event.watcher, "state": event.state, "reason": event.reason, "since": event.time}
