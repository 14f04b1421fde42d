"""One conditional GET of an archive, bounded in time, pace, size and redirects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from reactor.source.address import Address

if TYPE_CHECKING:
    import httpx
    import trio

TIMEOUT = 60.0
"""Seconds for all of it, from the name of the host to the last byte; what keeps the pace gets more."""
PACE = 16 * 1024
"""Bytes that buy another second: a slow line may bring a large archive, a server that drips brings nothing."""
MAX_BYTES = 64 * 1024 * 1024
MAX_REDIRECTS = 5
_NOT_MODIFIED = 304
_OK = 200


@dataclass(frozen=True, slots=True)
class Version:
    """What the server calls the version of an archive; empty when it does not say."""

    etag: str = ""
    last_modified: str = ""

    def headers(self) -> dict[str, str]:
        """The request headers that ask for anything but this version."""
        asked = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in asked.items() if value}


class DownloadError(Exception):
    """What was asked for could not be fetched, or is of no use."""


def download(address: Address, known: Version, to: IO[bytes]) -> Version | None:
    """Write the archive to ``to`` and return its version; None when it is still the one ``known``.

    It blocks: call it in a thread of its own where trio runs. Raises DownloadError.
    """
    import trio  # noqa: PLC0415 - only an event loop can bound all of it, and most manifests are files

    return trio.run(_download, address, known, to)


async def _download(address: Address, known: Version, to: IO[bytes]) -> Version | None:
    import httpx  # noqa: PLC0415 - it takes 90 ms to import
    import trio  # noqa: PLC0415

    with trio.move_on_after(TIMEOUT) as limit:
        try:
            return await _fetch(address, known, to, limit)
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:  # the last is about a host's name
            raise DownloadError(f"HTTP request to {address.shown} failed: {_reason(error)}") from error
    slow = f"took more than {TIMEOUT:g} s, and a second more for each {PACE:,} bytes"
    raise DownloadError(f"HTTP request to {address.shown} {slow}")


async def _fetch(address: Address, known: Version, to: IO[bytes], limit: trio.CancelScope) -> Version | None:
    import httpx  # noqa: PLC0415

    async def refuse_plain(request: httpx.Request) -> None:
        if address.url.startswith("https:") and request.url.scheme == "http":
            raise DownloadError(f"{address.shown} redirects from https to http, to {request.url.host}")

    credentials = None if address.user is None else httpx.BasicAuth(address.user, address.password or "")
    client = httpx.AsyncClient(
        auth=credentials,
        timeout=TIMEOUT,
        follow_redirects=True,
        max_redirects=MAX_REDIRECTS,
        headers=known.headers(),
        event_hooks={"request": [refuse_plain]},
    )
    async with client, client.stream("GET", address.url) as response:
        if response.status_code == _NOT_MODIFIED:
            return None
        if response.status_code != _OK:
            raise DownloadError(f"HTTP request to {address.shown} failed with status {response.status_code}")
        await _copy(response, to, address, limit)
        return Version(response.headers.get("ETag", ""), response.headers.get("Last-Modified", ""))


async def _copy(response: httpx.Response, to: IO[bytes], address: Address, limit: trio.CancelScope) -> None:
    size = 0
    async for chunk in response.aiter_bytes():
        size += len(chunk)
        limit.deadline += len(chunk) / PACE
        if size > MAX_BYTES:
            raise DownloadError(f"{address.shown} is larger than {MAX_BYTES // 2**20} MiB")
        to.write(chunk)
    if size == 0:
        raise DownloadError(f"HTTP response from {address.shown} is empty")


def _reason(error: BaseException) -> str:
    """The innermost words: those around them tell only that all attempts have failed."""
    causes = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else cause)
    return next((str(each) for each in reversed(causes) if str(each)), type(error).__name__)
