"""Simulated hosts: the real link and the real host's side, with a dict for a disk and for a run.

A thousand of them fit into one process::

    async with connected(options) as connection:
        host = SimHost("web7", ["web"], signers)
        await host.run(connection)
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reactor.fleet.bundle.errors import BundleError
from reactor.fleet.bundle.incoming import Arrived
from reactor.fleet.host.fleet_host import FleetHost
from reactor.fleet.host.ports import Host, Identity, Pace
from reactor.fleet.link.connection import Connection
from reactor.fleet.release.document import Release
from reactor.fleet.release.signers import Signer
from reactor.fleet.rollout.hosts import HostPhase
from reactor.fleet.summary import EngineReport


class SimReleases:
    """Implements `ReleaseStore` in memory. ``taken``: the serials that came into force, in order."""

    def __init__(self) -> None:
        self.in_force: str | None = None
        self.floor = 0
        self.taken: list[int] = []
        self.facts: dict[str, Any] = {}
        self._documents: dict[str, tuple[bytes, bytes]] = {}
        self._bundles: set[str] = set()
        self._arrived = Arrived()
        self._data = bytearray()

    @property
    def serial(self) -> int:
        """The serial of the release in force; 0 before the first."""
        return self.taken[-1] if self.taken else 0

    def document(self, digest: str) -> tuple[bytes, bytes] | None:
        """A kept release and its signatures."""
        return self._documents.get(digest)

    def has_bundle(self, release: Release) -> bool:
        """Whether the bundle is here."""
        return release.bundle in self._bundles

    async def arrived(self) -> Arrived:
        """What has arrived of a bundle."""
        return self._arrived

    async def begin(self, bundle: str, copy: str) -> Arrived:
        """Forget what has arrived."""
        self._data.clear()
        self._arrived = Arrived(bundle, copy)
        return self._arrived

    async def require_room(self, size: int) -> None:
        """There is room for everything."""

    async def add(self, arrived: Arrived, sequence: int, data: bytes) -> Arrived:
        """Keep one more chunk."""
        self._data += data
        self._arrived = arrived._replace(sequence=sequence, size=len(self._data))
        return self._arrived

    async def receive(self, release: Release) -> None:
        """Keep the bundle that has arrived. Raises BundleError if it is not the announced one."""
        data, self._data, self._arrived = bytes(self._data), bytearray(), Arrived()
        if "sha256-" + hashlib.sha256(data).hexdigest() != release.bundle:
            raise BundleError("the bundle is not the one that was announced")
        self._bundles.add(release.bundle)

    async def switch(
        self, release: Release, data: bytes, signatures: bytes, facts: Mapping[str, Any]
    ) -> None:
        """Put a release into force."""
        self.facts = dict(facts)
        self.floor = max(self.floor, release.floor)
        self._documents[release.digest] = (data, signatures)
        self.in_force = release.digest
        self.taken.append(release.serial)


class SimEngine:
    """A run that converges at once, but fails with the releases in ``fails``."""

    def __init__(self) -> None:
        self.fails: set[str] = set()
        self.facts: dict[str, bool] = {}

    def phase_of(self, release: str) -> HostPhase:
        """FAILED for the releases in ``fails``, else CONVERGED."""
        return HostPhase.FAILED if release in self.fails else HostPhase.CONVERGED

    def why_of(self, release: str) -> str:  # noqa: ARG002
        """Nothing: single resources fail."""
        return ""

    def report(self) -> EngineReport:
        """A report with one resource."""
        return EngineReport(resources=1, ok=1)

    def is_target(self, expression: str) -> bool:
        """Whether ``facts`` say so for this very expression."""
        return self.facts.get(expression, False)

    def declared_facts(self) -> Mapping[str, Any]:
        """None."""
        return {}


class SimHost:
    """A host with the real host's side. ``clock`` is its own, and may be wrong; ``warnings`` are what it said."""

    def __init__(
        self,
        name: str,
        channels: Sequence[str],
        signers: Sequence[Signer],
        *,
        groups: Sequence[str] = (),
        require: int = 1,
        clock: Callable[[], float] = time.time,
        pace: Pace | None = None,
    ) -> None:
        identity = Identity(name, tuple(channels), tuple(signers), tuple(groups), require)
        self.name = name
        self.engine = SimEngine()
        self.stores = {channel: SimReleases() for channel in channels}
        self.host = Host(identity, self.stores, self.engine, clock, pace or Pace())
        self.fleet: FleetHost | None = None
        self.warnings: list[str] = []

    async def run(self, connection: Connection) -> None:
        """Follow and report until cancelled."""
        self.fleet = FleetHost(connection, self.host, self.warnings.append)
        await self.fleet.run()
