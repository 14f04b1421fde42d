"""The events that the engine emits. Consumers (console, JSON, journal, metrics) only read them.

`as_json` gives the documented form: one object per event, ``event`` naming its type, times in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag, StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any

from reactor.resource.watch import WatchState

if TYPE_CHECKING:  # this import needs pydantic, which commands that only show events do not load
    from reactor.resource.health import Health


class Cause(IntFlag):
    """Why a check ran. One check can have several causes."""

    INITIAL = 1
    INTENT = 2
    DRIFT = 4
    REFRESH = 8
    RETRY = 16
    AUDIT = 32
    HEALTH = 64

    @property
    def words(self) -> tuple[str, ...]:
        """The names of the causes in this set, in lower case."""
        return _words(int(self))


class _CauseSets(dict[int, Cause]):
    def __missing__(self, bits: int) -> Cause:
        causes = self[bits] = Cause(bits)
        return causes


CAUSE_SETS = _CauseSets()
"""The set of causes with these bits. Each is built once: that takes longer than a check of a small file."""


@cache
def _words(bits: int) -> tuple[str, ...]:
    """The names of the causes whose bits are set. Takes an integer, because hashing a member of an enum takes longer."""
    return tuple(cause.name.lower() for cause in Cause if cause & bits and cause.name)


class Result(StrEnum):
    """How the last attempt at a resource ended."""

    OK = "ok"
    CHANGED = "changed"
    WOULD_CHANGE = "would_change"
    FAILED = "failed"
    BLOCKED = "blocked"
    SKIPPED = "skipped"


@dataclass(repr=False, eq=False, slots=True)
class Event:
    """The base of all events. ``time`` is seconds since 1970.

    Events are never changed. They are not frozen, because creating the most frequent event would take six times as
    long. They have slots, because the status keeps one or two for each resource. Methods that the base can define for
    all events are not generated for each class, because that would delay the start of every run.
    """

    time: float

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and _fields_of(other) == _fields_of(self)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = (f"{name}={value!r}" for name, value in _fields_of(self).items())
        return f"{type(self).__name__}({', '.join(fields)})"


@dataclass(repr=False, eq=False, slots=True)
class Checked(Event):
    """A check ended. ``duration`` and ``retry_in`` are seconds; ``actions`` are sentences."""

    ref: str
    result: Result
    causes: Cause
    duration: float
    actions: tuple[str, ...] = ()
    diffs: tuple[str, ...] = ()
    error: str | None = None
    hint: str | None = None
    retry_in: float | None = None
    health: Health = ()
    code: str | None = None

    def with_diffs(self, diffs: tuple[str, ...]) -> Checked:
        """The same event with these diffs. Ten times as fast as ``dataclasses.replace``, and a third of its memory."""
        return Checked(
            self.time,
            self.ref,
            self.result,
            self.causes,
            self.duration,
            self.actions,
            diffs,
            self.error,
            self.hint,
            self.retry_in,
            self.health,
            self.code,
        )


@dataclass(repr=False, eq=False, slots=True)
class Blocked(Event):
    """A resource can't be checked because ``culprits``, which it requires directly or not, have failed.

    For a value of the network that is not known, the culprit is ``network: kv://BUCKET/KEY``, and ``detail`` says why.
    """

    ref: str
    culprits: tuple[str, ...]
    detail: str | None = None


@dataclass(repr=False, eq=False, slots=True)
class Unblocked(Event):
    """Everything the resource requires is ok again."""

    ref: str


@dataclass(repr=False, eq=False, slots=True)
class Skipped(Event):
    """The resource was not attempted because of ``reason``: its ``control`` condition, or the run ended first."""

    ref: str
    reason: str


@dataclass(repr=False, eq=False, slots=True)
class Paused(Event):
    """No check of the resource starts before ``until`` (seconds since 1970), for ``reason``; watching continues."""

    ref: str
    until: float
    reason: str


@dataclass(repr=False, eq=False, slots=True)
class Resumed(Event):
    """The pause of the resource was ended or ran out; a check that became due meanwhile starts now."""

    ref: str


@dataclass(repr=False, eq=False, slots=True)
class SlotWaited(Event):
    """The resource differs, and waits for a slot of the fleet because of ``reason``: its holders, or the network."""

    ref: str
    slot: str
    reason: str


@dataclass(repr=False, eq=False, slots=True)
class Output(Event):
    """A running check wrote one line of output."""

    ref: str
    line: str


@dataclass(repr=False, eq=False, slots=True)
class Noted(Event):
    """A lasting fact about a resource that is as desired, which people may not expect."""

    ref: str
    line: str


@dataclass(repr=False, eq=False, slots=True)
class WatcherChanged(Event):
    """The state of a watcher changed, for one resource or (``ref`` is None) as a whole."""

    watcher: str
    state: WatchState
    reason: str
    ref: str | None = None


@dataclass(repr=False, eq=False, slots=True)
class EventsLost(Event):
    """A watcher lost events; every resource that it serves is checked."""

    watcher: str
    reason: str


@dataclass(repr=False, eq=False, slots=True)
class AuditFound(Event):
    """The audit repaired drift that no event had announced."""

    ref: str


@dataclass(repr=False, eq=False, slots=True)
class Flapping(Event):
    """The resource differs again as fast as it is repaired. ``actions`` says how often each repair was made.

    ``expressions`` names the properties whose values changed the last time, each with its source in the manifest. If
    it is empty, something else changes the resource back.
    """

    ref: str
    actions: dict[str, int]
    expressions: tuple[str, ...] = ()


@dataclass(repr=False, eq=False, slots=True)
class Reloaded(Event):
    """Another generation of the manifest is in force.

    ``kept`` counts unchanged resources; the other fields are refs.
    """

    kept: int
    changed: tuple[str, ...]
    added: tuple[str, ...]
    gone: tuple[str, ...]


@dataclass(repr=False, eq=False, slots=True)
class ReloadRejected(Event):
    """The manifest has changed and is invalid; the last valid generation stays in force.

    ``problems``: place and text.
    """

    problems: tuple[str, ...]


@dataclass(repr=False, eq=False, slots=True)
class Reversing(Event):
    """The resource has left the manifest with ``reverse: true``; its checks now undo it."""

    ref: str


@dataclass(repr=False, eq=False, slots=True)
class Reversed(Event):
    """The resource has been undone, and the engine forgets it."""

    ref: str


@dataclass(repr=False, eq=False, slots=True)
class Converged(Event):
    """No vertex is active, failed or blocked. ``duration``: the seconds since there was work to do."""

    resources: int
    duration: float


@dataclass(repr=False, eq=False, slots=True)
class Ended(Event):
    """The run is over. ``counts`` has every `Result` as a key; ``changes`` counts the changes of the whole run.

    ``left`` counts the resources that were never attempted. ``outdated`` lists the manifest files whose
    newest version could not be brought into force; in a run without watches, only those that the run has changed.
    """

    counts: dict[str, int]
    changes: int
    duration: float
    reason: str
    left: int = 0
    outdated: tuple[str, ...] = ()


def _fields_of(event: Any) -> dict[str, Any]:
    return {name: getattr(event, name) for name in event.__dataclass_fields__}


def as_json(event: Event) -> dict[str, Any]:
    """The event as a JSON object: ``event`` (its type, in lower case), ``time``, then its own fields."""
    fields = _fields_of(event)
    if isinstance(event, Checked):
        fields["causes"] = event.causes.words
        if event.health:
            fields["health"] = [each._asdict() for each in event.health]
        else:
            del fields["health"]
        if event.code is None:
            del fields["code"]
    if isinstance(event, Blocked) and event.detail is None:
        del fields["detail"]
    return {"event": type(event).__name__.lower(), **fields}
