"""Converts YAML scalars to values, by the core schema of YAML 1.2.

PyYAML's own rules are those of YAML 1.1, where ``on`` is true, ``0644`` is 420 and ``12:30`` is 750.
"""

from __future__ import annotations

import math
import re

Scalar = str | int | float | bool | None

_MAX_DIGITS = 1000

_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys(
        (f"{sign}{word}" for sign in ("", "+") for word in (".inf", ".Inf", ".INF")), float("inf")
    ),
    **dict.fromkeys((f"-{word}" for word in (".inf", ".Inf", ".INF")), float("-inf")),
}
SPECIAL_STARTS = frozenset(["", *"0123456789+-.~nNtTfF"])
"""The first characters of plain scalars that may not be strings. Most strings begin with another character."""

_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED_INTEGER = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")

_CORE_TAG = "tag:yaml.org,2002:"
_TYPES = {"null": type(None), "bool": bool, "int": int, "float": float}


def plain_value(text: str) -> Scalar:
    """Return the value of an unquoted scalar without a tag. Raises ValueError for a number with too many digits."""
    if text in _WORDS:
        return _WORDS[text]
    base = 10 if _INTEGER.fullmatch(text) else 0 if _BASED_INTEGER.fullmatch(text) else None
    if base is not None:
        if len(text) > _MAX_DIGITS:
            raise ValueError(f"the number has more than {_MAX_DIGITS} digits")
        return int(text, base)
    return float(text) if _FLOAT.fullmatch(text) else text


def tagged_value(tag: str, text: str) -> Scalar:
    """Return the value of a scalar with a tag.

    Raises ValueError if the tag is unknown, or ``text`` does not match it.
    """
    if tag == f"{_CORE_TAG}str":
        return text
    wanted = _TYPES.get(tag.removeprefix(_CORE_TAG)) if tag.startswith(_CORE_TAG) else None
    if wanted is None:
        raise ValueError(f"unknown tag {shown_tag(tag)}")
    value = plain_value(text)
    if wanted is float and type(value) is int:
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if type(value) is not wanted:
        raise ValueError(f"{text!r} does not fit the tag {shown_tag(tag)}")
    return value


def shown_tag(tag: str) -> str:
    """Return a tag in its usual short form: ``!!int``."""
    return tag.replace(_CORE_TAG, "!!", 1) if tag.startswith(_CORE_TAG) else tag
