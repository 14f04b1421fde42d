"""Times and durations in Go's formats: layouts with parts of Mon Jan 2 15:04:05 MST 2006, durations like ``1h30m``."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo

from reactor.language.errors import FunctionError

_DIRECTIVES = {
    "January": "%B", "Jan": "%b", "Monday": "%A", "Mon": "%a", "MST": "%Z", "2006": "%Y", "Z07:00": "%z", "Z0700": "%z",
    "-07:00": "%z", "-0700": "%z", "-07": "%z", "002": "%j", "01": "%m", "02": "%d", "_2": "%d", "03": "%I", "04": "%M",
    "05": "%S", "06": "%y", "15": "%H", "PM": "%p", "pm": "%p", "1": "%m", "2": "%d", "3": "%I", "4": "%M", "5": "%S",
    "%": "%%",
}  # fmt: skip
"""The strptime directive for each part of a layout. strptime also accepts numbers without leading zeros."""
_FRACTION_PART = r"[.,](?:0+|9+)(?![0-9])"
_PART = re.compile("|".join((_FRACTION_PART, *map(re.escape, sorted(_DIRECTIVES, key=len, reverse=True)))))
_FRACTION = re.compile(r"(?<=:[0-9]{2})\.[0-9]{1,9}")
"""The fraction of a second. It may follow the seconds even if the layout has none."""
_UNITS = {"ns": 0.001, "us": 1.0, "µs": 1.0, "μs": 1.0, "ms": 1e3, "s": 1e6, "m": 6e7, "h": 3.6e9}
_LONGEST_DURATION = 200
_DURATION = re.compile(r"([0-9]++\.?+[0-9]*+|\.[0-9]++)(ns|us|µs|μs|ms|s|m|h)")


def parse_time(source: str, layout: str, zone: tzinfo) -> datetime | None:
    """Parse ``source`` by ``layout``, in ``zone`` unless it names another zone; None if it does not match."""
    fraction = _FRACTION.search(source)
    whole = _FRACTION.sub("", source) if fraction else source
    codes = _PART.sub(lambda part: _DIRECTIVES.get(part.group(), ""), layout)
    try:
        found = datetime.strptime(whole, codes)  # noqa: DTZ007 - the zone is added below
    except (ValueError, re.error, KeyError):
        return None
    found += timedelta(seconds=float(fraction.group()) if fraction else 0)
    return found if found.tzinfo is not None else found.replace(tzinfo=zone)


def format_time(value: datetime, layout: str) -> str:
    """Format ``value`` by ``layout``. Numbers have leading zeros where the layout has them."""
    return _PART.sub(lambda part: _written(value, part.group()), layout)


def _written(value: datetime, part: str) -> str:
    if part in _OWN_WAYS:
        return _OWN_WAYS[part](value)
    if part[0] in ".,":
        digits = f"{value.microsecond:06}000"[: len(part) - 1].ljust(len(part) - 1, "0")
        shown = digits if part[1] == "0" else digits.rstrip("0")
        return part[0] + shown if shown else ""
    return "%" if part == "%" else value.strftime(_DIRECTIVES[part])


def _offset(value: datetime, colon: str) -> str:
    """Return the offset from UTC, such as +0130."""
    offset = value.utcoffset() or timedelta()
    minutes = abs(offset) // timedelta(minutes=1)
    return f"{'-' if offset < timedelta() else '+'}{minutes // 60:02}{colon}{minutes % 60:02}"


def _zulu(value: datetime, colon: str) -> str:
    return _offset(value, colon) if value.utcoffset() else "Z"


_OWN_WAYS: dict[str, Callable[[datetime], str]] = {
    "2006": lambda value: f"{value.year:04}",
    "1": lambda value: str(value.month),
    "2": lambda value: str(value.day),
    "_2": lambda value: f"{value.day:2}",
    "3": lambda value: str(value.hour % 12 or 12),
    "4": lambda value: str(value.minute),
    "5": lambda value: str(value.second),
    "pm": lambda value: "pm" if value.hour >= 12 else "am",  # noqa: PLR2004 - noon
    "Z07:00": lambda value: _zulu(value, ":"),
    "Z0700": lambda value: _zulu(value, ""),
    "-07:00": lambda value: _offset(value, ":"),
    "-0700": lambda value: _offset(value, ""),
    "-07": lambda value: _offset(value, "")[:3],
}
"""The parts that strftime formats in another way than Go."""


def parse_duration(source: str) -> timedelta:
    """Parse a duration of Go: ``1h30m``, ``-1.5s``, ``0``. Raises FunctionError."""
    bare = source.lstrip("+-") if source[:2] not in ("--", "++", "+-", "-+") else ""
    parts = _DURATION.findall(bare) if len(bare) <= _LONGEST_DURATION else []
    if bare != "0" and (not parts or "".join(number + unit for number, unit in parts) != bare):
        raise FunctionError(f'time: invalid duration "{source}"', "number and unit: 90s, 1h30m, 100ms")
    try:
        total = timedelta(microseconds=sum(float(number) * _UNITS[unit] for number, unit in parts))
    except OverflowError:
        raise FunctionError(f'time: invalid duration "{source}"', "it is too long") from None
    return -total if source.startswith("-") else total


def find_timezone(name: str) -> tzinfo:
    """Return the time zone of this name in the IANA database. Raises FunctionError."""
    from zoneinfo import ZoneInfo  # noqa: PLC0415

    if name in ("", "UTC"):
        return UTC
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        raise FunctionError(f"unknown time zone {name}", "Europe/Zurich, UTC ...") from None
