"""Options with a time: a clock, a date, or a duration, by itself or from now."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, time, timedelta

import click

_UNITS = {
    "second": "s", "sec": "s", "minute": "m", "min": "m", "hour": "h", "hr": "h", "day": "d", "week": "w",
    "month": "M", "year": "y",
}  # fmt: skip


def moment(_context: click.Context, _parameter: click.Parameter, value: str | None) -> float | None:
    """The time that the value of an option means, in seconds since 1970. A duration counts back from now."""
    if value is None:
        return None
    try:
        return moment_of(value.strip(), datetime.now())  # noqa: DTZ005 - the user means local time
    except (ValueError, OverflowError, OSError):
        from reactor.cli.messages import with_hint

        hint = "write 1h30m, '2 hours ago', today, yesterday, 14:00, 2026-01-31 or '2026-01-31 14:00'"
        raise with_hint(click.BadParameter(f"{value!r} is not a time"), hint) from None


def moment_of(text: str, now: datetime) -> float:
    """The time in ``text``, in seconds since 1970. Raises ValueError, or OverflowError or OSError if out of range."""
    from reactor.resource.property_types import parse_duration

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


def moment_ahead(_context: click.Context, _parameter: click.Parameter, value: str | None) -> float | None:
    """The time after a duration that is the value of an option, in seconds since 1970."""
    if value is None:
        return None
    from reactor.resource.property_types import parse_duration

    try:
        return datetime.now().timestamp() + parse_duration(value.strip())  # noqa: DTZ005 - only the number is used
    except (ValueError, OverflowError) as error:
        raise click.BadParameter(str(error)) from None


def at_least(
    least: float, most: float = math.inf
) -> Callable[[click.Context, click.Parameter, str | None], float | None]:
    """A callback for a duration of ``least`` to ``most`` seconds. A plain number is one of seconds."""

    def seconds(_context: click.Context, _parameter: click.Parameter, value: str | None) -> float | None:
        from reactor.resource.property_types import parse_duration

        if value is None:
            return None
        text = value.strip()
        try:
            found = parse_duration(text + "s" if text.replace(".", "", 1).isdecimal() else text)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
        if found < least:
            raise click.BadParameter(f"it must be at least {least:g}s")
        if found > most:
            raise click.BadParameter(f"it must be at most {most:g}s")
        return found

    return seconds
