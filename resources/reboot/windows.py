"""Windows of local time, such as ``Sun 03:00-05:00``."""

from __future__ import annotations

import re
import time
from typing import Annotated, NamedTuple

from reactor import readable_text

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_WINDOW = re.compile(r"(?:([A-Za-z,-]+) )?(\d\d):(\d\d)-(\d\d):(\d\d)")
_HOUR = 60
_DAY = 24 * _HOUR
_FORM = "write it as Sun 03:00-05:00, Mon-Fri 22:00-04:00 or 03:00-05:00"


class Window(NamedTuple):
    """Minutes of the day from ``start`` to before ``end``, which may be on the next day, on days from Monday, 0."""

    days: frozenset[int]
    start: int
    end: int

    def holds(self, now: time.struct_time) -> bool:
        """Whether the local time ``now`` is in the window."""
        minute = now.tm_hour * _HOUR + now.tm_min
        if self.start < self.end:
            return now.tm_wday in self.days and self.start <= minute < self.end
        begun_yesterday = (now.tm_wday - 1) % 7 in self.days and minute < self.end
        return begun_yesterday or (now.tm_wday in self.days and minute >= self.start)


def parse_window(text: str) -> Window:
    """Parse a window; without days, it is one of every day. Raises ValueError."""
    match = _WINDOW.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a window of time: {_FORM}")
    start, end = (_minutes(match[hour], match[hour + 1], text) for hour in (2, 4))
    if start == end:
        raise ValueError(f"{text!r} is an empty window: {_FORM}")
    days = frozenset(range(7)) if match[1] is None else _days(match[1], text)
    return Window(days, start, end)


def _minutes(hour: str, minute: str, text: str) -> int:
    minutes = int(hour) * _HOUR + int(minute)
    if int(minute) >= _HOUR or minutes > _DAY:
        raise ValueError(f"{text!r} has no such time of day: {_FORM}")
    return minutes


def _days(text: str, window: str) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first not in _DAYS or (last or first) not in _DAYS:
            raise ValueError(f"{window!r} has no such day: they are {', '.join(_DAYS)}")
        day, end = _DAYS.index(first), _DAYS.index(last or first)
        found.add(end)
        while day != end:
            found.add(day)
            day = (day + 1) % 7
    return frozenset(found)


WindowText = Annotated[str, readable_text(parse_window)]
"""A window of local time."""
