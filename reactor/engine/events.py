"""The events that the engine emits. Sinks (console, JSON, later journal and metrics) only read these.

`as_json` is the documented form: one object per event, ``event`` naming its type, times in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag, StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any

from reactor.resource.watch import WatchState

if TYPE_CHECKING:  # it needs pydantic, and the commands that only show events do not
    from reactor.resource.health import Health


class Cause(IntFlag):
    """Why a check ran. Several that came together are one check."""

    INITIAL = 1
    INTENT = 2
    DRIFT = 4
    REFRESH = 8
    RETRY = 16
    AUDIT = 32
    HEALTH = 64

    @property
    def words(self) -> tuple[str, ...]:
        """The causes in it, in lower case."""
        return _words(self)


CAUSE_SETS = tuple(Cause(bits) for bits in range(2 * max(cause.value for cause in Cause)))
"""Every set of causes, ready made: building one takes longer than a check of a small file."""


@cache
def _words(causes: Cause) -> tuple[str, ...]:
    return tuple(cause.name.lower() for cause in Cause if cause in causes and cause.name)


class Result(StrEnum):
    """How the last attempt at a resource ended."""

    OK = "ok"
    CHANGED = "changed"
    WOULD_CHANGE = "would_change"
    FAILED = "failed"
    BLOCKED = "blocked"
    SKIPPED = "skipped"


@dataclass(repr=False, eq=False)
class Event:
    """The base of all events. ``time`` is seconds since 1970.

    Events are never changed; they are not frozen because that makes the most frequent one six times as slow to make. And
    what the base can do for all is not generated for each: every run defines them all before it can begin.
    """

    time: float

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"
        )


@dataclass(repr=False, eq=False)
class Checked(Event):
    """One check ended. ``duration`` and ``retry_in`` are seconds; ``actions`` are sentences."""

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
        """The same event with these diffs. Takes a tenth of what ``dataclasses.replace`` does."""
        other = Checked.__new__(Checked)
        other.__dict__.update(self.__dict__, diffs=diffs)
        return other


@dataclass(repr=False, eq=False)
class Blocked(Event):
    """A resource can't be checked because ``culprits``, which it requires directly or not, have failed."""

    ref: str
    culprits: tuple[str, ...]


@dataclass(repr=False, eq=False)
class Unblocked(Event):
    """Everything the resource requires is ok again."""

    ref: str


@dataclass(repr=False, eq=False)
class Skipped(Event):
    """The resource was not attempted, for ``reason``: its ``control`` says so, or the run ended before."""

    ref: str
    reason: str


@dataclass(repr=False, eq=False)
class Paused(Event):
    """No check of the resource starts before ``until`` (seconds since 1970), for ``reason``; watching goes on."""

    ref: str
    until: float
    reason: str


@dataclass(repr=False, eq=False)
class Resumed(Event):
    """The pause of the resource was taken back or is over; a check that became due meanwhile starts now."""

    ref: str


@dataclass(repr=False, eq=False)
class Output(Event):
    """A running check said one line."""

    ref: str
    line: str


@dataclass(repr=False, eq=False)
class Noted(Event):
    """Something that stays true of a resource which is as desired, and that people may not expect."""

    ref: str
    line: str


@dataclass(repr=False, eq=False)
class WatcherChanged(Event):
    """The state of a watcher has changed, for one resource or (``ref`` is None) as a whole."""

    watcher: str
    state: WatchState
    reason: str
    ref: str | None = None


@dataclass(repr=False, eq=False)
class EventsLost(Event):
    """A watcher lost events; everything it serves is checked."""

    watcher: str
    reason: str


@dataclass(repr=False, eq=False)
class AuditFound(Event):
    """The slow audit repaired drift that no event had announced."""

    ref: str


@dataclass(repr=False, eq=False)
class Flapping(Event):
    """The resource differs again as fast as it is repaired; ``actions``: which repair how often.

    ``expressions``: the properties that were asked for otherwise the last time, each with its text in the manifest.
    Without any, something else changes the resource back.
    """

    ref: str
    actions: dict[str, int]
    expressions: tuple[str, ...] = ()


@dataclass(repr=False, eq=False)
class Reloaded(Event):
    """Another generation of the manifest is in force: ``kept`` resources go on as they were, the others are refs."""

    kept: int
    changed: tuple[str, ...]
    added: tuple[str, ...]
    gone: tuple[str, ...]


@dataclass(repr=False, eq=False)
class ReloadRejected(Event):
    """The manifest has changed and can't be used; the last valid generation goes on. ``problems``: place and text."""

    problems: tuple[str, ...]


@dataclass(repr=False, eq=False)
class Reversing(Event):
    """The resource has left the manifest and asked to be undone then; checks of it now do that."""

    ref: str


@dataclass(repr=False, eq=False)
class Reversed(Event):
    """The resource is undone, and nothing is known of it any more."""

    ref: str


@dataclass(repr=False, eq=False)
class Converged(Event):
    """No vertex is active, failed or blocked. ``duration``: seconds since it last was not so."""

    resources: int
    duration: float


@dataclass(repr=False, eq=False)
class Ended(Event):
    """The run is over. ``counts`` has every `Result` as a key; ``changes`` counts changes made over all the run.

    ``left`` resources were never attempted. ``outdated`` are the files of the manifest that the run has changed, and
    whose new version it could not bring into force.
    """

    counts: dict[str, int]
    changes: int
    duration: float
    reason: str
    left: int = 0
    outdated: tuple[str, ...] = ()


def as_json(event: Event) -> dict[str, Any]:
    """The event as a JSON object: ``event`` (its type, in lower case), ``time``, then its own fields."""
    fields = dict(vars(event))
    if isinstance(event, Checked):
        fields["causes"] = event.causes.words
        if event.health:
            fields["health"] = [each._asdict() for each in event.health]
        else:
            del fields["health"]
        if event.code is None:
            del fields["code"]
    return {"event": type(event).__name__.lower(), **fields}
