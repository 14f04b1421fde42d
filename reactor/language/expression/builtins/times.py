"""Builtins for times and durations, and the methods that both have. Layouts are written as Go writes them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from reactor.language.expression.builtins.signature import Builtin, builtin
from reactor.language.expression.errors import FunctionError
from reactor.language.expression.layout import formatted, parsed
from reactor.language.expression.text import text

_DEFAULT_LAYOUTS = (
    "2006-01-02", "15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04:05Z07:00", "02 Jan 06 15:04 MST",
    "Monday, 02-Jan-06 15:04:05 MST", "Mon, 02 Jan 2006 15:04:05 MST",
)  # fmt: skip
_UNITS = {"ns": 0.001, "us": 1.0, "µs": 1.0, "μs": 1.0, "ms": 1e3, "s": 1e6, "m": 6e7, "h": 3.6e9}
_LONGEST_DURATION = 200
_LONGEST_LAYOUT = 10_000
_DURATION = re.compile(r"([0-9]++\.?+[0-9]*+|\.[0-9]++)(ns|us|µs|μs|ms|s|m|h)")


def _now(zone: tzinfo | None = None) -> datetime:
    return datetime.now(UTC).astimezone(zone)


def now_at(moment: datetime) -> Builtin:
    """The function ``now`` where time stands still at ``moment``."""
    return replace(BUILTINS["now"], function=lambda zone=None: moment.astimezone(zone))


def duration(source: str) -> timedelta:
    """``1h30m``, ``-1.5s``, ``0``: the durations of Go."""
    bare = source.lstrip("+-") if source[:2] not in ("--", "++", "+-", "-+") else ""
    parts = _DURATION.findall(bare) if len(bare) <= _LONGEST_DURATION else []
    if bare != "0" and (not parts or "".join(number + unit for number, unit in parts) != bare):
        raise FunctionError(f'time: invalid duration "{source}"', "number and unit: 90s, 1h30m, 100ms")
    try:
        total = timedelta(microseconds=sum(float(number) * _UNITS[unit] for number, unit in parts))
    except OverflowError:
        raise FunctionError(f'time: invalid duration "{source}"', "it is too long") from None
    return -total if source.startswith("-") else total


def timezone(name: str) -> tzinfo:
    """A zone of the IANA database."""
    from zoneinfo import ZoneInfo  # noqa: PLC0415

    if name in ("", "UTC"):
        return UTC
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        raise FunctionError(f"unknown time zone {name}", "Europe/Zurich, UTC ...") from None


def _date(*arguments: Any) -> datetime:
    """``date(text)``, ``date(text, layout)``, ``date(text, layout, zone)``; a zone may come first instead."""
    zone: tzinfo = UTC
    if isinstance(arguments[0], tzinfo):
        zone, arguments = arguments[0], arguments[1:]
    if not arguments or not all(isinstance(argument, str) for argument in arguments):
        raise FunctionError("invalid argument for date", "date('2026-01-31', '2006-01-02', 'UTC')")
    if len(arguments) > 2:  # noqa: PLR2004
        zone = timezone(arguments[2])
    if max(map(len, arguments)) > _LONGEST_LAYOUT:
        raise FunctionError("the time or its layout is too long", f"up to {_LONGEST_LAYOUT} characters")
    layouts = arguments[1:2] or _DEFAULT_LAYOUTS
    for layout in layouts:
        found = parsed(arguments[0], layout, zone)
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
    return formatted(value, layout)


BUILTINS: dict[str, Builtin] = {
    "now": builtin(_now, "time.Location?"),
    "duration": builtin(duration, "string"),
    "date": builtin(_date, "time.Location|string", "string?", "string?", "string?", cost=100),
    "timezone": builtin(timezone, "string", cost=20),
}


def _seconds(unit: float) -> Callable[[timedelta], float]:
    return lambda value: value.total_seconds() / unit


METHODS: dict[str, dict[str, Builtin]] = {
    "string": {"String": builtin(lambda value: value)},  # what Weekday() and Month() give are texts here
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
        "String": builtin(text),
    },
    "time.Duration": {
        "Hours": builtin(_seconds(3600)),
        "Minutes": builtin(_seconds(60)),
        "Seconds": builtin(_seconds(1)),
        "Milliseconds": builtin(lambda value: value // timedelta(milliseconds=1)),
        "String": builtin(text),
    },
}
