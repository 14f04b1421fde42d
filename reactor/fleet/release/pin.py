"""The signed order that one host has one release of a channel, whatever the channel says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reactor.fleet.documents import canonical, parsed, to_time_text

_FIELDS = frozenset(("v", "host", "channel", "pin", "until", "created", "why", "by"))


@dataclass(frozen=True)
class Pin:
    """``pin``: the digest of the release; ``until`` in seconds since 1970, None without end."""

    host: str
    channel: str
    pin: str
    created: float
    until: float | None = None
    why: str = ""
    by: str = ""

    def to_bytes(self) -> bytes:
        """Return the canonical bytes, which are signed."""
        fields: dict[str, Any] = {
            "v": 1,
            "host": self.host,
            "channel": self.channel,
            "pin": self.pin,
            "created": to_time_text(self.created),
            "until": None if self.until is None else to_time_text(self.until),
            "why": self.why,
            "by": self.by,
        }
        return canonical(fields)

    @classmethod
    def from_bytes(cls, data: bytes) -> Pin:
        """Read a pin. Raises DocumentError."""
        document = parsed(data, "the pin")
        document.require_version()
        document.require_known(_FIELDS)
        return cls(
            host=document.name_of_host("host"),
            channel=document.name_of_host("channel"),
            pin=document.digest("pin"),
            created=document.time("created"),
            until=document.optional_time("until"),
            why=document.text("why"),
            by=document.text("by"),
        )
