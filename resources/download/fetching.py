"""Downloads over HTTP: conditional, resumed if the server supports it, with limits for redirects, size and time."""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable
from contextlib import aclosing
from http import HTTPStatus
from typing import TYPE_CHECKING

import trio

from reactor import (
    ConnectionLostError,
    HttpError,
    HttpLimits,
    HttpRequest,
    ResourceError,
    TooLargeError,
    emit_output,
    http_response,
    size_in_words,
)
from reactor.hostfs import ErrorContext, Parent
from reactor.resources.download.download_origin import Origin, fingerprint
from reactor.resources.download.partial_download import Partial
from reactor.resources.download.remote_source import Source
from reactor.resources.download.source import split_credentials

if TYPE_CHECKING:
    from reactor import HttpResponse

_SILENCE = 30.0
"""Seconds within which the next byte must arrive."""
_MAX_RESUMES = 5
_BUFFER = 1 << 20
"""Bytes that are collected before they are written."""
_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})", re.ASCII)
_HINTS = {
    HTTPStatus.UNAUTHORIZED: "check username and password, or headers",
    HTTPStatus.FORBIDDEN: "check username and password, or headers",
    HTTPStatus.NOT_FOUND: "check the url",
    HTTPStatus.GONE: "check the url",
}
_PRIVATE = 0o600
_INTERVAL = 1.0
"""Seconds between two lines of progress, and before the first."""


async def fetch(source: Source, partial: Partial, known: Origin | None) -> bool:
    """Download the file into ``partial``. Returns False if the server still has the version ``known``.

    After a lost connection the rest is requested, as long as every attempt receives some bytes. Raises ResourceError.
    """
    fetching = _Fetching(source, partial, known)
    for attempt in range(_MAX_RESUMES + 1):
        before = partial.size
        try:
            return await fetching.attempt()
        except ConnectionLostError as error:
            if not partial.can_resume or partial.size == before or attempt == _MAX_RESUMES:
                raise _failed(str(error), "check that the server can be reached from this host") from error
        except TooLargeError:
            raise fetching.too_large() from None
        except HttpError as error:
            raise _failed(str(error), "check the url") from error
    raise AssertionError("the last attempt returns or raises")


class _Fetching:
    """One download, over one or more connections."""

    def __init__(self, source: Source, partial: Partial, known: Origin | None) -> None:
        self._source = source
        self._partial = partial
        self._known = known
        self._progress = Progress()

    async def attempt(self) -> bool:
        """Request the missing part, and store the answer. Returns the same as `fetch`."""
        source = self._source
        request = HttpRequest(
            source.url,
            fields=tuple(source.headers.items()),
            conditions=tuple(self._conditions().items()),
            credentials=source.credentials,
        )
        async with http_response(request, HttpLimits(source.max_size, math.inf, _SILENCE)) as answer:
            if answer.status == HTTPStatus.NOT_MODIFIED and self._known is not None:
                return False
            if source.is_plain:
                answer.refuse_encoding()
            if self._accepts(answer):
                await self._take(answer)
                return True
        return await self.attempt()

    def _accepts(self, answer: HttpResponse) -> bool:
        """Whether the body continues the partial file. False: request the whole file again, from the start.

        A request without a range never returns False. Raises ResourceError for an error status.
        """
        status, partial = answer.status, self._partial
        if status == HTTPStatus.OK:
            partial.restart(self._origin(answer))
            return True
        if partial.can_resume and status == HTTPStatus.PARTIAL_CONTENT:
            if self._is_rest(answer):
                return True
        elif not partial.can_resume or status != HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise _failed(*_status_in_words(status))
        partial.restart(None)
        return False

    def _is_rest(self, answer: HttpResponse) -> bool:
        """Whether the part in the answer is all that is missing, and of the same version: a server may send less."""
        match = _RANGE.fullmatch(answer.field("content-range"))
        if match is None:
            return False
        start, last, whole = map(int, match.groups())
        origin, etag = self._partial.origin, answer.field("etag")
        is_same = origin is not None and etag in ("", origin.etag)
        return is_same and start == self._partial.size and last + 1 == whole

    def _conditions(self) -> dict[str, str]:
        """The header fields that request only a version other than the known one, and only the missing part."""
        conditions = {}
        if self._known is not None:
            names = {"If-None-Match": self._known.etag, "If-Modified-Since": self._known.last_modified}
            conditions.update({name: value for name, value in names.items() if value})
        if self._partial.can_resume and self._partial.origin is not None:
            conditions["Range"] = f"bytes={self._partial.size}-"
            conditions["If-Range"] = self._partial.origin.etag
        return conditions

    def _origin(self, answer: HttpResponse) -> Origin:
        etag, modified = answer.field("etag"), answer.field("last-modified")
        return Origin(fingerprint(self._source.url), etag, modified)

    async def _take(self, answer: HttpResponse) -> None:
        """Write the body to the partial file as it is, without decoding a content encoding."""
        length = answer.field("content-length")
        whole = self._partial.size + int(length) if length.isdecimal() else None
        self._check_size(whole or 0)
        pieces: list[bytes] = []
        gathered = 0
        try:
            async with aclosing(answer.pieces()) as coming:
                async for piece in coming:
                    pieces.append(piece)
                    gathered += len(piece)
                    self._check_size(self._partial.size + gathered)
                    if gathered >= _BUFFER:
                        await self._partial.append(pieces)
                        gathered = 0
                        self._progress(lambda: self._emitted_at(whole))
        finally:
            with trio.CancelScope(shield=True):  # keep these bytes: the download can be resumed
                await self._partial.append(pieces)
        if not _has_known_length(answer):
            self._partial.invalidate()

    def _check_size(self, size: int) -> None:
        if size > self._source.max_size:
            raise self.too_large()

    def too_large(self) -> ResourceError:
        """Discard the download, and return the error about a file that is larger than allowed."""
        self._partial.restart(None)
        return _failed(f"it is larger than {size_in_words(self._source.max_size)}", self._source.hint)

    def _emitted_at(self, whole: int | None) -> str:
        size = self._partial.size
        of = f" of {size_in_words(whole)} ({100 * size // whole} %)" if whole else ""
        return f"downloaded {size_in_words(size)}{of}"


