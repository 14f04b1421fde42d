"""Content from a web server: the content with the given checksum, or the present content.

With a checksum, the only request is the download. Without one, each check asks the server for a newer version, except
within `_MOST_OF_AN_ANSWER` seconds after the last answer.
"""

from __future__ import annotations

import math
import os
import weakref
from collections.abc import Callable
from functools import partial

import trio

from reactor import ResourceError, in_thread
from reactor.hostfs import ErrorContext, copy, digest_of, opened_downloads
from reactor.resources.download.download_origin import Origin, fingerprint
from reactor.resources.download.fetching import fetch
from reactor.resources.download.partial_download import Partial
from reactor.resources.download.remote_source import Source

_MOST_OF_AN_ANSWER = 30.0
"""Seconds for which an answer stays valid, so that the checks before and after a change ask once."""


class Remote:
    """The content of ``source`` for the file at ``path``, with this SHA-256 if ``checksum`` is given.

    ``poll`` is the interval of the checks in seconds, if it is set.
    """

    def __init__(self, path: str, source: Source, checksum: str | None, poll: float | None) -> None:
        self._path = path
        self._source = source
        self._checksum = checksum
        self._valid_for = min(_MOST_OF_AN_ANSWER, (poll or math.inf) / 2)
        self._version: Origin | None = None
        self._answered = -math.inf
        self._body: int | None = None
        self._close: Callable[[], object] = lambda: None

    def unchanged(self) -> bool:
        """Whether there is a checksum, or the answer of the server is recent."""
        return self._checksum is not None or self._is_fresh()

    async def equals(self, fd: int, size: int) -> bool:
        """Whether the file open at ``fd`` has the checksum, or the present content of the server.

        A file that is larger than the largest allowed download is not read: its owner may have made it of any length.
        """
        wanted = self._checksum or await self._current()
        most = self._source.max_size
        is_same = size <= most and await in_thread(partial(digest_of, fd, most=most)) == wanted
        if is_same:
            self._drop()
        return is_same

    async def prepare(self) -> None:
        """Download the content, unless it is downloaded already."""
        if self._body is None:
            await self._download(None)

    def head(self, limit: int) -> bytes:
        """The first ``limit`` bytes of the content that `prepare` downloaded."""
        return b"" if self._body is None else os.pread(self._body, limit, 0)

    async def copy_to(self, fd: int) -> None:
        """Write the content to ``fd``; download it first, unless it is downloaded already."""
        await self.prepare()
        if self._body is not None:
            await copy(self._body, fd)
        self._drop()

    def _is_fresh(self) -> bool:
        return self._version is not None and trio.current_time() - self._answered < self._valid_for

    async def _current(self) -> str:
        """The SHA-256 of the present content of the server."""
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
        """Download the content, unless the server still has ``known``. Returns the present version.

        Raises ResourceError.
        """
        with (
            ErrorContext(f"download {self._source.shown} to {self._path}"),
            opened_downloads() as directory,
            Partial(directory, self._path) as partial,
        ):
            await partial.resume(fingerprint(self._source.url))
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
        raise ResourceError(words, "the next attempt resumes the download, if the server supports that")

    def _taken(self, partial: Partial) -> Origin:
        found, origin = partial.checksum, partial.origin
        if self._checksum not in (None, found):
            partial.restart(None)
            words = f'download failed: checksum mismatch, expected "{self._checksum}" got "{found}"'
            raise ResourceError(words, "correct the checksum, if this is the intended file")
        self._body = partial.take()
        self._close = weakref.finalize(self, os.close, self._body)
        return (origin or Origin(fingerprint(self._source.url))).complete(found)

    def _drop(self) -> None:
        self._body = None
        self._close()
