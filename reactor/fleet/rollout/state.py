"""The state of a channel: one small document, changed only by compare-and-set."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from reactor.fleet.documents import DocumentError, canonical, parsed, to_time_text
from reactor.fleet.rollout.gate import Gate
from reactor.fleet.rollout.rank import RANKS


class Phase(StrEnum):
    """The phase of a rollout."""

    ROLLING = "rolling"
    PAUSED = "paused"
    HALTED = "halted"
    REVERTING = "reverting"
    DONE = "done"
    REVERTED = "reverted"


@dataclass(frozen=True)
class ChannelState:
    """A rollout: hosts with a rank below ``wave`` take ``release``, the others ``previous``.

    ``since``: when this wave or phase began, on the server's clock; ``by`` and ``why``: the last change, for people.
    ``splay``: the seconds over which the hosts of this wave spread the download.
    """

    channel: str
    release: str
    serial: int
    previous: str | None
    wave: int
    waves: tuple[int, ...]
    phase: Phase
    gate: Gate = field(default_factory=Gate)
    since: float = 0.0
    by: str = ""
    why: str = ""
    splay: float = 0.0

    def to_bytes(self) -> bytes:
        """Return the stored form of the state."""
        return canonical(self.to_fields())

    def to_fields(self) -> dict[str, Any]:
        """Return the state as values for JSON."""
        return {
            "v": 1,
            "channel": self.channel,
            "release": self.release,
            "serial": self.serial,
            "previous": self.previous,
            "wave": self.wave,
            "waves": list(self.waves),
            "state": self.phase.value,
            "gate": self.gate.to_fields(),
            "since": to_time_text(self.since),
            "by": self.by,
            "why": self.why,
            "splay": self.splay,
        }

    @classmethod
    def from_bytes(cls, data: bytes, channel: str) -> ChannelState:
        """Read the state of ``channel``. Raises DocumentError and WavesError."""
        document = parsed(data, f"the state of the channel {channel}")
        document.require_version()
        if document.text("channel") != channel:
            raise DocumentError(f"{document.what} is that of {document.text('channel')!r}")
        waves = document.integers("waves", most=100)
        if not waves or list(waves) != sorted(set(waves)) or waves[0] < 1 or waves[-1] != RANKS:
            raise DocumentError(f"the waves of {document.what} do not rise to {RANKS}")
        return cls(
            channel=channel,
            release=document.digest("release"),
            serial=document.integer("serial", least=1),
            previous=document.optional_digest("previous"),
            wave=document.integer("wave", most=RANKS),
            waves=waves,
            phase=Phase(document.one_of("state", list(Phase))),
            gate=Gate.from_document(document.part("gate")),
            since=document.time("since"),
            by=document.text("by"),
            why=document.text("why"),
            splay=document.number("splay"),
        )
