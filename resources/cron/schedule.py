"""Parses the times of crontab(5). A field that cron would refuse, or that never comes, is an error."""

from __future__ import annotations

import re
from typing import NamedTuple

NICKNAMES = ("@reboot", "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_PART = re.compile(r"(?P<all>\*)|(?P<first>[0-9]+|[a-z]+)(-(?P<last>[0-9]+|[a-z]+))?")
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]


class Field(NamedTuple):
    """One of the five fields: its name, its lowest and highest number, and words for numbers."""

    name: str
    low: int
    high: int
    words: tuple[str, ...] = ()


FIELDS = (
    Field("minute", 0, 59),
    Field("hour", 0, 23),
    Field("day", 1, 31),
    Field("month", 1, 12, tuple(_MONTHS)),
    Field("weekday", 0, 7, tuple(_WEEKDAYS)),
)


def numbers_of(field: Field, text: str) -> frozenset[int]:
    """The numbers that ``text`` means. Raises ValueError that names what is wrong."""
    found: set[int] = set()
    for part in text.lower().split(","):
        found.update(_range_of(field, part))
    return frozenset(found)


def _range_of(field: Field, part: str) -> range:
    span, slash, step = part.partition("/")
    match = _PART.fullmatch(span)
    if match is None:
        raise ValueError(f"{field.name} {part!r} is not a number: write numbers such as 5, 1-5, 1,15 or */10")
    if match["all"]:
        first, last = field.low, field.high
    else:
        first = _number(field, match["first"])
        last = _number(field, match["last"]) if match["last"] else first
    if first > last:
        more = "; Sunday is also 7" if field.name == "weekday" else ""
        raise ValueError(f"{part!r}: a range of the {field.name} goes upwards{more}")
    if slash and (not step.isascii() or not step.isdigit() or not 0 < int(step) <= field.high):
        raise ValueError(f"{part!r}: the step is a number from 1 to {field.high}")
    if slash and not match["all"] and not match["last"]:
        raise ValueError(f"{part!r}: a step needs a range, such as {first}-{field.high}/{step}")
    return range(first, last + 1, int(step) if slash else 1)


def _number(field: Field, word: str) -> int:
    if word in field.words:
        return field.words.index(word) + field.low
    if not word.isdigit():
        known = f", or {', '.join(field.words)}" if field.words else ""
        raise ValueError(
            f"{field.name} {word!r} is not a number: write one from {field.low} to {field.high}{known}"
        )
    if not field.low <= int(word) <= field.high:
        raise ValueError(f"there is no {field.name} {word}: it goes from {field.low} to {field.high}")
    return int(word)


def check(text: str) -> str:
    """Return ``text``, a nickname or five fields, with single spaces. Raises ValueError."""
    words = text.split()
    if text.startswith("@"):
        if text not in NICKNAMES:
            raise ValueError(f"{text!r} is not known: use one of {', '.join(NICKNAMES)}, or five fields")
        return text
    if len(words) != len(FIELDS):
        names = ", ".join(field.name for field in FIELDS)
        raise ValueError(f"{text!r} has {len(words)} fields, not five: {names}, as in 0 3 * * *")
    for field, word in zip(FIELDS, words, strict=True):
        numbers_of(field, word)
    _refuse_never(*words[2:])
    return " ".join(words)


def _refuse_never(day: str, month: str, weekday: str) -> None:
    """Raise ValueError for a day that none of the months has. With a weekday, cron takes either."""
    if weekday != "*" or day == "*":
        return
    first = min(numbers_of(FIELDS[2], day))
    if all(first > _DAYS[number - 1] for number in numbers_of(FIELDS[3], month)):
        raise ValueError(f"the job would never run: month {month} has no day {day}")
