"""Events as entries of systemd's journal: the lines of a terminal, with fields for programs beside them."""

from __future__ import annotations

from typing import Any

from reactor.console.journald import Journald
from reactor.console.style import Style
from reactor.console.text import TextSink
from reactor.engine.events import (
    AuditFound,
    Blocked,
    Checked,
    Event,
    EventsLost,
    Flapping,
    ReloadRejected,
    Result,
    WatcherChanged,
    as_json,
)
from reactor.resource.watch import WatchState

_ERROR, _WARNING, _NOTICE, _INFO = "3", "4", "5", "6"
_UNSHOWN = {"time", "diffs", "health", "counts"}


class JournaldSink:
    """Makes one entry of each event that a terminal would show. The ledger of ``text`` is fed here."""

    def __init__(self, journald: Journald, *, continuous: bool) -> None:
        self._journald = journald
        self._lines: list[str] = []
        self.text = TextSink(self._lines.append, Style(coloured=False), continuous=continuous)

    def __call__(self, event: Event) -> None:
        """Take one event."""
        self.text(event)
        if self._lines:
            message = "".join(self._lines).removesuffix("\n")
            self._lines.clear()
            self._journald.write({"MESSAGE": message, "PRIORITY": priority(event), **fields(event)})


def priority(event: Event) -> str:
    """How urgent it is, as syslog(3) counts."""
    match event:
        case Checked(result=Result.FAILED):
            return _ERROR
        case Checked(result=Result.CHANGED):
            return _NOTICE
        case WatcherChanged(state=WatchState.ARMED):
            return _INFO
        case Blocked() | Flapping() | EventsLost() | AuditFound() | ReloadRejected() | WatcherChanged():
            return _WARNING
        case _:
            return _INFO


def fields(event: Event) -> dict[str, str]:
    """What `docs/events.md` tells of the event: each field in upper case after ``REACTOR_``, lists with commas."""
    return {
        f"REACTOR_{name.upper()}": _text(value)
        for name, value in as_json(event).items()
        if name not in _UNSHOWN and value not in (None, ())
    }


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (tuple, dict)) else str(value)
