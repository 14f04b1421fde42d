"""The base classes and the types of properties, with their forms in a manifest and in the JSON schema."""

from __future__ import annotations

import math
import os.path
import re
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    Strict,
    WithJsonSchema,
)


class Model(BaseModel):
    """A mapping in a manifest. An unknown key is an error.

    The validator is built when it is first needed: a run uses few of the models that a manifest may contain, and
    building all of them would be a good part of the start of a small run.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)


class FrozenModel(Model):
    """A model that never changes."""

    model_config = ConfigDict(frozen=True)


def matching_text(pattern: str | re.Pattern[str], problem: str) -> AfterValidator:
    """A validator of a text that ``pattern`` matches as a whole. In the error, ``problem`` follows the text."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"{text!r} {problem}")
        return text

    return AfterValidator(check)


def readable_text(read: Callable[[str], object]) -> AfterValidator:
    """A validator of a text that ``read`` accepts; for others it raises ValueError. The text stays as it is written."""

    def check(text: str) -> str:
        read(text)
        return text

    return AfterValidator(check)


Flag = Annotated[bool, Strict()]
"""``true`` or ``false`` and nothing else: in YAML 1.2 ``yes`` and ``on`` are strings."""


def _check_path(value: str) -> str:
    if not value.startswith("/"):
        raise ValueError("the path must be absolute: start it with /")
    if "\0" in value:
        raise ValueError("the path must not hold a NUL character")
    may_differ = "/." in value or "//" in value or value.endswith("/")  # 20,000 paths of a manifest do not
    if may_differ and (value.startswith("//") or os.path.normpath(value) != value):
        raise ValueError(f"the path must be canonical: write {re.sub('^//', '/', os.path.normpath(value))}")
    return value


AbsolutePath = Annotated[
    str, AfterValidator(_check_path), WithJsonSchema({"type": "string", "pattern": "^/"})
]
"""A path that starts with ``/`` and has no ``.``, ``..``, doubled or trailing slashes."""


def _check_reference(value: str) -> str:
    kind, separator, name = value.partition("#")
    if not (separator and kind and name):
        raise ValueError(f"a reference is written kind#name, as in {_as_reference(value)}, not {value!r}")
    return value


def _as_reference(value: str) -> str:
    """Return what ``Package['nginx']`` of Puppet, or ``package.nginx``, is as a reference, or else an example."""
    found = re.fullmatch(r"""(\w+)(?:\[['"]?([^\[\]'"]+)['"]?\]|[.:] ?([^.:]+))""", value)
    return f"{found[1].lower()}#{found[2] or found[3]}" if found else "file#/etc/motd"


def _as_list(value: Any) -> Any:
    """Return a single string as a list of it, and anything else as it is."""
    return [value] if isinstance(value, str) else value


_T = TypeVar("_T")
_STRINGS_SCHEMA = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}

OneOrMany = Annotated[tuple[_T, ...], BeforeValidator(_as_list), WithJsonSchema(_STRINGS_SCHEMA)]
"""A list of strings, as in ``OneOrMany[str]``; a single string needs no list."""

Reference = Annotated[str, AfterValidator(_check_reference)]
"""``kind#name`` or ``kind#alias``."""

_REFERENCE_SCHEMA = {"type": "string", "pattern": "^[^#]+#"}
_REFERENCES_SCHEMA = {"anyOf": [_REFERENCE_SCHEMA, {"type": "array", "items": _REFERENCE_SCHEMA}]}

References = Annotated[tuple[Reference, ...], BeforeValidator(_as_list), WithJsonSchema(_REFERENCES_SCHEMA)]
"""A list of references; a single reference needs no list."""

_UNITS = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0,
    "d": 86400.0, "D": 86400.0, "w": 604800.0, "W": 604800.0,
    "M": 2592000.0, "y": 31536000.0, "Y": 31536000.0,
}  # fmt: skip
_LONGEST_DURATION = 200
_DURATION_PART = r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|[smhdDwWMyY])"


def parse_duration(value: Any) -> float:
    """The seconds in a duration such as ``500ms``, ``30s``, ``1h30m`` or ``2w``.

    The units are those of CCM: Go's, and d, w, M (30 days), y (365 days). Raises ValueError for anything else,
    including a number without a unit.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
        raise ValueError(f"a duration needs a unit: write {value}s for seconds")
    text = str(value)
    if text == "0":
        return 0.0
    if not text or len(text) > _LONGEST_DURATION or re.sub(_DURATION_PART, "", text):
        raise ValueError(
            f"{text[:_LONGEST_DURATION]!r} is not a duration: write it as 500ms, 30s, 5m or 1h30m"
        )
    seconds = sum(float(number) * _UNITS[unit] for number, unit in re.findall(_DURATION_PART, text))
    if not math.isfinite(seconds) or seconds > 100 * _UNITS["y"]:
        raise ValueError(f"{text!r} is longer than a hundred years")
    return seconds


_DURATION_SCHEMA = {"anyOf": [{"type": "string", "pattern": f"^(({_DURATION_PART})+|0)$"}, {"const": 0}]}


def format_duration(seconds: float) -> str:
    """A duration that `parse_duration` reads as ``seconds``."""
    return f"{seconds:.9f}".rstrip("0").rstrip(".") + "s"


Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str, when_used="json"),
    WithJsonSchema(_DURATION_SCHEMA),
]
"""Seconds, written with a unit: ``500ms``, ``30s``, ``1h30m``."""


def _parse_rate(value: Any) -> float:
    number, slash, unit = str(value).partition("/")
    try:
        rate = float(number) / _UNITS[unit or "s"] if unit or not slash else math.nan
    except (KeyError, ValueError):
        rate = math.nan
    if not (math.isfinite(rate) and rate > 0):
        raise ValueError(f"{value!r} is not a rate: write it as 5/s or 10/m")
    return rate


Rate = Annotated[float, BeforeValidator(_parse_rate), WithJsonSchema({"type": ["string", "number"]})]
"""Events per second, written ``5/s``, ``10/m`` or ``1/h``."""


_NUMBER = r"-?\d*"


def _check_semaphore(value: str) -> str:
    name, colon, count = value.rpartition(":")
    if not re.fullmatch(_NUMBER, count):
        return value
    if not (colon and name and count and int(count) > 0):
        raise ValueError(
            f"{value!r} is not a semaphore: write a name, or one with how many may run at once, as in disk:2"
        )
    return value


def _without_repeats(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


Semaphores = Annotated[
    tuple[Annotated[str, AfterValidator(_check_semaphore)], ...], AfterValidator(_without_repeats)
]
"""Names, or ``name:count``; duplicates are removed."""
