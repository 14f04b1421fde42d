"""The interfaces of the host's side to the host: identity, disk, run. `SimHost` implements them in memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from reactor.fleet.bundle.incoming import Arrived
from reactor.fleet.host.look_rate import BURST
from reactor.fleet.release.document import Release
from reactor.fleet.release.signers import Signer
from reactor.fleet.rollout.hosts import HostPhase
from reactor.fleet.rollout.windows import Window
from reactor.fleet.summary import EngineReport


@dataclass(frozen=True)
class Identity:
    """The name of the host, the signers that it trusts, and when it may change.

    ``require``: the number of people who must have signed. ``facts`` are the facts in the summary: name -> expression.
    """

    id: str
    channels: tuple[str, ...]
    signers: tuple[Signer, ...]
    groups: tuple[str, ...] = ()
    require: int = 1
    windows: tuple[Window, ...] = ()
    version: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


class Pace(NamedTuple):
    """Seconds. ``look``: between looks without a reason; ``summary``: the least between two; ``beat``: the most.

    ``events``: between two batches of events. ``burst``: how many looks at a channel may follow each other quickly;
    over a longer time there is one per second, whatever hints arrive. ``answer``: the time limit of a request with all its
    repetitions, of which the first comes after a fifth of it.
    """

    look: float = 600.0
    summary: float = 10.0
    beat: float = 300.0
    first_retry: float = 0.05
    longest_retry: float = 60.0
    events: float = 1.0
    burst: int = BURST
    answer: float = 5.0


class ReleaseStore(Protocol):
    """The releases that the host keeps of one channel. See `reactor.fleet.release.held.HeldReleases`."""

    @property
    def in_force(self) -> str | None:
        """The digest of the release in force."""

    @property
    def serial(self) -> int:
        """The serial of the release in force; 0 before the first."""

    @property
    def floor(self) -> int:
        """The highest floor that the host has accepted. Raises BundleError."""

    def document(self, digest: str) -> tuple[bytes, bytes] | None:
        """A kept release and its signatures."""

    def has_bundle(self, release: Release) -> bool:
        """Whether the bundle is here."""

    async def arrived(self) -> Arrived:
        """What has arrived of the bundle that the channel waits for. Raises OSError."""

    async def begin(self, bundle: str, copy: str) -> Arrived:
        """Forget what has arrived, and wait for this copy of a bundle. Raises OSError."""

    async def require_room(self, size: int) -> None:
        """Raise NoRoomError if ``size`` more bytes would fill the disk. Raises OSError."""

    async def add(self, arrived: Arrived, sequence: int, data: bytes) -> Arrived:
        """Keep one more chunk; return what has arrived then. Raises OSError."""

    async def receive(self, release: Release) -> None:
        """Keep the bundle that has arrived, if its manifest loads here. Raises ReactorError, OSError."""

    async def switch(
        self, release: Release, data: bytes, signatures: bytes, facts: Mapping[str, Any]
    ) -> None:
        """Put a release into force. Raises ReactorError, OSError."""


class Engine(Protocol):
    """The run, as far as this part sees it."""

    def phase_of(self, release: str) -> HostPhase:
        """MOVING, CONVERGED or FAILED, for a release that is in force."""

    def why_of(self, release: str) -> str:
        """The reason why a release in force failed as a whole; empty if only single resources failed, or none."""

    def report(self) -> EngineReport:
        """Counts and failures of all resources."""

    def is_target(self, expression: str) -> bool:
        """Evaluate an expression with the facts of this host. Raises ReactorError."""

    def declared_facts(self) -> Mapping[str, Any]:
        """The facts for the summary: name -> value."""


class Backlog(Protocol):
    """The events of the journal that were not sent yet. See `reactor.journal.sent_events.Backlog`."""

    @property
    def newest(self) -> int:
        """The id of the newest event."""

    @property
    def unsent(self) -> int:
        """The number of events that are not acknowledged."""

    @property
    def lost(self) -> int:
        """The number of events that were deleted before they were sent."""


class EventBatch(Protocol):
    """Events to send. See `reactor.journal.sent_events.Batch`."""

    @property
    def secret(self) -> str:
        """A random number of the journal that nobody else knows."""

    @property
    def first(self) -> int:
        """The id of the first event."""

    @property
    def last(self) -> int:
        """The id of the last event."""

    @property
    def size(self) -> int:
        """The number of events."""

    @property
    def records(self) -> Sequence[Mapping[str, Any]]:
        """The events as values for JSON."""


class EventLog(Protocol):
    """The journal of the host, as far as this part sees it."""

    @property
    def no_backlog(self) -> Backlog:
        """The backlog before the first look."""

    async def next_batch(self, most_events: int, most_bytes: int) -> EventBatch | None:
        """The oldest events that are not acknowledged; None if there are none, or the disk fails."""

    async def acknowledge(self, batch: Any) -> None:
        """Note that ``batch`` has arrived."""

    async def backlog(self) -> Backlog:
        """The events that were not sent yet."""


@dataclass
class Host:
    """One host. ``clock``: its own, in seconds since 1970; ``stores``: by channel; ``events``: None to send none."""

    identity: Identity
    stores: Mapping[str, ReleaseStore]
    engine: Engine
    clock: Callable[[], float] = field(default=time.time)
    pace: Pace = field(default_factory=Pace)
    events: EventLog | None = None
