"""Content of a file on a web server: as its checksum says, or else as the server has it now.

A checksum vouches for what is there, and nobody is asked. Without one, the server is asked by the version that it named
last; nothing announces a new one, so a check within `_MOST_OF_AN_ANSWER` seconds of the last answer asks nobody.
"""

from __future__ import annotations

import math
import os
import weakref
from collections.abc import Callable

import trio

from reactor import ResourceError, in_thread
from reactor.hostfs import Explaining, copy, opened_downloads
from reactor.resources.download.digest import digest_of
from reactor.resources.download.download_origin import Origin, fingerprint
from reactor.resources.download.fetching import fetch
from reactor.resources.download.partial_download import Partial
from reactor.resources.download.source import Source

_MOST_OF_AN_ANSWER = 30.0
"""Seconds for which an answer is believed: the checks before and after a change ask once."""


class Remote:
    """The content of ``source`` for the file at ``path``, with this SHA-256 if one is given.

    ``poll`` is how often it is looked at, in seconds, if that is said.
    """

    def __init__(self, path: str, source: Source, checksum: str | None, poll: float | None) -> None:
        self._path = path
        self._source = source
        self._checksum = checksum
        self._believed = min(_MOST_OF_AN_ANSWER, (poll or math.inf) / 2)
        self._version: Origin | None = None
        self._answered = -math.inf
        self._body: int | None = None
        self._close: Callable[[], object] = lambda: None

    def unchanged(self) -> bool:
        """Whether a checksum says it, or the server said so just now."""
        return self._checksum is not None or self._is_fresh()

    async def equals(self, fd: int, size: int) -> bool:  # noqa: ARG002 - the digest is of all there is
        """Whether the file open at ``fd`` has the checksum, or holds what the server has now."""
        wanted = self._checksum or await self._current()
        is_same = await in_thread(digest_of, fd) == wanted
        if is_same:
            self._drop()
        return is_same

    async def prepare(self) -> None:
        """Download it, unless it is here."""
        if self._body is None:
            await self._download(None)

    def head(self, limit: int) -> bytes:
        """The first ``limit`` bytes of what `prepare` brought."""
        return b"" if self._body is None else os.pread(self._body, limit, 0)

    async def copy_to(self, fd: int) -> None:
        """Write it to ``fd``; it is downloaded unless it is here."""
        await self.prepare()
        if self._body is not None:
            await copy(self._body, fd)
        self._drop()

    def _is_fresh(self) -> bool:
        return self._version is not None and trio.current_time() - self._answered < self._believed

    async def _current(self) -> str:
        """The SHA-256 of what the server has."""
        if self._version is None or not self._is_fresh():
            self._drop()
            self._version = await self._download(self._version or self._recorded())
        return self._version.checksum

    def _recorded(self) -> Origin | None:
        origin = Origin.recorded(self._path)
        if origin is None or origin.url != fingerprint(self._source.url) or not origin.checksum:
            return None
        return origin if origin.etag or origin.last_modified else None

    async def _download(self, known: Origin | None) -> Origin:
        """Have the content here, unless the server still has ``known``; return what it has. Raises ResourceError."""
        with (
            Explaining(f"download {self._source.shown} to {self._path}"),
            opened_downloads() as directory,
            Partial(directory, self._path) as partial,
        ):
            await partial.recall(fingerprint(self._source.url))
            if not await self._fetched_in_time(partial, known) and known is not None:
                partial.restart(None)
                version = known
            else:
                version = self._taken(partial)
        self._version, self._answered = version, trio.current_time()
        version.record(self._path)
        return version

    async def _fetched_in_time(self, partial: Partial, known: Origin | None) -> bool:
        timeout = self._source.timeout
        with trio.move_on_after(timeout):
            return await fetch(self._source, partial, known)
        words = f"download failed: it took longer than {timeout:g} s"
        raise ResourceError(words, "what has come is gone on with, if the server can do that")

    def _taken(self, partial: Partial) -> Origin:
        found, origin = partial.checksum, partial.origin
        if self._checksum not in (None, found):
            partial.restart(None)
            words = f'download failed: checksum mismatch, expected "{self._checksum}" got "{found}"'
            raise ResourceError(words, "correct the checksum, if that is the file you want")
        self._body = partial.take()
        self._close = weakref.finalize(self, os.close, self._body)
        return (origin or Origin(fingerprint(self._source.url))).complete(found)

    def _drop(self) -> None:
        self._body = None
        self._close()
