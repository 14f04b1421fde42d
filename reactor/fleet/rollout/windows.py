"""Windows: the hours of the week in which a wave or a change may begin: ``Mon-Thu 09:00-16:00 Europe/Vienna``.

Several windows are separated by ``;``. Days are one (``Sun``), a range (``Mon-Thu``, also ``Sat-Mon``) or a list of both
(``Mon,Wed-Thu``); without days it is every day. A window whose end is not after its begin ends on the next day. Without
a time zone it is UTC.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from reactor.fleet.rollout.waves import WavesError

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_WINDOW = re.compile(r"(?:([A-Za-z,-]+)\s+)?(\d\d):(\d\d)-(\d\d):(\d\d)(?:\s+(\S+))?")
_HINT = "write it as 'Mon-Thu 09:00-16:00 Europe/Vienna'"
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Window:
    """Days of the week (Monday is 0) on which it begins; begin and end in minutes of the day; the time zone."""

    days: frozenset[int]
    begin: int
    end: int
    zone: str

    def contains(self, now: float) -> bool:
        """Whether the window is open at ``now``, in seconds since 1970."""
        here = datetime.fromtimestamp(now, _zone(self.zone))
        minute = here.hour * 60 + here.minute
        if self.begin < self.end:
            return here.weekday() in self.days and self.begin <= minute < self.end
        if minute >= self.begin:
            return here.weekday() in self.days
        return minute < self.end and (here - _DAY).weekday() in self.days


def parse_windows(text: str) -> tuple[Window, ...]:
    """Return the windows in ``text``. Raises WavesError."""
    return tuple(_window(each.strip()) for each in text.split(";"))


def is_open(windows: tuple[Window, ...], now: float) -> bool:
    """Whether any of the windows is open at ``now``; always, if there are no windows."""
    return not windows or any(each.contains(now) for each in windows)


def next_opening(windows: tuple[Window, ...], now: float) -> float | None:
    """Return ``now`` if one of the windows is open, else when the next one opens; None if none opens within 8 days."""
    if is_open(windows, now):
        return now
    minute = now - now % 60
    moments = (minute + 60 * step for step in range(1, 8 * 24 * 60))
    return next((each for each in moments if is_open(windows, each)), None)


def _window(text: str) -> Window:
    found = _WINDOW.fullmatch(text)
    if not found:
        raise WavesError(f"{text!r} is not a time window", _HINT)
    days, *hours, zone = found.groups()
    begin, end = _minute(text, *hours[:2]), _minute(text, *hours[2:])
    try:
        _zone(zone or "UTC")
    except (KeyError, ValueError, OSError) as error:  # ZoneInfo raises any of them for a name that is none
        raise WavesError(f"the time zone {zone!r} is not known here", _HINT) from error
    return Window(_days(text, days), begin, end, zone or "UTC")


def _minute(text: str, hour: str, minute: str) -> int:
    found = int(hour) * 60 + int(minute)
    if int(minute) > 59 or found > 24 * 60:  # noqa: PLR2004 - minutes of an hour
        raise WavesError(f"{hour}:{minute} in {text!r} is not a time of day", _HINT)
    return found


def _days(text: str, names: str | None) -> frozenset[int]:
    if names is None:
        return frozenset(range(7))
    found: set[int] = set()
    for part in names.split(","):
        first, dash, last = part.partition("-")
        try:
            begin = _DAYS.index(first.capitalize())
            end = _DAYS.index(last.capitalize()) if dash else begin
        except ValueError as error:
            raise WavesError(f"{part!r} in {text!r} is not a day of the week", _HINT) from error
        found.update((begin + step) % 7 for step in range((end - begin) % 7 + 1))
    return frozenset(found)


def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name) if name != "UTC" else UTC  # type: ignore[return-value] # a host without tzdata knows UTC
