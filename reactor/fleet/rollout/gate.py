"""The gate of a rollout: the conditions of a wave before the next one begins."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

from reactor.fleet.documents import Document
from reactor.fleet.rollout.waves import WavesError
from reactor.fleet.rollout.windows import Window, parse_windows

ON_HALT = ("by-size", "revert", "stay")
"""``by-size``: a halted wave of less than half of the ranks is taken back, and a larger one waits for people."""

_SHARE = re.compile(r"(\d{1,7})|(\d{1,3}(?:\.\d{1,2})?)%")
_TOLERATED_ABOVE = 50
"""In a wave of more hosts than this, a share above 0 tolerates at least one host."""


@dataclass(frozen=True)
class Share:
    """A number of hosts, or a percentage of the hosts in the wave."""

    text: str

    def __post_init__(self) -> None:
        found = _SHARE.fullmatch(self.text)
        if not found or float(found[2] or 0) > 100:  # noqa: PLR2004 - per cent
            raise WavesError(f"{self.text!r} is not a number of hosts", "write it as 3 or 2%")

    def tolerated(self, hosts: int) -> int:
        """The number of ``hosts`` that may be bad."""
        if not self.text.endswith("%"):
            return int(self.text)
        exact = float(self.text[:-1]) * hosts / 100
        least = 1 if exact > 0 and hosts > _TOLERATED_ABOVE else 0
        return max(least, math.floor(exact + 1e-9))

    def needed(self, hosts: int) -> int:
        """The number of ``hosts`` that must be good."""
        if not self.text.endswith("%"):
            return min(int(self.text), hosts)
        return math.ceil(float(self.text[:-1]) * hosts / 100 - 1e-9)


@dataclass(frozen=True)
class Gate:
    """The conditions. ``soak`` in seconds; ``checks``: health checks that must be OK; ``approve``: waves that wait for people."""

    soak: float = 300.0
    max_failed: Share = Share("2%")
    max_silent: Share = Share("5%")
    min_converged: Share = Share("95%")
    checks: tuple[str, ...] = ()
    window: str = ""
    approve: tuple[int, ...] = ()
    on_halt: str = "by-size"
    windows: tuple[Window, ...] = field(init=False, compare=False, repr=False, default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "windows", parse_windows(self.window) if self.window else ())

    def to_fields(self) -> dict[str, Any]:
        """Return the gate as the state of a channel has it."""
        return {
            "soak": self.soak,
            "max_failed": self.max_failed.text,
            "max_silent": self.max_silent.text,
            "min_converged": self.min_converged.text,
            "checks": list(self.checks),
            "window": self.window,
            "approve": list(self.approve),
            "on_halt": self.on_halt,
        }

    @classmethod
    def from_document(cls, document: Document) -> Gate:
        """Read the gate of a channel. Raises DocumentError, and WavesError for a value that is written wrong."""
        return cls(
            soak=document.number("soak"),
            max_failed=Share(document.text("max_failed")),
            max_silent=Share(document.text("max_silent")),
            min_converged=Share(document.text("min_converged")),
            checks=document.texts("checks"),
            window=document.text("window"),
            approve=document.integers("approve"),
            on_halt=document.one_of("on_halt", ON_HALT),
        )
