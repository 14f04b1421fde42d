"""The metadata of an object of an object store."""

from __future__ import annotations

import re
from typing import NamedTuple

from reactor.fleet.link.errors import DamagedError
from reactor.fleet.link.stored import Stored
from reactor.fleet.wire.parser import ProtocolError, parse_object

_NUID = re.compile(r"[A-Za-z0-9_-]+")


class ObjectInfo(NamedTuple):
    """The metadata of an object. ``revision`` grows with each change; ``time``: seconds since 1970."""

    name: str
    bucket: str
    nuid: str
    size: int
    chunks: int
    digest: str
    deleted: bool
    revision: int
    time: float


def parse_info(stored: Stored, bucket: str) -> ObjectInfo:
    """Parse the metadata message of an object. Raises DamagedError."""
    try:
        found = parse_object(stored.data)
    except ProtocolError:
        found = {}
    name, nuid, digest = (found.get(each, "") for each in ("name", "nuid", "digest"))
    size, chunks = (found.get(each, 0) for each in ("size", "chunks"))
    good = (
        all(isinstance(each, str) for each in (name, nuid, digest)) and _is_count(size) and _is_count(chunks)
    )
    if not good or not name or not _NUID.fullmatch(nuid):
        raise DamagedError(f"the information about an object in {bucket} is malformed: {stored.subject}")
    return ObjectInfo(
        name, bucket, nuid, size, chunks, digest, bool(found.get("deleted")), stored.sequence, stored.time
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
