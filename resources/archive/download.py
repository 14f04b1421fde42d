"""Brings an archive to its path: fetched beside it, compared with its checksum, and only then put in place."""

from __future__ import annotations

from reactor import ResourceError, emit_output, in_thread
from reactor.hostfs import Explaining, Parent, PreviousContent
from reactor.resources.archive import staging
from reactor.resources.archive.content import Expected, digest_of_ours
from reactor.resources.archive.ownership import MODE, give
from reactor.resources.archive.state import Desired
from reactor.resources.download.download_origin import Origin, fingerprint
from reactor.resources.download.partial_download import Partial
from reactor.resources.download.to_file import fetch_in_time


async def download(desired: Desired, owner: tuple[int, int], expected: Expected) -> None:
    """Have the archive at its path, owned by ``owner`` (ids), as the server has it. Raises ResourceError.

    One that is there already, and that the server still has, is not fetched again. If it is to be unpacked, that is
    owed from the moment it is in place, whatever happens to this process. Then ``expected`` is what it holds.
    """
    source = desired.source
    with Explaining(f"download {source.shown} to {desired.path}"), Parent(desired.path) as (directory, base):
        known = await _known(desired)
        with Partial(directory, desired.path) as partial:
            await partial.recall(fingerprint(source.url))
            if not await fetch_in_time(source, partial, known):
                partial.restart(None)
                emit_output("the server still has the same archive: it is not fetched again")
                expected.checksum = known.checksum if known is not None else None
                await give(desired.path, owner)
                return
            if desired.checksum not in (None, partial.checksum):
                found = partial.checksum
                partial.restart(None)
                words = f'download failed: checksum mismatch, expected "{desired.checksum}" got "{found}"'
                raise ResourceError(words, "correct the checksum, if that is the archive you want")
            expected.checksum = partial.checksum
            if desired.extract_parent is not None:
                await staging.owe(desired.extract_parent, desired.path, owner)
            with PreviousContent(desired.path, desired.ref, directory, base) as former:
                await partial.place(owner, MODE)
                await former.keep()


async def _known(desired: Desired) -> Origin | None:
    """What is recorded of the archive at the path, if that is still what we fetched, and nobody else can write to it."""
    origin = Origin.recorded(desired.path)
    if desired.checksum is not None or origin is None or origin.url != fingerprint(desired.source.url):
        return None
    if not origin.etag and not origin.last_modified:
        return None
    found = await in_thread(digest_of_ours, desired.path)
    return origin if found == origin.checksum else None
