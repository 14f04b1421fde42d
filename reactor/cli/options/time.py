"""Times in the past, as people write them for options: what journalctl takes, and durations."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime, time, timedelta

import click

_UNITS = {
    "second": "s", "sec": "s", "minute": "m", "min": "m", "hour": "h", "hr": "h", "day": "d", "week": "w",
    "month": "M", "year": "y",
}  # fmt: skip


def moment(_context: click.Context, _parameter: click.Parameter, value: str | None) -> float | None:
    """Seconds since 1970 of the time that the value of an option names; a duration is that long ago."""
    if value is None:
        return None
    try:
        return moment_of(value.strip(), datetime.now())  # noqa: DTZ005 - people mean the time of their place
    except (ValueError, OverflowError, OSError):
        from reactor.cli.messages import hinted

        hint = "write 1h30m, '2 hours ago', today, yesterday, 14:00, 2026-01-31 or '2026-01-31 14:00'"
        raise hinted(click.BadParameter(f"{value!r} is no time"), hint) from None


def moment_of(text: str, now: datetime) -> float:
    """Seconds since 1970 of the time that ``text`` names. Raises ValueError, and for times out of reach OverflowError and OSError."""
    from reactor.resource.properties import parse_duration

    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    named = {"now": now, "today": midnight, "yesterday": midnight - timedelta(days=1)}
    if text in named:
        return named[text].timestamp()
    with suppress(ValueError):
        return now.timestamp() - parse_duration(_shortened(text))
    if ":" in text:
        with suppress(ValueError):
            return datetime.combine(now, time.fromisoformat(text)).timestamp()
    return datetime.fromisoformat(text).timestamp()


def _shortened(text: str) -> str:
    """``2 hours ago`` and ``-2h`` as ``2h``."""
    length = text.removeprefix("-").removesuffix("ago")
    return re.sub(r"\s*([^\W\d]+)\s*", lambda found: _UNITS.get(found[1].removesuffix("s"), found[1]), length)
