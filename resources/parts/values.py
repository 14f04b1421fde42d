"""Values below a path of keys, in what JSON, TOML and YAML are read as."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from reactor import ResourceError
from reactor.resources.parts.document import Document

MISSING: Final = object()
"""There is no such key; or, as a desired value, the key must be removed."""
_LARGEST = 1 << 20
MOST_LEVELS = 100
"""How deep values may be in each other."""


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal and of the same type: 1, 1.0 and true are three values."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and bool(one == other)


def agrees(found: Any, value: Any) -> bool:
    """Whether ``found`` is the desired ``value``. Either may be `MISSING`."""
    return found is value if found is MISSING or value is MISSING else same(found, value)


def plain(value: Any) -> Any:
    """The value in the types that parsers return: expressions of a manifest may return others that are derived of them."""
    if isinstance(value, Mapping):
        return {plain(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    known = next((each for each in (bool, int, float, str) if isinstance(value, each)), None)
    return value if known is None or type(value) is known else known(value)


def value_at(data: Any, keys: Sequence[str], path: str) -> Any:
    """The value below the keys, or `MISSING`. Raises ResourceError when something on the way is no mapping."""
    for number, key in enumerate(keys):
        if not isinstance(data, Mapping):
            place = ".".join(keys[:number]) or "the top"
            words = f"{path}: {place} is not a mapping, so it can't have the key {key}"
            raise ResourceError(words, "correct the key, or the file")
        if key not in data:
            return MISSING
        data = data[key]
    return data


def with_value(data: Mapping[str, Any] | None, keys: Sequence[str], value: Any) -> dict[str, Any]:
    """A copy of ``data`` in which the keys lead to ``value``; without that key if it is `MISSING`."""
    copy = dict(data or {})
    first, *rest = keys
    if rest:
        copy[first] = with_value(copy.get(first), rest, value)
    elif value is MISSING:
        copy.pop(first, None)
    else:
        copy[first] = value
    return copy


def nested(keys: Sequence[str], value: Any) -> Any:
    """``value`` below the keys: ``{a: {b: value}}``."""
    for key in reversed(keys):
        value = {key: value}
    return value


def levels(value: Any) -> int:
    """How deep values are nested."""
    if isinstance(value, Mapping):
        return 1 + max(map(levels, value.values()), default=0)
    if isinstance(value, (list, tuple)):
        return 1 + max(map(levels, value), default=0)
    return 0


def newline_of(text: str) -> str:
    """The end of the first line."""
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def refuse_large(document: Document, path: str, largest: int = _LARGEST) -> None:
    """Raise ResourceError for a file of values that is larger than ``largest`` bytes: parsed, it is much larger."""
    if len(document.body) > largest:
        words = f"{path} has {len(document.body) >> 10} KiB, and only files of up to {largest >> 10} can be parsed"
        raise ResourceError(words, "manage the whole file with the kind file")


def too_deep(path: str) -> ResourceError:
    """The error for a file whose values are nested too deeply to be read."""
    return ResourceError(f"{path} has too many levels", "manage the whole file with the kind file")


def damaged(path: str, keys: Sequence[str]) -> ResourceError:
    """The error for an edited text in which more than the key has changed."""
    words = f"{path}: the key {'.'.join(keys)} can't be changed without a change of something else"
    return ResourceError(words, "change it by hand, or manage the whole file with the kind file")
