"""An archive over HTTP: conditional, resumed where the server can, bounded in redirects and size."""

from __future__ import annotations

import math
import re
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
    http_answer,
    size_in_words,
)
from reactor.resources.download.download_origin import Origin, fingerprint
from reactor.resources.download.partial_download import Partial
from reactor.resources.download.progress import Progress
from reactor.resources.download.source import Source

if TYPE_CHECKING:
    from reactor import HttpAnswer

_SILENCE = 30.0
"""Seconds that a server may take for its next byte."""
_MAX_RESUMES = 5
_BUFFER = 1 << 20
"""Bytes gathered before they are written."""
_RANGE = re.compile(r"bytes (\d+)-\d+/(?:\d+|\*)")
_HINTS = {
    HTTPStatus.UNAUTHORIZED: "check username and password, or headers",
    HTTPStatus.FORBIDDEN: "check username and password, or headers",
    HTTPStatus.NOT_FOUND: "check the url",
    HTTPStatus.GONE: "check the url",
}


async def fetch(source: Source, partial: Partial, known: Origin | None) -> bool:
    """Bring all of the archive into ``partial``; False when the server still has just the version ``known``.

    Whenever the connection breaks, the rest is asked for, as long as each time something comes. Raises ResourceError.
    """
    fetching = _Fetching(source, partial, known)
    for attempt in range(_MAX_RESUMES + 1):
        before = partial.size
        try:
            return await fetching.attempt()
        except ConnectionLostError as error:
            if not partial.can_resume or partial.size == before or attempt == _MAX_RESUMES:
                raise _failed(str(error), "see whether the server can be reached from here") from error
        except TooLargeError:
            raise fetching.too_large() from None
        except HttpError as error:
            raise _failed(str(error), "check the url") from error
    raise AssertionError("the last attempt returns or raises")


class _Fetching:
    """One download, over as many connections as it takes."""

    def __init__(self, source: Source, partial: Partial, known: Origin | None) -> None:
        self._source = source
        self._partial = partial
        self._known = known
        self._progress = Progress()

    async def attempt(self) -> bool:
        """Ask for what is missing, and take what comes. Returns as `fetch` does."""
        source = self._source
        request = HttpRequest(
            source.url,
            fields=tuple(source.headers.items()),
            conditions=tuple(self._conditions().items()),
            credentials=source.credentials,
        )
        async with http_answer(request, HttpLimits(source.max_size, math.inf, _SILENCE)) as answer:
            if answer.status == HTTPStatus.NOT_MODIFIED and self._known is not None:
                return False
            if self._accepts(answer):
                await self._take(answer)
                return True
        return await self.attempt()

    def _accepts(self, answer: HttpAnswer) -> bool:
        """Whether the body is what goes next into the partial file; False when all is to be asked for, from the start.

        Without a range that is not answered again. Raises ResourceError for an answer that is of no use.
        """
        status, partial = answer.status, self._partial
        if status == HTTPStatus.OK:
            partial.restart(self._origin(answer))
            return True
        if partial.can_resume and status == HTTPStatus.PARTIAL_CONTENT:
            match = _RANGE.fullmatch(answer.field("content-range"))
            if match is not None and int(match[1]) == partial.size:
                return True
        elif not partial.can_resume or status != HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise _failed(*_status_in_words(status))
        partial.restart(None)
        return False

    def _conditions(self) -> dict[str, str]:
        """Only another version than the known one, and only what is missing of the one begun."""
        conditions = {}
        if self._known is not None:
            names = {"If-None-Match": self._known.etag, "If-Modified-Since": self._known.last_modified}
            conditions.update({name: value for name, value in names.items() if value})
        if self._partial.can_resume and self._partial.origin is not None:
            conditions["Range"] = f"bytes={self._partial.size}-"
            conditions["If-Range"] = self._partial.origin.etag
        return conditions

    def _origin(self, answer: HttpAnswer) -> Origin:
        etag, modified = answer.field("etag"), answer.field("last-modified")
        return Origin(fingerprint(self._source.url), etag, modified)

    async def _take(self, answer: HttpAnswer) -> None:
        """Take the body as it is: what is compressed shall stay so."""
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
                        self._progress(lambda: self._said(whole))
        finally:
            with trio.CancelScope(shield=True):  # what has come need not come again
                await self._partial.append(pieces)
        if not _says_where_it_ends(answer):
            self._partial.doubt()

    def _check_size(self, size: int) -> None:
        if size > self._source.max_size:
            raise self.too_large()

    def too_large(self) -> ResourceError:
        """The error about an archive that is larger than allowed, of which nothing is kept."""
        self._partial.restart(None)
        return _failed(f"it is larger than {size_in_words(self._source.max_size)}", self._source.hint)

    def _said(self, whole: int | None) -> str:
        size = self._partial.size
        of = f" of {size_in_words(whole)} ({100 * size // whole} %)" if whole else ""
        return f"downloaded {size_in_words(size)}{of}"


def _says_where_it_ends(answer: HttpAnswer) -> bool:
    """Whether a body that is cut short can be told from a whole one; if not, it ends when the connection does."""
    is_chunked = answer.field("transfer-encoding").lower().endswith("chunked")
    return is_chunked or bool(answer.field("content-length"))


def _status_in_words(status: int) -> tuple[str, str | None]:
    try:
        known = HTTPStatus(status)
    except ValueError:
        return f"HTTP request failed with status {status}", None
    hint = "the server has trouble of its own" if known >= HTTPStatus.INTERNAL_SERVER_ERROR else None
    return f"HTTP request failed with status {status}: {known.phrase}", _HINTS.get(known, hint)


def _failed(reason: str, hint: str | None = None) -> ResourceError:
    return ResourceError(f"download failed: {reason}", hint)
