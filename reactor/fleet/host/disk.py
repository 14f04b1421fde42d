"""The disk of a real host: `HeldReleases` in threads, so that the link never waits for a disk in its own task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from errno import EDQUOT, ENOSPC
from functools import partial
from typing import Any

import trio

from reactor.fleet.bundle.errors import NoRoomError
from reactor.fleet.bundle.incoming import Arrived, IncomingBundle
from reactor.fleet.bundle.limits import LIMITS
from reactor.fleet.release.document import Release
from reactor.fleet.release.held import HeldReleases


class DiskReleases:
    """``validate`` gets the directory of an unpacked bundle and its release, and raises if its manifest does not load here.

    While another process holds the lock, as a push does, `receive` and `switch` raise StoreLockedError.
    """

    def __init__(self, held: HeldReleases, validate: Callable[[str, Release], None]) -> None:
        self._held = held
        self._incoming = IncomingBundle(held.store.root, held.name)
        self._validate = validate

    @property
    def in_force(self) -> str | None:
        """The digest of the release in force."""
        return self._held.in_force

    @property
    def serial(self) -> int:
        """The serial of the release in force; 0 before the first."""
        return self._held.serial

    @property
    def floor(self) -> int:
        """The highest floor that the host has accepted. Raises BundleError."""
        return self._held.floor

    def document(self, digest: str) -> tuple[bytes, bytes] | None:
        """A kept release and its signatures."""
        return self._held.document(digest)

    def has_bundle(self, release: Release) -> bool:
        """Whether the bundle is here."""
        return self._held.has_bundle(release)

    async def arrived(self) -> Arrived:
        """What has arrived of the bundle that the channel waits for."""
        return await trio.to_thread.run_sync(self._incoming.arrived)

    async def begin(self, bundle: str, copy: str) -> Arrived:
        """Forget what has arrived, and wait for this copy of a bundle. Raises OSError."""
        return await trio.to_thread.run_sync(self._incoming.begin, bundle, copy)

    async def require_room(self, size: int) -> None:
        """Raise NoRoomError if ``size`` more bytes would fill the disk; then nothing of the bundle stays. Raises OSError."""
        await trio.to_thread.run_sync(self._require_room, size)

    def _require_room(self, size: int) -> None:
        try:
            self._incoming.require_room(size)
        except NoRoomError:
            self._incoming.remove()
            raise

    async def add(self, arrived: Arrived, sequence: int, data: bytes) -> Arrived:
        """Keep one more chunk; return what has arrived then. Raises OSError."""
        return await trio.to_thread.run_sync(self._incoming.add, arrived, sequence, data)

    async def receive(self, release: Release) -> None:
        """Keep the bundle that has arrived, if its manifest loads here; else forget it.

        Raises BundleError, OSError, and what ``validate`` raises.
        """
        await trio.to_thread.run_sync(self._receive, release)

    def _receive(self, release: Release) -> None:
        limits = LIMITS.raised_for(release.size)
        with self._held.store.locked():
            try:
                with self._incoming.opened() as stream:
                    self._held.receive(release, stream, partial(self._validated, release), limits)
            except OSError as error:
                if error.errno not in (ENOSPC, EDQUOT):
                    raise
                root = self._held.store.root
                raise NoRoomError(
                    f"a bundle can't be unpacked in {root}: {error.strerror}", "make room"
                ) from error
            finally:
                self._incoming.remove()

    def _validated(self, release: Release, directory: str) -> None:
        self._validate(directory, release)

    async def switch(
        self, release: Release, data: bytes, signatures: bytes, facts: Mapping[str, Any]
    ) -> None:
        """Put a release into force. Raises BundleError, OSError."""
        await trio.to_thread.run_sync(partial(self._switch, release, data, signatures, facts))

    def _switch(self, release: Release, data: bytes, signatures: bytes, facts: Mapping[str, Any]) -> None:
        with self._held.store.locked():
            self._held.switch(release, data, signatures, facts)