def _has_known_length(answer: HttpResponse) -> bool:
    """Whether the answer declares where its body ends. If not, a truncated body can't be recognized."""
    is_chunked = answer.field("transfer-encoding").lower().endswith("chunked")
    return is_chunked or bool(answer.field("content-length"))


def _status_in_words(status: int) -> tuple[str, str | None]:
    try:
        known = HTTPStatus(status)
    except ValueError:
        return f"HTTP request failed with status {status}", None
    hint = "the error is on the side of the server" if known >= HTTPStatus.INTERNAL_SERVER_ERROR else None
    return f"HTTP request failed with status {status}: {known.phrase}", _HINTS.get(known, hint)


def _failed(reason: str, hint: str | None = None) -> ResourceError:
    return ResourceError(f"download failed: {reason}", hint)


async def fetch_to(url: str, path: str, *, max_size: int, stall_timeout: float) -> None:
    """Download ``url`` to ``path``, in a directory that only we can enter. Its origin is not recorded.

    ``max_size`` is in bytes, ``stall_timeout`` in seconds. Raises ResourceError.
    """
    bare, credentials = split_credentials(url)
    source = Source(bare, {}, credentials, max_size, stall_timeout, "name a smaller file")
    with (
        ErrorContext(f"download {source.shown}"),
        Parent(path) as (directory, _),
        Partial(directory, path) as partial,
    ):
        await fetch_in_time(source, partial, None)
        partial.origin = None
        await partial.place((os.geteuid(), os.getegid()), _PRIVATE)


async def fetch_in_time(source: Source, partial: Partial, known: Origin | None) -> bool:
    """Download as `fetch` does, within the timeout of ``source``. Raises ResourceError, also at the timeout."""
    timeout = source.timeout
    with trio.move_on_after(timeout or math.inf):
        return await fetch(source, partial, known)
    hint = "raise the timeout; the next attempt resumes the download, if the server supports that"
    raise ResourceError(f"download failed: it took longer than its timeout of {timeout:g} s", hint)


class Progress:
    """Reports progress to ``emit``, at most one line in `_INTERVAL` seconds."""

    def __init__(self, emit: Callable[[str], None] = emit_output) -> None:
        self._emit = emit
        self._next = time.monotonic() + _INTERVAL

    def __call__(self, line: Callable[[], str]) -> None:
        """Report ``line``, if `_INTERVAL` has passed since the last one."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _INTERVAL
            self._emit(line())
