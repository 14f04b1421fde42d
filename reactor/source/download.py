"""One conditional GET of an archive, with limits of time, pace, size and redirects."""

from __future__ import annotations

from contextlib import aclosing
from typing import IO, TYPE_CHECKING

from reactor.errors import ReactorError
from reactor.http.request import HttpError, HttpLimits, HttpRequest
from reactor.source.address import is_archive
from reactor.source.links import Address, Version

if TYPE_CHECKING:
    from reactor.http.response import HttpResponse

TIMEOUT = 60.0
"""Seconds for the whole download, from resolving the host to the last byte; more if it keeps the pace."""
PACE = 16 * 1024
"""Bytes that extend the timeout by a second. So a slow line can transfer a large archive, but a stalled one can't."""
MAX_BYTES = 64 * 1024 * 1024
MAX_REDIRECTS = 5
_NOT_MODIFIED = 304
_OK = 200


class DownloadError(ReactorError):
    """A download failed, or its content is invalid."""

    code = "R0404"


def download(address: Address, known: Version, to: IO[bytes]) -> Version | None:
    """Write the archive to ``to`` and return its version; None if the server still has the ``known`` version.

    Blocks: call it in a thread where trio runs. Raises DownloadError.
    """
    import trio  # noqa: PLC0415 - only an event loop can limit the total time, and most manifests are files

    return trio.run(_download, address, known, to)


async def _download(address: Address, known: Version, to: IO[bytes]) -> Version | None:
    from reactor.http.client import http_response  # noqa: PLC0415 - it needs trio

    credentials = None if address.user is None else (address.user, address.password or "")
    conditions = tuple(known.headers().items())
    request = HttpRequest(address.url, conditions=conditions, credentials=credentials)
    limits = HttpLimits(MAX_BYTES, TIMEOUT, TIMEOUT, PACE, MAX_REDIRECTS)
    try:
        async with http_response(request, limits) as answer:
            if answer.status == _NOT_MODIFIED:
                return None
            if answer.status != _OK:
                raise DownloadError(f"HTTP request to {address.shown} failed with status {answer.status}")
            # Many servers declare the compression of an archive as an encoding.
            if not is_archive(address.url):
                answer.refuse_encoding()
            await _copy(answer, to, address)
            return Version(answer.field("etag"), answer.field("last-modified"))
    except HttpError as error:
        raise DownloadError(f"HTTP request to {address.shown} failed: {error}") from error


async def _copy(answer: HttpResponse, to: IO[bytes], address: Address) -> None:
    empty = True
    async with aclosing(answer.pieces()) as pieces:
        async for piece in pieces:
            to.write(piece)
            empty = False
    if empty:
        raise DownloadError(f"HTTP response from {address.shown} is empty")
