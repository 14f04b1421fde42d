"""Object stores: a stream with the chunks of each object, and a metadata message for each name."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
import string
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

import trio

from reactor.fleet.link.api import JetStreamApi
from reactor.fleet.link.direct_get import messages_from
from reactor.fleet.link.errors import (
    DamagedError,
    LinkError,
    MissingError,
    NoRespondersError,
    describing_missing,
    hint_to_make,
)
from reactor.fleet.link.object_info import ObjectInfo, parse_info
from reactor.fleet.link.reading import ONCE, reading
from reactor.fleet.link.stored import Stored
from reactor.fleet.link.uploading import uploading
from reactor.fleet.link.watch import Watch

CHUNK = 128 << 10
_PAGE = 8
_BUCKET = re.compile(r"[A-Za-z0-9_-]+")
_LETTERS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_NO_TIME = "0001-01-01T00:00:00Z"
"""The zero time of Go, in the metadata of an object: the time of the message is used instead."""


class ObjectStore:
    """A store. Its methods raise MissingError if there is none, and the errors of `JetStreamApi`."""

    def __init__(self, js: JetStreamApi, bucket: str) -> None:
        """Raises ValueError for a malformed name."""
        if not _BUCKET.fullmatch(bucket):
            raise ValueError(f"not the name of an object store: {bucket!r}")
        self.js = js
        self.bucket = bucket
        self.stream = f"OBJ_{bucket}"

    # --- reading

    async def info(self, name: str) -> ObjectInfo | None:
        """Return the metadata of an object, which may be deleted; None if there never was one."""
        with describing_missing(self.missing):
            stored = await self.js.last_message(self.stream, self._subject(name))
        return None if stored is None else self.info_of(stored)

    async def get(
        self, name: str, write: Callable[[bytes], object], *, largest: int | None = None
    ) -> ObjectInfo:
        """Read an object; ``write`` gets each chunk. They are verified only when this returns.

        Raises MissingError, or DamagedError if it has more than ``largest`` bytes or is not what its digest says.
        """
        info = await self.info(name)
        if info is None or info.deleted:
            raise MissingError(
                f"there is no object {name} in the object store {self.bucket}",
                f"see `nats object ls {self.bucket}`",
            )
        if largest is not None and info.size > largest:
            raise DamagedError(f"{self._shown(name)} has {info.size:,} bytes; at most {largest:,} are read")
        digest, size = hashlib.sha256(), 0
        async with aclosing(self.chunks(info)) as chunks:
            async for chunk in chunks:
                size += len(chunk.data)
                if size > info.size:
                    raise DamagedError(f"{self._shown(name)} has more bytes than its information says")
                digest.update(chunk.data)
                write(chunk.data)
        if size != info.size or _digest(digest.digest()) != info.digest:
            hint = "put it there again; or it was replaced while it was read"
            raise DamagedError(f"{self._shown(name)} is damaged: its size or digest is wrong", hint)
        return info

    async def read(self, name: str, *, largest: int) -> bytes:
        """Return the content of an object. Raises as `get` does."""
        content = bytearray()
        await self.get(name, content.extend, largest=largest)
        return bytes(content)

    async def list(self) -> list[ObjectInfo]:
        """Return the objects that are not deleted."""
        found: list[ObjectInfo] = []
        async with self.watch(patience=ONCE) as infos:
            async for info in infos:
                if info is None:
                    break
                found.append(info)
        return [info for info in found if not info.deleted]

    @asynccontextmanager
    async def watch(self, name: str | None = None, **how: Any) -> AsyncIterator[Watch[ObjectInfo]]:
        """Yield an iterator over the objects and their changes: see `Reader`, also for ``how``."""
        subject = f"$O.{self.bucket}.M.>" if name is None else self._subject(name)
        async with reading(self.js, self.stream, [subject], **how) as reader:
            yield Watch(reader, self.info_of, self.missing)

    async def chunks(
        self, info: ObjectInfo, *, after: int = 0, at_once: int = _PAGE
    ) -> AsyncGenerator[Stored, None]:
        """Yield the chunks, those after a sequence number: directly, or through a consumer where the stream forbids that.

        ``at_once``: the number that is requested at a time. They are not verified.
        """
        subject = f"$O.{self.bucket}.C.{info.nuid}"
        if not info.size:
            return
        direct = True
        try:
            found = messages_from(self.js, self.stream, subject, after + 1, page=at_once)
            async with aclosing(found) as chunks:
                async for stored in chunks:
                    yield stored
        except NoRespondersError:
            direct = False
        if not direct:
            async with reading(self.js, self.stream, [subject], start="all", patience=ONCE) as reader:
                async for each in reader:
                    if each is None:
                        return
                    if each.sequence > after:
                        yield each

    # --- writing

    async def put(self, name: str, data: bytes | Iterable[bytes]) -> ObjectInfo:
        """Store an object, and return its metadata. After a failure, the old object is unchanged."""
        old = await self.info(name)
        nuid = "".join(secrets.choice(_LETTERS) for _ in range(22))
        try:
            size, chunks, digest = await self._send(nuid, [data] if isinstance(data, bytes) else data)
            info = {
                "name": name,
                "options": {"max_chunk_size": CHUNK},
                "bucket": self.bucket,
                "nuid": nuid,
                "size": size,
                "mtime": _NO_TIME,
                "chunks": chunks,
                "digest": digest,
            }
            revision = await self._publish_info(name, info)
        except BaseException:
            with trio.CancelScope(shield=True), trio.move_on_after(1):
                await self._purge(nuid)
            raise
        if old is not None and not old.deleted:
            await self._purge(old.nuid)
        return ObjectInfo(name, self.bucket, nuid, size, chunks, digest, False, revision, 0.0)

    async def delete(self, name: str) -> None:
        """Delete an object. Raises MissingError if it is not there."""
        info = await self.info(name)
        if info is None or info.deleted:
            raise MissingError(f"there is no object {name} in the object store {self.bucket}")
        gone = {
            "name": name,
            "options": {"max_chunk_size": CHUNK},
            "bucket": self.bucket,
            "nuid": info.nuid,
            "size": 0,
            "mtime": _NO_TIME,
            "chunks": 0,
        }
        await self._publish_info(name, {**gone, "deleted": True})
        await self._purge(info.nuid)

    async def _send(self, nuid: str, data: Iterable[bytes]) -> tuple[int, int, str]:
        """Send the chunks; return their total size, their number, and the digest."""
        digest, size, chunks = hashlib.sha256(), 0, 0
        chunks_of = f"$O.{self.bucket}.C.{nuid}"
        with describing_missing(self.missing), uploading(self.js, self.stream, chunks_of) as upload:
            try:
                for chunk in _split(data):
                    await upload.send(chunk)
                    digest.update(chunk)
                    size, chunks = size + len(chunk), chunks + 1
                await upload.finish()
            except BaseException:
                await upload.abort()
                raise
        return size, chunks, _digest(digest.digest())

    async def _publish_info(self, name: str, info: Mapping[str, Any]) -> int:
        data = json.dumps(info, separators=(",", ":"), ensure_ascii=False).encode()
        with describing_missing(self.missing):
            ack = await self.js.publish(
                self._subject(name), data, headers={"Nats-Rollup": "sub"}, stream=self.stream
            )
        return ack.sequence

    async def _purge(self, nuid: str) -> None:
        """Delete the chunks of a replaced object. Chunks that can't be deleted only take space."""
        try:
            await self.js.purge(self.stream, f"$O.{self.bucket}.C.{nuid}")
        except LinkError:
            return

    # --- names

    def info_of(self, stored: Stored) -> ObjectInfo:
        """Parse the metadata message of an object. Raises DamagedError."""
        return parse_info(stored, self.bucket)

    def _subject(self, name: str) -> str:
        if not name:
            raise ValueError("the name of an object is empty")
        return f"$O.{self.bucket}.M.{base64.urlsafe_b64encode(name.encode()).decode()}"

    def _shown(self, name: str) -> str:
        return f"the object {name} of the object store {self.bucket}"

    def missing(self) -> MissingError:
        """Return the error that says that the store is missing."""
        where = self.js.connection.status.server
        return MissingError(
            f"there is no object store {self.bucket} at the NATS server {where}",
            hint_to_make("object", self.bucket),
        )


def _split(data: Iterable[bytes]) -> Iterator[bytes]:
    """Split the pieces, which have any size, into chunks of the usual size."""
    rest = bytearray()
    for piece in data:
        rest += piece
        while len(rest) >= CHUNK:
            yield bytes(rest[:CHUNK])
            del rest[:CHUNK]
    if rest:
        yield bytes(rest)


def _digest(digest: bytes) -> str:
    return f"SHA-256={base64.urlsafe_b64encode(digest).decode()}"
