"""Formats durations, times (in seconds since 1970) and counts."""

from __future__ import annotations

import time

_MINUTE = 60
_DAY = 86400
_TWO_DIGITS = 99.95
_THREE_DIGITS = 999.5


def seconds(duration: float) -> str:
    """A duration in seconds as text: two or three digits and a unit, or two units."""
    milliseconds = duration * 1000
    if milliseconds < _THREE_DIGITS:
        return f"{milliseconds:.{1 if milliseconds < _TWO_DIGITS else 0}f} ms"
    if duration < _MINUTE:
        return f"{duration:.3g} s"
    minutes, rest = divmod(round(duration), _MINUTE)
    hours, minutes_left = divmod(minutes, 60)
    days, hours_left = divmod(hours, 24)
    if days:
        return f"{days} d {hours_left} h"
    return f"{hours} h {minutes_left} min" if hours else f"{minutes} min {rest} s"


def clock(moment: float, now: float) -> str:
    """A time of day, with the date if the time is not near ``now``."""
    form = "%H:%M:%S" if abs(moment - now) < _DAY else "%Y-%m-%d %H:%M"
    return time.strftime(form, time.localtime(moment))


def date_and_time(moment: float) -> str:
    """A time with its date."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment))


def counted(count: int, noun: str) -> str:
    """A count with its noun: ``1 change``, ``2 changes``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def how_it_went(reason: str, changes: int, duration: float) -> str:
    """How a run has ended, as the summary says it."""
    return f"{reason}, {counted(changes, 'change')} in {seconds(duration)}"
