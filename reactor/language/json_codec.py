"""JSON for both languages: 64-bit integers, no unpaired surrogates, numbers in Go's format."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from reactor.language.errors import FunctionError
from reactor.language.values import INT_MAX, INT_MIN, kind, to_string

FOR_HTML: Final = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)
"""Escapes that make JSON safe in HTML and JavaScript, as Go writes it."""
_WHOLE_NUMBERS_BELOW = 1e21
_ESCAPED_UNIT = re.compile(
    r"(?P<pair>\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)


def decode(source: str) -> Any:
    """Return the value of the JSON string ``source``; raises FunctionError."""
    try:
        return json.loads(_whole(source), parse_int=_number, parse_constant=_refuse)
    except ValueError as error:
        raise FunctionError(f"invalid JSON: {error}") from None
    except RecursionError:
        raise FunctionError("invalid JSON: nested too deeply") from None


def encode(value: Any, indent: int | None = None) -> str:
    """Return ``value`` as JSON with sorted keys; raises FunctionError for NaN and infinities."""
    separators = (",", ":") if indent is None else (",", ": ")
    try:
        return json.dumps(
            _plain(value),
            indent=indent,
            separators=separators,
            ensure_ascii=False,
            allow_nan=False,
            sort_keys=True,
        )
    except ValueError:
        raise FunctionError("json: NaN and infinities have no JSON") from None


def _number(digits: str) -> float:
    value = int(digits) if len(digits) <= len(str(INT_MIN)) else float(digits)
    return value if INT_MIN <= value <= INT_MAX else float(value)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _whole(source: str) -> str:
    """Replace escapes of unpaired surrogates, which are no characters."""
    return _ESCAPED_UNIT.sub(lambda match: match["pair"] or "\\ufffd", source) if "\\u" in source else source


def _plain(value: Any) -> Any:
    what = kind(value)
    if what == "array":
        return [_plain(item) for item in value]
    if what == "map":
        return {to_string(key): _plain(value[key]) for key in value}
    if what == "float" and value.is_integer() and abs(value) < _WHOLE_NUMBERS_BELOW:
        return int(value)
    if what == "time.Time":
        return value.isoformat().replace("+00:00", "Z")
    if what == "time.Duration":
        return round(value.total_seconds() * 1e9)
    return to_string(value) if what == "time.Location" else value
