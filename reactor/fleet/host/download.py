"""Brings a bundle to this host, chunk by chunk, and goes on where it broke off."""

from __future__ import annotations

from contextlib import aclosing

from reactor.fleet.bundle.errors import BundleError
from reactor.fleet.host.ports import ReleaseStore
from reactor.fleet.link.errors import MissingError
from reactor.fleet.link.objects import ObjectStore
from reactor.fleet.release.document import Release

_IN_FLIGHT = 4
"""Chunks that are asked for at once."""


async def download(objects: ObjectStore, release: Release, store: ReleaseStore) -> None:
    """Bring what is missing of the bundle of ``release`` into ``store``. Whether it is the right one, its digest says later.

    Raises MissingError, BundleError if its size is wrong, LinkError, OSError; what has arrived stays after the last two.
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
    async with aclosing(objects.chunks(info, after=arrived.sequence, at_once=_IN_FLIGHT)) as chunks:
        async for chunk in chunks:
            if arrived.size + len(chunk.data) > release.size:
                break
            arrived = await store.add(arrived, chunk.sequence, chunk.data)
            if arrived.size == release.size:
                return
    await store.begin(release.bundle, "")
    raise BundleError("the bundle is not the one that was announced: its size is wrong")
