"""Batches of events, as hosts send them: lines of JSON, compressed by zstd where they are more than 4 KiB.

Each line is an event as ``reactor events --format json`` shows it. The header ``Reactor-Batch`` is ``JOURNAL:FIRST-LAST``: the
name of the journal, and the ids of the first and the last event. Readers know a repetition by it. The header
``Reactor-Sent`` is the time of sending on the clock of the host, in seconds since 1970: readers know by it how wrong that is.

The servers know one by the message id, which they look for among those of all hosts. So nobody but the host may be able to
compute it, not even who has read all batches before: it and the name of the journal are hashes with a secret of the journal.
"""

from __future__ import annotations

import hmac
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from reactor.fleet.documents import DocumentError

MOST_EVENTS, MOST_BYTES = 200, 64 * 1024
"""The largest number of events in a batch, and its largest size in bytes before it is compressed.

A single event may be larger.
"""
COMPRESSED_ABOVE = 4096
_LARGEST = 4 << 20
"""The largest size in bytes of a received batch, after it is decompressed."""
_MAGIC = b"\x28\xb5\x2f\xfd"
BATCH = "Reactor-Batch"
SENT = "Reactor-Sent"
_SENT = re.compile(r"\d{1,12}(\.\d{1,6})?")
_ID = re.compile(r"([0-9a-f]{1,32}):(\d{1,18})-(\d{1,18})")


class BatchId(NamedTuple):
    """``journal``: its name; ``first`` and ``last``: ids of events in it."""

    journal: str
    first: int
    last: int

    @classmethod
    def of(cls, secret: str, first: int, last: int) -> BatchId:
        """The id of a batch of the journal with that secret."""
        return cls(_hash(secret, "name"), first, last)

    def __str__(self) -> str:
        return f"{self.journal}:{self.first}-{self.last}"


def message_id(secret: str, first: int, last: int) -> str:
    """Return the message id of a batch of the journal with that secret."""
    return _hash(secret, f"{first}-{last}")


def _hash(secret: str, what: str) -> str:
    return hmac.digest(secret.encode(), what.encode(), "sha256").hex()[:32]


def batch_id_of(headers: Mapping[str, str]) -> BatchId | None:
    """Return the id of a batch from its headers, None if it has none."""
    found = _ID.fullmatch(headers.get(BATCH, ""))
    return BatchId(found[1], int(found[2]), int(found[3])) if found else None


def sent_in(headers: Mapping[str, str]) -> float | None:
    """Return when a batch was sent, on the clock of its host; None if its headers do not say it, as from older versions."""
    text = headers.get(SENT, "")
    return float(text) if _SENT.fullmatch(text) else None


def encode_batch(events: Iterable[Mapping[str, Any]]) -> bytes:
    """Return the bytes of a batch."""
    data = "".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events).encode()
    return _zstd()[0](data) if len(data) > COMPRESSED_ABOVE else data


def decode_batch(data: bytes, what: str) -> list[dict[str, Any]]:
    """Return the events of a batch. ``what`` names it in errors. Raises DocumentError.

    A line that is not a JSON object is an error: hosts are not trusted.
    """
    if data.startswith(_MAGIC):
        data = _zstd()[1](data, what)
    if not data.endswith(b"\n"):
        raise DocumentError(f"{what} is cut off, or empty")
    if len(data) > _LARGEST:
        raise DocumentError(f"{what} has more than {_LARGEST} bytes")
    try:
        found = [json.loads(line) for line in data.splitlines() if line]
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"{what} is not valid JSON: {error}") from error
    if not all(isinstance(each, dict) for each in found):
        raise DocumentError(f"{what} has a line that is not a JSON object")
    return found


def _zstd() -> tuple[Callable[[bytes], bytes], Callable[[bytes, str], bytes]]:
    """The functions that compress, and decompress at most `_LARGEST` bytes. Imported where they are needed."""
    if sys.version_info >= (3, 14):
        from compression import zstd  # noqa: PLC0415 - small batches need none

        def unpacked(data: bytes, what: str) -> bytes:
            try:
                return zstd.ZstdDecompressor().decompress(data, _LARGEST + 1)
            except zstd.ZstdError as error:
                raise DocumentError(f"{what} is not valid zstd: {error}") from error

        return zstd.compress, unpacked
    import zstandard  # noqa: PLC0415 - small batches need none

    def decompressed(data: bytes, what: str) -> bytes:
        try:
            reader = zstandard.ZstdDecompressor(max_window_size=2 * _LARGEST).stream_reader(data)
            return reader.read(_LARGEST + 1)
        except zstandard.ZstdError as error:
            raise DocumentError(f"{what} is not valid zstd: {error}") from error

    return zstandard.ZstdCompressor().compress, decompressed
