"""What is particular to one host: its channels and groups, a hold, pins. One document per host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reactor.fleet.documents import canonical, parsed, to_time_text


@dataclass(frozen=True)
class SignedPin:
    """A pin as it was signed; whoever reads it verifies it."""

    data: str
    signatures: str


@dataclass(frozen=True)
class HostSpec:
    """``pins``: channel -> pin. ``hold_until`` in seconds since 1970, None without end."""

    host: str
    channels: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    hold: bool = False
    hold_until: float | None = None
    why: str = ""
    pins: Mapping[str, SignedPin] = field(default_factory=dict)

    @property
    def is_canary(self) -> bool:
        """Whether the host takes each release first."""
        return "canary" in self.groups

    def to_bytes(self) -> bytes:
        """Return the document as it is stored."""
        fields: dict[str, Any] = {
            "v": 1,
            "host": self.host,
            "channels": list(self.channels),
            "groups": list(self.groups),
            "hold": self.hold,
            "until": None if self.hold_until is None else to_time_text(self.hold_until),
            "why": self.why,
            "pins": {name: {"data": pin.data, "sig": pin.signatures} for name, pin in self.pins.items()},
        }
        return canonical(fields)

    @classmethod
    def from_bytes(cls, data: bytes, host: str) -> HostSpec:
        """Read the document of ``host``. Raises DocumentError."""
        document = parsed(data, f"the spec for {host}")
        document.require_version()
        pins = document.part("pins")
        return cls(
            host=host,
            channels=document.texts("channels"),
            groups=document.texts("groups"),
            hold=document.boolean("hold"),
            hold_until=document.optional_time("until"),
            why=document.text("why"),
            pins={
                name: SignedPin(pins.part(name).text("data"), pins.part(name).text("sig", most=16_384))
                for name in pins.fields
            },
        )
