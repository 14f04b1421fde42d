"""The record of the last unpacking of an archive: which one it was, and where its content went.

It is in the state directory, and outlives the archive, which may be removed once it is unpacked. Without a state
directory nothing is known.
"""

from __future__ import annotations

from contextlib import suppress

from reactor.hostfs import read_record, write_record
from reactor.resources.archive.state import Desired
from reactor.resources.download.download_origin import fingerprint

_KIND = "unpacked"


def record_unpacking(desired: Desired, checksum: str | None) -> None:
    """Record that the archive with this SHA-256 was unpacked as desired, or that nothing was to be unpacked. Blocking.

    If that fails, the next change of the version or the directory may go unnoticed.
    """
    record = {
        "into": desired.extract_parent,
        "url": fingerprint(desired.source.url),
        "checksum": checksum,
    }
    with suppress(OSError):
        write_record(_KIND, desired.path, record)


def is_outdated(desired: Desired) -> bool:
    """Whether the last unpacking is known to have been of another archive, or into another directory.

    Where `creates` is given, its existence decides about the directory.
    """
    if desired.extract_parent is None or (last := read_record(_KIND, desired.path)) is None:
        return False
    if desired.creates is None and last.get("into") != desired.extract_parent:
        return True
    if desired.checksum is not None:
        return last.get("checksum") != desired.checksum
    return last.get("url") != fingerprint(desired.source.url)
