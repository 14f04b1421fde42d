"""The JetStream of a connection, with what is stored in it: streams, key-value buckets and object stores."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from reactor.fleet.link.api import JetStreamApi
from reactor.fleet.link.key_value import KeyValue
from reactor.fleet.link.objects import ObjectStore
from reactor.fleet.link.reading import Reader, reading


class JetStream(JetStreamApi):
    """The JetStream of a connection."""

    def key_value(self, bucket: str) -> KeyValue:
        """Return a key-value bucket, which may not exist yet. Raises ValueError for a malformed name."""
        return KeyValue(self, bucket)

    def objects(self, bucket: str) -> ObjectStore:
        """Return an object store, which may not exist yet. Raises ValueError for a malformed name."""
        return ObjectStore(self, bucket)

    def reading(
        self, stream: str, subjects: Sequence[str] = (), **how: Any
    ) -> AbstractAsyncContextManager[Reader]:
        """Yield a reader of a stream: see `Reader`."""
        return reading(self, stream, subjects, **how)
