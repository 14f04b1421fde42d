"""Checks calendar events of systemd.time(7): their form when the manifest is loaded, their meaning by systemd itself."""

from __future__ import annotations

import re
import time
from shutil import which
from typing import Final

from reactor import ResourceError
from reactor.resources.process import ENVIRONMENT, Command, run

_WORDS = frozenset(
    [
        "minutely",
        "hourly",
        "daily",
        "weekly",
        "monthly",
        "quarterly",
        "semiannually",
        "yearly",
        "annually",
        "biannually",
        "bi-annually",
        "half-yearly",
        "semi-annually",
        "anually",
    ]
)
_ITEM = r"(?:\*|\d+(?:\.\d+)?)(?:\.\.\d+(?:\.\d+)?)?(?:/\d+(?:\.\d+)?)?"
_LIST = rf"{_ITEM}(?:,{_ITEM})*"
_DAY = r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*"
_WEEKDAYS = re.compile(rf"{_DAY}(?:(?:\.\.|-){_DAY})?(?:,{_DAY}(?:(?:\.\.|-){_DAY})?)*,?", re.IGNORECASE)
_DATE = re.compile(rf"(?:{_LIST}-)?{_LIST}[-~]{_LIST}")
_TIME = re.compile(rf"({_LIST}):({_LIST})(?::({_LIST}))?")
_ZONE = re.compile(r"UTC|[A-Z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)+")
_SINCE_EPOCH = re.compile(r"@\d+")
_LIMITS = (("hour", 23), ("minute", 59), ("second", 59))
_APPROVED_SECONDS: Final = 60.0
"""For how long systemd is not asked again about events that it has understood: many timers have the same."""
_approved: Final[dict[tuple[str, ...], float]] = {}
"""The events that systemd has understood, with the time of the answer."""
_HINT = "see systemd.time(7), as in *-*-* 03:00:00, Mon..Fri 07:30 or daily"


def check(text: str) -> str:
    """Return ``text``. Raises ValueError that names the word that is not part of a calendar event."""
    if not text.isascii() or not text.isprintable() or not text.strip():
        raise ValueError(f"a calendar event is one line of text: {_HINT}")
    words = text.split()
    if words[-1] == "UTC" or _ZONE.fullmatch(words[-1]):
        words.pop()
    if len(words) == 1 and (words[0].lower() in _WORDS or _SINCE_EPOCH.fullmatch(words[0])):
        return text
    forms = [_WEEKDAYS, _DATE, _TIME]
    for word in words:
        while forms and not forms[0].fullmatch(word):
            forms.pop(0)
        if not forms:
            raise ValueError(f"{word!r} is not part of a calendar event: {_HINT}")
        if forms.pop(0) is _TIME:
            _check_time(word)
    return text


def _check_time(text: str) -> None:
    for (name, highest), part in zip(_LIMITS, text.split(":"), strict=False):
        for number in re.findall(r"(?<![./\d])\d+", part):
            if int(number) > highest:
                raise ValueError(f"there is no {name} {number} in {text!r}: it goes from 0 to {highest}")


async def refuse_misread(events: tuple[str, ...]) -> None:
    """Raise ResourceError if systemd does not understand one of ``events``, or it never comes again."""
    now = time.monotonic()
    if not events or now - _approved.get(events, -_APPROVED_SECONDS) < _APPROVED_SECONDS:
        return
    if which("systemd-analyze", path=ENVIRONMENT["PATH"]) is None:
        return
    done = await run(Command(("systemd-analyze", "calendar", "--", *events), "/", ENVIRONMENT))
    if done.exit_code != 0:
        first = next(filter(None, (line.strip() for line in done.stderr.splitlines())), "")
        raise ResourceError(f"systemd refuses the calendar event: {first}", _HINT)
    if "Next elapse: never" in done.stdout:
        raise ResourceError("the calendar event never comes again", "correct its year")
    for old in [each for each, at in _approved.items() if now - at >= _APPROVED_SECONDS]:
        del _approved[old]
    _approved[events] = now
