"""The releases that a host keeps, and the one in force: each step on disk leaves the old one or the new one.

Beside what `reactor.fleet.bundle.store` keeps, below the state directory::

    fleet/releases/sha256-....json   a release, as it was signed
    fleet/releases/sha256-....sig    its signatures
    fleet/<channel>/floor            the highest floor that this host has accepted

Which release is in force stands in the facts of its channel (``fleet.release``), which are switched together with the
bundle by one rename. A host that boots without network runs the release in force.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO, Any

from reactor.atomic_write import replace_file
from reactor.fleet.bundle.channel import Channel
from reactor.fleet.bundle.errors import BundleError
from reactor.fleet.bundle.limits import LIMITS, BundleLimits
from reactor.fleet.bundle.store import BundleStore
from reactor.fleet.release.document import Release

_KEPT = 3
"""Current, previous, and one more."""


class HeldReleases:
    """The releases of one channel on this host. Hold the lock of ``store`` to change them."""

    def __init__(self, store: BundleStore, channel: str) -> None:
        self.store = store
        self.name = channel
        self.channel = Channel(store, channel)
        self._documents = os.path.join(store.root, "releases")
        self._floor_path = os.path.join(self.channel.path, "floor")

    @property
    def in_force(self) -> str | None:
        """The digest of the release in force; None before the first."""
        facts = self.channel.facts
        found = facts.get("fleet", {}).get("release") if isinstance(facts, dict) else None
        return found if isinstance(found, str) else None

    @property
    def serial(self) -> int:
        """The serial of the release in force; 0 before the first."""
        facts = self.channel.facts
        found = facts.get("fleet", {}).get("serial") if isinstance(facts, dict) else None
        return found if isinstance(found, int) else 0

    @property
    def floor(self) -> int:
        """The highest floor that this host has accepted, 0 before the first. Raises BundleError if it can't be read.

        A floor that can't be read is not 0: that would let old releases in again.
        """
        try:
            with open(self._floor_path, encoding="ascii") as file:
                return int(file.read())
        except FileNotFoundError:
            return 0
        except (OSError, ValueError) as error:
            hint = "restore it from a backup, or write the serial of the release in force into it"
            raise BundleError(f"the floor in {self._floor_path} can't be read: {error}", hint) from error

    def document(self, digest: str) -> tuple[bytes, bytes] | None:
        """A stored release and its signatures, not verified; None if it is not stored."""
        try:
            return _read(self._path(digest, "json")), _read(self._path(digest, "sig"))
        except FileNotFoundError:
            return None

    def has_bundle(self, release: Release) -> bool:
        """Whether the bundle of ``release`` is here already."""
        return self.store.has(release.bundle)

    def receive(
        self,
        release: Release,
        stream: IO[bytes],
        validate: Callable[[str], None],
        limits: BundleLimits = LIMITS,
    ) -> None:
        """Read the bundle of ``release`` from ``stream``, unpack it, and store it if it is valid.

        ``validate`` gets the directory, and raises if its manifest does not load on this host. Raises BundleError,
        OSError, and what ``validate`` raises; then nothing is kept.
        """
        with self.store.unpacked(stream, release.bundle, release.size, limits) as directory:
            validate(directory)
            self.store.keep(directory, release.bundle)

    def switch(self, release: Release, data: bytes, signatures: bytes, facts: Mapping[str, Any]) -> bool:
        """Put a release with a kept bundle into force. Return whether anything differed. Raises BundleError, OSError.

        ``data`` and ``signatures`` are kept, so that it can be verified again without network. ``facts`` are the
        fleet facts for the run; the release in force is added to them.
        """
        if release.serial < self.floor:
            raise BundleError(f"release {release.serial} is below the floor {self.floor}")
        fleet = {**facts, "channel": release.channel, "serial": release.serial, "release": release.digest}
        self._keep_documents(release.digest, data, signatures)
        self._raise_floor(release.floor)
        changed = self.channel.switch(release.bundle, {"fleet": fleet})
        if changed:
            self._remove_old(release)
            self.store.remove_unused()
        return changed

    def _keep_documents(self, digest: str, data: bytes, signatures: bytes) -> None:
        with suppress(FileExistsError):
            os.mkdir(self._documents, 0o700)
        replace_file(self._path(digest, "sig"), signatures, 0o600)
        replace_file(self._path(digest, "json"), data, 0o600)

    def _raise_floor(self, floor: int) -> None:
        """Called before the switch: a host that is killed in between refuses older releases as the new one demands."""
        if floor > self.floor:
            with suppress(FileExistsError):
                os.mkdir(self.channel.path, 0o700)
            replace_file(self._floor_path, f"{floor}\n".encode(), 0o600)

    def _remove_old(self, release: Release) -> None:
        """Remove old documents of this channel. The release, the previous one, and the newest documents stay."""
        kept = {release.digest, release.previous}
        found = []
        for name in os.listdir(self._documents):
            digest, _, kind = name.rpartition(".")
            if kind == "json" and digest not in kept and self._is_of_this_channel(digest):
                found.append(digest)
        found.sort(key=lambda digest: os.stat(self._path(digest, "json")).st_mtime_ns, reverse=True)
        for digest in found[_KEPT - 2 :]:
            for kind in ("json", "sig"):
                with suppress(FileNotFoundError):
                    os.unlink(self._path(digest, kind))

    def _is_of_this_channel(self, digest: str) -> bool:
        try:
            release = Release.from_bytes(_read(self._path(digest, "json")))
        except Exception:  # noqa: BLE001 - what can't be read is of no use, and goes
            return True
        return release.channel == os.path.basename(self.channel.path)

    def _path(self, digest: str, kind: str) -> str:
        self.store.path_of(digest)  # refuses what is no digest
        return os.path.join(self._documents, f"{digest}.{kind}")


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
