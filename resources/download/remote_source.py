"""The source of a download: URL, header fields and credentials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reactor.resources.download.source import shown_url


@dataclass(frozen=True, slots=True)
class Source:
    """Where a download comes from. ``max_size`` is in bytes, ``timeout`` in seconds."""

    url: str
    """The URL, without credentials."""
    headers: Mapping[str, str] = field(repr=False)
    credentials: tuple[str, str] | None = field(repr=False)
    max_size: int
    timeout: float
    hint: str = "raise max_size if that is as it should be"
    """The hint for a file that is larger than ``max_size``."""
    is_plain: bool = False
    """Whether an encoded answer (Content-Encoding) is an error. Otherwise the body is taken as it is, like an archive."""

    @property
    def shown(self) -> str:
        """The URL for messages, see `shown_url`."""
        return shown_url(self.url)
