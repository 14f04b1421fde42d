"""One version of a file, and its format on disk.

An entry is a small file. Its name contains the fields by which pruning selects among thousands of entries without
opening any; the file contains the rest, as JSON. The content of the version is a separate object, named by its digest,
which all entries with that digest share.
"""

from __future__ import annotations

import json
import os
import re

from reactor.named_tuple import NamedTuple
from reactor.resource.hashes import blake2b

_NAME = r"([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{8})-([0-9a-f]{64})"
_DIGEST = r"[0-9a-f]{64}"


class Name(NamedTuple):
    """The name of an entry. ``key`` is a hash of the path, ``time`` is in nanoseconds since 1970."""

    key: str
    time: int
    id: str
    digest: str

    def __str__(self) -> str:
        return f"{self.key}-{self.time:016x}-{self.id}-{self.digest}"


def parse_name(text: str) -> Name | None:
    """The name of an entry, or None if ``text`` is something else."""
    if (match := re.fullmatch(_NAME, text)) is None:
        return None
    return Name(match[1], int(match[2], 16), match[3], match[4])


def is_digest(text: str) -> bool:
    """Whether ``text`` can be the name of an object."""
    return re.fullmatch(_DIGEST, text) is not None


def pack(name: Name) -> bytes:
    """The name in 60 bytes, a quarter of its memory. Packed names sort by time."""
    return b"".join((name.time.to_bytes(8), bytes.fromhex(name.key + name.id + name.digest)))


def unpack(packed: bytes) -> Name:
    """The name that `pack` packed."""
    key, identity, digest = packed[8:24], packed[24:28], packed[28:]
    return Name(key.hex(), int.from_bytes(packed[:8]), identity.hex(), digest.hex())


def key_of(path: str) -> str:
    """The key of ``path`` in the names of its entries."""
    return blake2b(os.fsencode(path), digest_size=16).hexdigest()


class Version(NamedTuple):
    """The file at ``path`` before ``ref`` changed it. ``size`` is in bytes, ``mode`` has all 12 bits.

    ``is_secret``: the resource has secrets, so the content must not be shown.
    """

    name: Name
    path: str
    ref: str
    size: int
    uid: int
    gid: int
    mode: int
    is_secret: bool = False

    def encode(self) -> bytes:
        """The content of the entry."""
        fields = ("path", "ref", "size", "uid", "gid", "mode", "is_secret")
        return json.dumps({field: getattr(self, field) for field in fields}).encode()


def decode(name: Name, data: bytes) -> Version | None:
    """The version of an entry, or None if the entry was not written completely."""
    try:
        return Version(name, **json.loads(data))
    except (ValueError, TypeError):
        return None
