"""Functions on times, with Go's layouts.

A value that is no time is a number of seconds since 1970, or else means now.
"""

from __future__ import annotations

from contextlib import suppress
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from reactor.language.errors import Fault, FunctionError
from reactor.language.templates.calls import Functions
from reactor.language.times import find_timezone, format_time, parse_duration, parse_time
from reactor.language.values import to_string

_moment: ContextVar[datetime | None] = ContextVar("moment", default=None)


def freeze_clock(moment: float | None) -> None:
    """Freeze `now` at ``moment``, in seconds since 1970. With None, `now` returns the current time."""
    _moment.set(None if moment is None else datetime.fromtimestamp(moment, UTC))


def now() -> datetime:
    """Return the time, in the time zone of this host.

    For templates of a manifest, it is the time when that was loaded.
    """
    return (_moment.get() or datetime.now(UTC)).astimezone()


_DAY: Final = "2006-01-02"
_UNITS: Final = {"y": 31_536_000, "mo": 2_592_000, "d": 86_400, "h": 3600, "m": 60, "s": 1}
"""Unit -> seconds, the largest unit first. A month has 30 days here, a year 365."""


def date(layout: str, value: Any) -> str:
    """Format the time by a layout, in the time zone of this host."""
    return format_time(_time(value).astimezone(), layout)


def date_in_zone(layout: str, value: Any, zone: str) -> str:
    """Format the time by a layout, in ``zone``; in UTC if that is unknown."""
    try:
        known = find_timezone(zone)
    except FunctionError:
        known = UTC
    return format_time(_time(value).astimezone(known), layout)


def to_date(layout: str, source: str) -> datetime:
    """Parse a time by a layout."""
    found = parse_time(source, layout, now().tzinfo or UTC)
    if found is None:
        raise Fault(
            f"{source!r} is not a time in the layout {layout!r}", "write the layout as 2006-01-02 15:04:05"
        )
    return found


def date_modify(change: str, value: Any) -> datetime:
    """Add a duration to the time: ``-1.5h``, ``2h45m``."""
    try:
        return _time(value) + parse_duration(change)
    except OverflowError:
        raise Fault("the time is out of range") from None


def ago(value: Any) -> str:
    """Return the time that has passed since ``value``, in whole seconds."""
    return to_string(timedelta(seconds=round((now() - _time(value)).total_seconds())))


def in_words(seconds: Any) -> str:
    """Format seconds as a duration: 1m35s."""
    try:
        return to_string(timedelta(seconds=int(seconds)))
    except (ValueError, TypeError, OverflowError):
        raise Fault("duration takes a number of seconds") from None


def rounded(value: Any) -> str:
    """Return a duration, or the time since ``value``, in its largest unit only: 2h, 3d, 4mo."""
    length = timedelta()
    if isinstance(value, str):
        with suppress(FunctionError):  # as in sprig: an invalid duration is 0
            length = parse_duration(value)
    elif isinstance(value, datetime):
        length = now() - value
    for unit, seconds in _UNITS.items():
        if abs(length) > timedelta(seconds=seconds):
            return f"{abs(length) // timedelta(seconds=seconds)}{unit}"
    return "0s"


def _time(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    if not isinstance(value, int | float) or isinstance(value, bool):
        return now()
    try:
        return datetime.fromtimestamp(value, UTC)
    except (OverflowError, OSError, ValueError):
        raise Fault("the time is out of range") from None


FUNCTIONS: Functions = {
    "ago": ago,
    "date": date,
    "dateInZone": date_in_zone,
    "dateModify": date_modify,
    "date_in_zone": date_in_zone,
    "date_modify": date_modify,
    "duration": in_words,
    "durationRound": rounded,
    "htmlDate": lambda value: date(_DAY, value),
    "htmlDateInZone": lambda value, zone: date_in_zone(_DAY, value, zone),
    "mustDateModify": date_modify,
    "mustToDate": to_date,
    "must_date_modify": date_modify,
    "now": now,
    "toDate": to_date,
    "unixEpoch": lambda value: str(int(_time(value).timestamp())),
}
