"""An archive over HTTP: conditional, resumed where the server can, bounded in redirects and size."""

from __future__ import annotations

import re
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

import trio

from reactor import ResourceError, in_thread, size_in_words
from resources.archive.origin import Origin, fingerprint
from resources.archive.partial import Partial
from resources.archive.progress import Progress
from resources.archive.state import Source

if TYPE_CHECKING:
    import httpx

_SILENCE = 30.0
"""Seconds that a server may take for its next byte."""
_MAX_REDIRECTS = 5
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
    client = await in_thread(_make_client)
    import httpx  # noqa: PLC0415 - _make_client has taken the time for it, in a thread

    fetching = _Fetching(client, source, partial, known)
    async with client:
        for attempt in range(_MAX_RESUMES + 1):
            before = partial.size
            try:
                return await fetching.attempt()
            except httpx.TransportError as error:
                if not partial.can_resume or partial.size == before or attempt == _MAX_RESUMES:
                    raise _failed(
                        _reason(error), "see whether the server can be reached from here"
                    ) from error
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise _failed(_reason(error)) from error
    raise AssertionError("the last attempt returns or raises")


def _make_client() -> httpx.AsyncClient:
    """A client that trusts whom this host trusts. Blocking: the library takes 90 ms to import."""
    import httpx  # noqa: PLC0415

    return httpx.AsyncClient(timeout=_SILENCE, verify=ssl.create_default_context(), follow_redirects=False)


class _Fetching:
    """One download, over as many connections as it takes."""

    def __init__(
        self, client: httpx.AsyncClient, source: Source, partial: Partial, known: Origin | None
    ) -> None:
        self._client = client
        self._source = source
        self._partial = partial
        self._known = known
        self._progress = Progress()

    async def attempt(self) -> bool:
        """Ask for what is missing, and take what comes. Returns as `fetch` does."""
        async with self._asked(self._conditions()) as response:
            if response.status_code == HTTPStatus.NOT_MODIFIED and self._known is not None:
                return False
            if self._accepts(response):
                await self._take(response)
                return True
        return await self.attempt()

    def _accepts(self, response: httpx.Response) -> bool:
        """Whether the body is what goes next into the partial file; False when all is to be asked for, from the start.

        Without a range that is not answered again. Raises ResourceError for an answer that is of no use.
        """
        status, partial = response.status_code, self._partial
        if status == HTTPStatus.OK:
            partial.restart(self._origin(response))
            return True
        if partial.can_resume and status == HTTPStatus.PARTIAL_CONTENT:
            match = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
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

    def _origin(self, response: httpx.Response) -> Origin:
        etag, modified = response.headers.get("ETag", ""), response.headers.get("Last-Modified", "")
        return Origin(fingerprint(self._source.url), etag, modified)

    async def _take(self, response: httpx.Response) -> None:
        """Take the body as it is: what is compressed shall stay so."""
        length = response.headers.get("Content-Length", "")
        whole = self._partial.size + int(length) if length.isdecimal() else None
        self._check_size(whole or 0)
        pieces: list[bytes] = []
        gathered = 0
        try:
            async for piece in response.aiter_raw():
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
        if not _says_where_it_ends(response):
            self._partial.doubt()

    def _check_size(self, size: int) -> None:
        if size > self._source.max_size:
            self._partial.restart(None)
            hint = "raise max_size if that is as it should be"
            raise _failed(f"it is larger than {size_in_words(self._source.max_size)}", hint)

    def _said(self, whole: int | None) -> str:
        size = self._partial.size
        of = f" of {size_in_words(whole)} ({100 * size // whole} %)" if whole else ""
        return f"downloaded {size_in_words(size)}{of}"

    @asynccontextmanager
    async def _asked(self, conditions: Mapping[str, str]) -> AsyncIterator[httpx.Response]:
        """The answer after all redirects. Only the host that is named in the manifest gets to see credentials."""
        import httpx  # noqa: PLC0415

        url = self._source.url
        for _ in range(_MAX_REDIRECTS + 1):
            headers = {"Accept-Encoding": "identity", **conditions}
            auth = None
            if _origin_of(url) == _origin_of(self._source.url):
                headers.update(self._source.headers)
                auth = httpx.BasicAuth(*self._source.credentials) if self._source.credentials else None
            request = self._client.build_request("GET", url, headers=headers)
            response = await self._client.send(request, auth=auth, stream=True)
            try:
                if not response.has_redirect_location:
                    yield response
                    return
                url = _redirected(url, response.headers["Location"])
            finally:
                await response.aclose()
        raise _failed(f"the server redirects more than {_MAX_REDIRECTS} times", "check the url")


def _says_where_it_ends(response: httpx.Response) -> bool:
    """Whether a body that is cut short can be told from a whole one; if not, it ends when the connection does."""
    is_chunked = response.headers.get("Transfer-Encoding", "").lower().endswith("chunked")
    return is_chunked or "Content-Length" in response.headers


def _redirected(url: str, location: str) -> str:
    """Where a redirect leads. Raises ResourceError where it must not."""
    try:
        target = urljoin(url, location)
        old, new = urlsplit(url), urlsplit(target)
        is_usable = new.scheme in ("http", "https") and bool(new.hostname) and new.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise _failed("the server redirects to something that is no http or https URL", "check the url")
    if (old.scheme, new.scheme) == ("https", "http"):
        hint = "name the http URL itself, with a checksum, if that is what you want"
        raise _failed(f"the server redirects from https to http, to {new.hostname}", hint)
    return target


def _origin_of(url: str) -> tuple[str, str | None, int]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}[parts.scheme]


def _status_in_words(status: int) -> tuple[str, str | None]:
    try:
        known = HTTPStatus(status)
    except ValueError:
        return f"HTTP request failed with status {status}", None
    hint = "the server has trouble of its own" if known >= HTTPStatus.INTERNAL_SERVER_ERROR else None
    return f"HTTP request failed with status {status}: {known.phrase}", _HINTS.get(known, hint)


def _reason(error: Exception) -> str:
    import httpx  # noqa: PLC0415

    if isinstance(error, httpx.ReadTimeout):
        return f"the server has been silent for {_SILENCE:g} s"
    cause: BaseException | None = error
    while cause is not None and not str(cause):  # of a certificate, only the innermost tells
        cause = cause.__cause__ or cause.__context__
    return str(cause or type(error).__name__)


def _failed(reason: str, hint: str | None = None) -> ResourceError:
    return ResourceError(f"download failed: {reason}", hint)
