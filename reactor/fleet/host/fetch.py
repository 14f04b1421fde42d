"""Fetches releases, pins and bundles. Documents are verified each time, because neither disk nor network is trusted."""

from __future__ import annotations

from contextlib import aclosing

from reactor.fleet.bucket_names import BUNDLES
from reactor.fleet.bundle.errors import BundleError
from reactor.fleet.documents import MOST_BYTES, DocumentError
from reactor.fleet.host.ports import Host, ReleaseStore
from reactor.fleet.host_spec import SignedPin
from reactor.fleet.link.errors import MissingError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.objects import ObjectStore
from reactor.fleet.release import sshsig
from reactor.fleet.release.document import Release, digest_of_release
from reactor.fleet.release.pin import Pin
from reactor.fleet.release.sshsig import SignatureError
from reactor.fleet.release.verify import PIN, RELEASE, good_signatures, signers_among, verify


class VerifiedRelease:
    """A release whose signatures ``good`` fit it, with the bytes of the release and of the signatures."""

    def __init__(self, digest: str, data: bytes, signatures: bytes) -> None:
        """Raises DocumentError, SignatureError."""
        if digest_of_release(data) != digest:
            raise DocumentError(f"the release {digest[:19]} has other bytes than its name says")
        self.release = Release.from_bytes(data)
        self.good = good_signatures(data, signatures, RELEASE)
        self.data = data
        self.signatures = signatures
        self.digest = digest


async def read_release(
    js: JetStream, host: Host, store: ReleaseStore, digest: str, known: VerifiedRelease | None
) -> VerifiedRelease:
    """Return the release ``digest``. Raises DocumentError, SignatureError, and LinkError if it must be fetched.

    ``known``: one that was read before, and is computed again only if the bytes differ. Who may sign is asked each time:
    now, or when it was made if the clock is not set yet. A key that has expired is so no better for a later date.
    """
    kept = store.document(digest)
    if kept is None:
        objects = js.objects(BUNDLES)
        data = await objects.read(digest, largest=MOST_BYTES)
        kept = data, await objects.read(f"{digest}.sig", largest=sshsig.MOST_BYTES)
    if known is None or (digest, *kept) != (known.digest, known.data, known.signatures):
        known = VerifiedRelease(digest, *kept)
    now = max(host.clock(), known.release.created)
    signers_among(known.good, host.identity.signers, RELEASE, now, require=host.identity.require)
    return known


def read_pin(host: Host, channel: str, pin: SignedPin) -> Pin:
    """Return the pin of this host in ``channel``. Raises DocumentError, SignatureError."""
    data = pin.data.encode()
    found = Pin.from_bytes(data)
    now = max(host.clock(), found.created)
    verify(data, pin.signatures.encode(), host.identity.signers, PIN, now, require=host.identity.require)
    if (found.host, found.channel) != (host.identity.id, channel):
        raise SignatureError(f"the pin is for {found.host} in {found.channel}")
    return found


_IN_FLIGHT = 4
"""Chunks that are asked for at once."""


async def download(objects: ObjectStore, release: Release, store: ReleaseStore) -> None:
    """Bring what is missing of the bundle of ``release`` into ``store``. Whether it is the right one, its digest says later.

    Raises MissingError, BundleError if its size is wrong, NoRoomError, LinkError, OSError; what has arrived stays after the
    last two.
    """
    info = await objects.info(release.bundle)
    if info is None or info.deleted:
        raise MissingError(
            f"the bundle of release {release.serial} of {release.channel} is not stored any more"
        )
    arrived = await store.arrived()
    if (arrived.bundle, arrived.object) != (release.bundle, info.nuid):
        arrived = await store.begin(release.bundle, info.nuid)
    if arrived.size == release.size:
        return
    await store.require_room(2 * release.size - arrived.size)  # it is unpacked beside
    async with aclosing(objects.chunks(info, after=arrived.sequence, at_once=_IN_FLIGHT)) as chunks:
        async for chunk in chunks:
            if arrived.size + len(chunk.data) > release.size:
                break
            arrived = await store.add(arrived, chunk.sequence, chunk.data)
            if arrived.size == release.size:
                return
    await store.begin(release.bundle, "")
    raise BundleError("the bundle is not the one that was announced: its size is wrong")
