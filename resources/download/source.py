"""Where a download comes from, and what is sent along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit, urlunsplit


@dataclass(frozen=True, slots=True)
class Source:
    """Where a download comes from. ``max_size`` is in bytes, ``timeout`` in seconds."""

    url: str
    """Without credentials."""
    headers: Mapping[str, str] = field(repr=False)
    credentials: tuple[str, str] | None = field(repr=False)
    max_size: int
    timeout: float
    hint: str = "raise max_size if that is as it should be"
    """What helps where it is larger than that."""

    @property
    def shown(self) -> str:
        """The URL for people: a query may hold a token."""
        return shown_url(self.url)


def shown_url(url: str) -> str:
    """A URL for people: without credentials, and without a query, which may hold a token."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def split_credentials(url: str) -> tuple[str, tuple[str, str] | None]:
    """The URL without user and password, and these."""
    parts = urlsplit(url)
    bare = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment=""))
    if parts.username is None:
        return bare, None
    return bare, (unquote(parts.username), unquote(parts.password or ""))
