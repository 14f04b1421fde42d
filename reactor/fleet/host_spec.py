"""The settings of one host by operators: its channels and groups, a hold, pins. One document per host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reactor.fleet.documents import canonical, parsed, to_time_text
from reactor.fleet.enrolment.card import SignedCard


@dataclass(frozen=True)
class SignedPin:
    """A pin with its signatures. Readers must verify them."""

    data: str
    signatures: str


@dataclass(frozen=True)
class HostSpec:
    """``pins``: channel -> pin. ``hold_until``, ``expelled`` in seconds since 1970; a hold without end has None.

    ``card``: as it was signed when the host was admitted. An expelled host is in no channel; with ``rejoins`` it may join
    again with new keys; ``revoked_keys`` are those that it may not have again.
    """

    host: str
    channels: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    hold: bool = False
    hold_until: float | None = None
    why: str = ""
    pins: Mapping[str, SignedPin] = field(default_factory=dict)
    card: SignedCard | None = None
    expelled: float | None = None
    rejoins: bool = False
    revoked_keys: tuple[str, ...] = ()

    @property
    def is_canary(self) -> bool:
        """Whether the host takes each release first."""
        return "canary" in self.groups

    def to_bytes(self) -> bytes:
        """Return the stored form of the document."""
        fields: dict[str, Any] = {
            "v": 1,
            "host": self.host,
            "channels": list(self.channels),
            "groups": list(self.groups),
            "hold": self.hold,
            "until": None if self.hold_until is None else to_time_text(self.hold_until),
            "why": self.why,
            "pins": {name: {"data": pin.data, "sig": pin.signatures} for name, pin in self.pins.items()},
            "card": self.card.to_fields() if self.card else None,
            "expelled": None if self.expelled is None else to_time_text(self.expelled),
            "rejoins": self.rejoins,
            "revoked": list(self.revoked_keys),
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
            card=SignedCard.of(document.part("card")) if document.fields.get("card") is not None else None,
            expelled=document.optional_time("expelled"),
            rejoins=document.fields.get("rejoins") is True,
            revoked_keys=document.texts("revoked") if "revoked" in document.fields else (),
        )
