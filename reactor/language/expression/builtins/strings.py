"""Builtins for strings. Positions and lengths count characters."""

from __future__ import annotations

from typing import Any

from reactor.language.errors import FunctionError
from reactor.language.expression.builtins.signature import Builtin, builtin
from reactor.language.expression.limits import check_result_length
from reactor.language.values import kind

_MOST_TRIMMED = 1000


def _trim(text: str, characters: str | None = None) -> str:
    if characters is not None and len(characters) > _MOST_TRIMMED:
        raise FunctionError(
            f"trim takes up to {_MOST_TRIMMED} characters", "trimPrefix removes a longer text"
        )
    return text.strip(characters)


def _trim_prefix(text: str, prefix: str = " ") -> str:
    return text.removeprefix(prefix)


def _trim_suffix(text: str, suffix: str = " ") -> str:
    return text.removesuffix(suffix)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if separator == "":
        parts = list(text)
        return parts if limit < 0 or limit >= len(parts) else [*parts[: limit - 1], text[limit - 1 :]]
    return text.split(separator, limit - 1 if limit > 0 else -1)


def _split_after(text: str, separator: str, limit: int = -1) -> list[str]:
    parts = _split(text, separator, limit)
    return [part + separator for part in parts[:-1]] + parts[-1:]


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    found = text.count(old)
    times = found if limit < 0 else min(found, limit)
    check_result_length(len(text) + times * (len(new) - len(old)))
    return text.replace(old, new, limit if limit >= 0 else -1)


def _repeat(text: str, times: int) -> str:
    if times < 0:
        raise FunctionError(f"invalid argument for repeat (expected positive integer, got {times})")
    check_result_length(len(text) * times)
    return text * times


def _join(parts: Any, separator: str = "") -> str:
    for part in parts:
        if not isinstance(part, str):
            raise FunctionError(
                f"invalid argument for join (a list with {kind(part)} in it)", "map(list, string(#))"
            )
    check_result_length(sum(map(len, parts)) + len(separator) * max(len(parts) - 1, 0))
    return separator.join(parts)


BUILTINS: dict[str, Builtin] = {
    "trim": builtin(_trim, "string", "string?"),
    "trimPrefix": builtin(_trim_prefix, "string", "string?"),
    "trimSuffix": builtin(_trim_suffix, "string", "string?"),
    "upper": builtin(str.upper, "string"),
    "lower": builtin(str.lower, "string"),
    "split": builtin(_split, "string", "string", "int?"),
    "splitAfter": builtin(_split_after, "string", "string", "int?"),
    "replace": builtin(_replace, "string", "string", "string", "int?"),
    "repeat": builtin(_repeat, "string", "int"),
    "join": builtin(_join, "array", "string?"),
    "indexOf": builtin(lambda text, part: text.find(part), "string", "string"),
    "lastIndexOf": builtin(lambda text, part: text.rfind(part), "string", "string"),
    "hasPrefix": builtin(lambda text, part: text.startswith(part), "string", "string"),
    "hasSuffix": builtin(lambda text, part: text.endswith(part), "string", "string"),
}
