"""The outcome of a push for one host."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, NamedTuple, Self


class Status(StrEnum):
    """The outcome of a push for one host, as a word for people and in JSON."""

    OK = "ok"
    CHANGED = "changed"
    WOULD_CHANGE = "would_change"
    FAILED = "failed"
    REJECTED = "rejected"
    """The manifest of the bundle is not valid on this host."""
    UNREACHABLE = "unreachable"
    MISSING = "missing"
    """reactor is not installed on this host."""
    NOT_TRIED = "not_tried"
    """The push stopped before the wave of this host."""


_WELL = (Status.OK, Status.CHANGED, Status.WOULD_CHANGE)
_EXIT_CODES = {Status.FAILED: 1, Status.REJECTED: 1, Status.UNREACHABLE: 3, Status.MISSING: 4}


OWN_EVENTS = ("hostended", "pushended")
"""The events that only `reactor push` writes. A host that sends one tries to forge its result."""


class Outcome(NamedTuple):
    """``duration`` is in seconds. ``code`` is the code of the error."""

    host: str
    status: Status
    changes: int = 0
    error: str | None = None
    hint: str | None = None
    code: str | None = None
    duration: float = 0.0

    @classmethod
    def reported(cls, host: str, record: dict[str, Any]) -> Self | None:
        """The outcome in the event `pushed` of a host; None if the event is malformed."""
        try:
            status = Status(record.get("result", ""))
        except ValueError:
            return None
        changes = record.get("changes")
        error, hint, code = (
            value if isinstance(value := record.get(key), str) else None for key in ("error", "hint", "code")
        )
        return cls(host, status, changes if type(changes) is int else 0, error, hint, code)

    @property
    def is_well(self) -> bool:
        """Whether the host is as desired."""
        return self.status in _WELL


def exit_code(outcomes: Iterable[Outcome]) -> int:
    """The exit code of a push: 0 all is well; 1 some failed; else 3 some unreachable; else 4 some without reactor."""
    codes = {_EXIT_CODES[each.status] for each in outcomes if each.status in _EXIT_CODES}
    return min(codes, default=0)
