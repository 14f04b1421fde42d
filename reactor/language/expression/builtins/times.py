"""Builtins for times and durations, and the methods of both. Layouts are as in Go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from reactor.language.errors import FunctionError
from reactor.language.expression.builtins.signature import Builtin, builtin
from reactor.language.times import find_timezone, format_time, parse_duration, parse_time
from reactor.language.values import to_string

_DEFAULT_LAYOUTS = (
    "2006-01-02", "15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04:05Z07:00", "02 Jan 06 15:04 MST",
    "Monday, 02-Jan-06 15:04:05 MST", "Mon, 02 Jan 2006 15:04:05 MST",
)  # fmt: skip
_LONGEST_LAYOUT = 10_000


def _now(zone: tzinfo | None = None) -> datetime:
    return datetime.now(UTC).astimezone(zone)


def now_at(moment: datetime) -> Builtin:
    """Return the function ``now`` with its clock frozen at ``moment``."""
    return replace(BUILTINS["now"], function=lambda zone=None: moment.astimezone(zone))


def _date(*arguments: Any) -> datetime:
    """Implement ``date(text)``, ``date(text, layout)`` and ``date(text, layout, zone)``.

    A zone may also be the first argument.
    """
    zone: tzinfo = UTC
    if isinstance(arguments[0], tzinfo):
        zone, arguments = arguments[0], arguments[1:]
    if not arguments or not all(isinstance(argument, str) for argument in arguments):
        raise FunctionError("invalid argument for date", "date('2026-01-31', '2006-01-02', 'UTC')")
    if len(arguments) > 2:  # noqa: PLR2004
        zone = find_timezone(arguments[2])
    if max(map(len, arguments)) > _LONGEST_LAYOUT:
        raise FunctionError("the time or its layout is too long", f"up to {_LONGEST_LAYOUT} characters")
    layouts = arguments[1:2] or _DEFAULT_LAYOUTS
    for layout in layouts:
        found = parse_time(arguments[0], layout, zone)
        if found is not None:
            return found
    raise FunctionError(
        f"invalid date {arguments[0]}", "2026-01-31, 2026-01-31 12:00:00, 2026-01-31T12:00:00Z"
    )


def _in(value: datetime, zone: tzinfo) -> datetime:
    try:
        return value.astimezone(zone)
    except (OverflowError, ValueError):
        raise FunctionError("the time is out of range") from None


def _format(value: datetime, layout: str) -> str:
    if len(layout) > _LONGEST_LAYOUT:
        raise FunctionError("the layout is too long", f"up to {_LONGEST_LAYOUT} characters")
    return format_time(value, layout)


BUILTINS: dict[str, Builtin] = {
    "now": builtin(_now, "time.Location?"),
    "duration": builtin(parse_duration, "string"),
    "date": builtin(_date, "time.Location|string", "string?", "string?", "string?", cost=100),
    "timezone": builtin(find_timezone, "string", cost=20),
}


def _seconds(unit: float) -> Callable[[timedelta], float]:
    return lambda value: value.total_seconds() / unit


METHODS: dict[str, dict[str, Builtin]] = {
    "string": {"String": builtin(lambda value: value)},  # Weekday() and Month() return strings here
    "time.Time": {
        "Year": builtin(lambda value: value.year),
        "Month": builtin(lambda value: f"{value:%B}"),
        "Day": builtin(lambda value: value.day),
        "Hour": builtin(lambda value: value.hour),
        "Minute": builtin(lambda value: value.minute),
        "Second": builtin(lambda value: value.second),
        "YearDay": builtin(lambda value: value.timetuple().tm_yday),
        "Weekday": builtin(lambda value: f"{value:%A}"),
        "Unix": builtin(lambda value: int(value.timestamp())),
        "Format": builtin(_format, "string"),
        "In": builtin(_in, "time.Location"),
        "String": builtin(to_string),
    },
    "time.Duration": {
        "Hours": builtin(_seconds(3600)),
        "Minutes": builtin(_seconds(60)),
        "Seconds": builtin(_seconds(1)),
        "Milliseconds": builtin(lambda value: value // timedelta(milliseconds=1)),
        "String": builtin(to_string),
    },
}
