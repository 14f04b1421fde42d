"""Key-value buckets: a stream whose subjects are keys. The last message of a subject is the value."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal, NamedTuple

from reactor.fleet.link.api import JetStreamApi
from reactor.fleet.link.direct_get import last_messages
from reactor.fleet.link.errors import MissingError, WrongRevisionError, describing_missing, hint_to_make
from reactor.fleet.link.reading import ONCE, Start, reading
from reactor.fleet.link.stored import Stored
from reactor.fleet.link.watch import Watch

Operation = Literal["put", "delete", "purge"]

_BUCKET = re.compile(r"[A-Za-z0-9_-]+")
_KEY = re.compile(r"[-/_=A-Za-z0-9]+(?:\.[-/_=A-Za-z0-9]+)*")
_FILTER = re.compile(r"(?:(?:[-/_=A-Za-z0-9]+|\*)\.)*(?:[-/_=A-Za-z0-9]+|\*|>)")
_OPERATIONS: dict[str, Operation] = {"DEL": "delete", "PURGE": "purge"}
_MARKERS: dict[str, Operation] = {"MaxAge": "purge", "Purge": "purge", "Remove": "delete"}
_DEFAULT_PREFIX = "$JS.API"
_AMONG = "Nats-Expected-Last-Subject-Sequence-Subject"


class Entry(NamedTuple):
    """A value of a key, or the marker of its deletion. ``time``: seconds since 1970."""

    key: str
    value: bytes
    revision: int
    operation: Operation
    time: float

    @property
    def deleted(self) -> bool:
        """Whether the key has no value."""
        return self.operation != "put"


def is_key(text: str) -> bool:
    """Whether ``text`` may be a key. A server takes more, so who reads what others wrote may find keys that are none."""
    return _KEY.fullmatch(text) is not None


class KeyValue:
    """A bucket.

    Its methods raise MissingError if there is none, ValueError for a bad key, and the errors of `JetStreamApi`.
    """

    def __init__(self, js: JetStreamApi, bucket: str) -> None:
        if not _BUCKET.fullmatch(bucket):
            raise ValueError(f"not the name of a bucket: {bucket!r}")
        self.js = js
        self.bucket = bucket
        self.stream = f"KV_{bucket}"
        self.prefix = f"$KV.{bucket}."

    # --- reading

    async def last(self, key: str) -> Entry | None:
        """Return the newest entry of a key, which may be a deletion; None if there never was one."""
        with describing_missing(self.missing):
            stored = await self.js.last_message(self.stream, self._subject(key))
        return None if stored is None else self._entry(stored)

    async def get(self, key: str) -> Entry | None:
        """Return the entry of a key, None if it has no value."""
        entry = await self.last(key)
        return None if entry is None or entry.deleted else entry

    async def entries(self, *filters: str) -> list[Entry]:
        """Return the entries with a value whose keys match, by revision. Without filters, all."""
        subjects = self._filters(filters)
        with describing_missing(self.missing):
            await self.js.stream_info(self.stream)
            found = [self._entry(each) for each in await last_messages(self.js, self.stream, subjects)]
        return [each for each in found if not each.deleted]

    async def keys(self, *filters: str) -> list[str]:
        """Return the keys that have a value and match, in the order of their revisions."""
        return [each.key for each in await self._past(filters, "last_per_subject") if not each.deleted]

    async def history(self, key: str) -> list[Entry]:
        """Return all entries of a key that are kept, the oldest first."""
        self._subject(key)
        return await self._past((key,), "all", headers_only=False)

    @asynccontextmanager
    async def watch(
        self, *filters: str, start: Start = "last_per_subject", **how: Any
    ) -> AsyncIterator[Watch[Entry]]:
        """Yield an iterator over the entries that match and their changes: see `Reader`, also for ``how``."""
        async with reading(self.js, self.stream, self._filters(filters), start=start, **how) as reader:
            yield Watch(reader, self.entry_of, self.missing)

    async def _past(
        self, filters: tuple[str, ...], start: Start, *, headers_only: bool = True
    ) -> list[Entry]:
        found: list[Entry] = []
        async with self.watch(*filters, start=start, headers_only=headers_only, patience=ONCE) as entries:
            async for entry in entries:
                if entry is None:
                    break
                found.append(entry)
        return found

    # --- writing; each returns the new revision

    async def put(self, key: str, value: bytes, *, ttl: int | None = None) -> int:
        """Set a value. ``ttl``: seconds after which it is gone."""
        return await self._write(key, value, {}, ttl=ttl)

    async def create(self, key: str, value: bytes, *, ttl: int | None = None) -> int:
        """Set the value of a key that has none. Raises WrongRevisionError if it has one."""
        try:
            return await self._write(key, value, {}, last=0, ttl=ttl)
        except WrongRevisionError:
            entry = await self.last(key)
            if entry is None or not entry.deleted:
                raise
            return await self._write(key, value, {}, last=entry.revision, ttl=ttl)

    async def update(
        self, key: str, value: bytes, revision: int, *, ttl: int | None = None, among: str | None = None
    ) -> int:
        """Set a value if the last entry of the key, deleted or not, has ``revision``. Raises WrongRevisionError.

        ``among``: a filter of keys; then the last entry of all that match must have it, 0 for none.
        """
        headers = {} if among is None else {_AMONG: self._filters((among,))[0]}
        return await self._write(key, value, headers, last=revision, ttl=ttl)

    async def delete(self, key: str, *, revision: int | None = None, ttl: int | None = None) -> int:
        """Delete a value; its history stays.

        ``revision``: as for `update`. ``ttl``: seconds after which the marker is gone too.
        """
        return await self._write(key, b"", {"KV-Operation": "DEL"}, last=revision, ttl=ttl)

    async def purge(self, key: str) -> int:
        """Delete a value and its history."""
        return await self._write(key, b"", {"KV-Operation": "PURGE", "Nats-Rollup": "sub"})

    async def _write(
        self,
        key: str,
        value: bytes,
        headers: dict[str, str],
        *,
        last: int | None = None,
        ttl: int | None = None,
    ) -> int:
        if ttl is not None:
            headers["Nats-TTL"] = f"{ttl}s"
        prefix = self.js.prefix
        subject = self._subject(key) if prefix == _DEFAULT_PREFIX else f"{prefix}.{self._subject(key)}"
        with describing_missing(self.missing):
            ack = await self.js.publish(
                subject,
                value,
                headers=headers,
                last=last,
                message_id=secrets.token_hex(11),
                stream=self.stream,
            )
        return ack.sequence

    # --- names

    def entry_of(self, stored: Stored) -> Entry:
        """Return the entry that a message of the bucket is."""
        return self._entry(stored)

    def _entry(self, stored: Stored) -> Entry:
        headers = stored.headers
        operation: Operation = _OPERATIONS.get(headers.get("KV-Operation", ""), "put")
        if "Nats-Marker-Reason" in headers:
            operation = _MARKERS.get(headers["Nats-Marker-Reason"], "delete")
        key = stored.subject.removeprefix(self.prefix)
        return Entry(key, stored.data if operation == "put" else b"", stored.sequence, operation, stored.time)

    def _subject(self, key: str) -> str:
        if not is_key(key):
            raise ValueError(f"not a key: {key!r}")
        return self.prefix + key

    def _filters(self, filters: tuple[str, ...]) -> list[str]:
        for each in filters:
            if not _FILTER.fullmatch(each):
                raise ValueError(f"not a filter of keys: {each!r}")
        return [self.prefix + each for each in filters or (">",)]

    def missing(self) -> MissingError:
        """Return the error that says that the bucket is missing."""
        where = self.js.connection.status.server
        return MissingError(
            f"there is no key-value bucket {self.bucket} at the NATS server {where}",
            hint_to_make("kv", self.bucket),
        )
