"""One conditional GET of an archive, bounded in time, size and redirects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from reactor.source.address import Address

if TYPE_CHECKING:
    import httpx

TIMEOUT = 60.0
"""Seconds for all of it."""
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
    """The archive could not be fetched."""


def download(address: Address, known: Version, to: IO[bytes]) -> Version | None:
    """Write the archive to ``to`` and return its version; None when it is still the one ``known``.

    Raises DownloadError.
    """
    import httpx  # noqa: PLC0415 - it takes 90 ms to import, and most manifests are files

    credentials = None if address.user is None else httpx.BasicAuth(address.user, address.password or "")
    client = httpx.Client(
        auth=credentials,
        timeout=TIMEOUT,
        follow_redirects=True,
        max_redirects=MAX_REDIRECTS,
        headers=known.headers(),
    )
    try:
        with client, client.stream("GET", address.url) as response:
            if response.status_code == _NOT_MODIFIED:
                return None
            if response.status_code != _OK:
                raise DownloadError(
                    f"HTTP request to {address.shown} failed with status {response.status_code}"
                )
            _copy(response, to, address)
            return Version(response.headers.get("ETag", ""), response.headers.get("Last-Modified", ""))
    except httpx.HTTPError as error:
        reason = str(error) or type(error).__name__
        raise DownloadError(f"HTTP request to {address.shown} failed: {reason}") from error


def _copy(response: httpx.Response, to: IO[bytes], address: Address) -> None:
    size = 0
    for chunk in response.iter_bytes():
        size += len(chunk)
        if size > MAX_BYTES:
            raise DownloadError(f"{address.shown} is larger than {MAX_BYTES // 2**20} MiB")
        to.write(chunk)
    if size == 0:
        raise DownloadError(f"HTTP response from {address.shown} is empty")
