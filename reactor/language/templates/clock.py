"""The time that templates are told: that at which their manifest was loaded, where they come from one."""

from __future__ import annotations

from contextvars import ContextVar
from datetime import UTC, datetime

_moment: ContextVar[datetime | None] = ContextVar("moment", default=None)


def stand_still(moment: float | None) -> None:
    """Let `now` be ``moment`` from here on, in seconds since 1970; None: the time of each call."""
    _moment.set(None if moment is None else datetime.fromtimestamp(moment, UTC))


def now() -> datetime:
    """The time in the zone of this host."""
    return (_moment.get() or datetime.now(UTC)).astimezone()
