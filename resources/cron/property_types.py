"""Property types of the kind `cron`: commands, times and variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from reactor import readable_text
from reactor.resources.cron import schedule as schedules
from reactor.resources.cron.job import for_cron

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST = 998
"""The longest line of a command, in bytes, that every cron takes."""


def _check_command(text: str) -> str:
    if not text.strip() or "\n" in text or not text.replace("\t", " ").isprintable():
        raise ValueError("a command is one line of text: put several into a script")
    if text.endswith("\\"):
        raise ValueError("a command must not end with a backslash")
    if len(for_cron(text).encode()) > _LONGEST:
        raise ValueError(f"a command has at most {_LONGEST} bytes, with each % as two: put it into a script")
    return text.strip()


def _check_value(text: str) -> str:
    if not text.isprintable() or ('"' in text and "'" in text):
        raise ValueError("the value of a variable is one line of text, without both sorts of quotes")
    return text


def _check_variable(text: str) -> str:
    if not _VARIABLE.fullmatch(text):
        raise ValueError(f"{text!r} is not the name of a variable")
    return text


def _field(name: str) -> Any:
    field = next(each for each in schedules.FIELDS if each.name == name)
    return readable_text(partial(schedules.numbers_of, field))


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _refuse_bad_names(variables: Mapping[str, str]) -> Mapping[str, str]:
    for name, value in variables.items():
        _check_variable(name)
        _check_value(value)
    return variables


CommandLine = Annotated[str, AfterValidator(_check_command)]
"""A command for a shell, on one line."""
Schedule = Annotated[str, AfterValidator(schedules.check)]
"""Five fields, or a word such as ``@daily``."""
Environment = Annotated[Mapping[str, str], AfterValidator(_refuse_bad_names)]
"""Variables by name."""
_AsText = BeforeValidator(_as_text)
_SCHEMA = WithJsonSchema({"type": ["string", "integer"]})
Minute = Annotated[str, _AsText, _field("minute"), _SCHEMA]
"""The minute field."""
Hour = Annotated[str, _AsText, _field("hour"), _SCHEMA]
"""The hour field."""
Day = Annotated[str, _AsText, _field("day"), _SCHEMA]
"""The day field."""
Month = Annotated[str, _AsText, _field("month"), _SCHEMA]
"""The month field."""
Weekday = Annotated[str, _AsText, _field("weekday"), _SCHEMA]
"""The weekday field."""
