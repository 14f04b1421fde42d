"""Stores bundles and signed releases in the object store, each under the digest of its bytes."""

from __future__ import annotations

from reactor.fleet.bucket_names import BUNDLES
from reactor.fleet.bundle.pack import Bundle
from reactor.fleet.documents import MOST_BYTES
from reactor.fleet.link.errors import MissingError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.release import sshsig
from reactor.fleet.release.document import Release


async def publish_bundle(js: JetStream, bundle: Bundle) -> bool:
    """Store a bundle; return False if it was stored already. Raises LinkError."""
    objects = js.objects(BUNDLES)
    there = await objects.info(bundle.digest)
    if there is not None and not there.deleted and there.size == len(bundle.data):
        return False
    await objects.put(bundle.digest, bundle.data)
    return True


async def publish_release(js: JetStream, release: Release, signatures: bytes) -> None:
    """Store a release with its signatures.

    The release is written last, so it never appears unsigned. Raises LinkError.
    """
    objects = js.objects(BUNDLES)
    await objects.put(f"{release.digest}.sig", signatures)
    await objects.put(release.digest, release.to_bytes())


async def published_release(js: JetStream, digest: str) -> tuple[Release, bytes] | None:
    """Return a stored release and its signatures, which are not verified. Raises LinkError, DocumentError."""
    objects = js.objects(BUNDLES)
    try:
        data = await objects.read(digest, largest=MOST_BYTES)
        return Release.from_bytes(data), await objects.read(f"{digest}.sig", largest=sshsig.MOST_BYTES)
    except MissingError:
        return None
