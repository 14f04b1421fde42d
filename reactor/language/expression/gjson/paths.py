r"""Evaluates a gjson path on a value.

``a.b.1`` reads keys and an index; ``#`` is the length of a list, ``#.key`` that key of each element, ``#(key>1)`` the
first element that matches, ``#(key>1)#`` all that match. ``*`` and ``?`` match parts of a key; ``\`` escapes a
character. Modifiers such as ``@reverse`` transform the result; ``{a,b}`` and ``[a,b]`` collect several results. After
``#``, ``.`` goes on with each element, and ``|`` with the list of results.
"""

from __future__ import annotations

import re
from typing import Any

from reactor.language.errors import FunctionError
from reactor.language.expression.access import MISSING
from reactor.language.expression.gjson.modifiers import MODIFIERS
from reactor.language.expression.gjson.syntax import holds, parsed, split, unquoted, wildcard
from reactor.language.expression.limits import MAX_NESTING, WorkMeter
from reactor.language.values import kind

_INDEX = re.compile(r"[0-9]{1,9}")
_SIMPLE_NAME = re.compile(r"[^\[\]{}()#@!|.\"'*?\\<>=%]+")
_SPECIAL = frozenset("\\*?")
_LEVELS = MAX_NESTING // 4


def get(value: Any, path: str, meter: WorkMeter, levels: int = _LEVELS) -> Any:
    """Return the value at ``path`` in ``value``, or MISSING. Raises FunctionError if it would take too much work."""
    if levels == 0:
        raise FunctionError("the path is nested too deeply")
    for piped in split(path, "|"):
        value = _walk(value, split(piped, "."), meter, levels - 1)
        if value is MISSING:
            break
    return value


def _walk(value: Any, parts: tuple[str, ...], meter: WorkMeter, levels: int) -> Any:
    for index, part in enumerate(parts):
        meter.charge(1)
        if part[:1] == "#" and kind(value) == "array":
            return _each(value, part, parts[index + 1 :], meter, levels)
        if _SPECIAL & set(part) and not _changes(part) and kind(value) == "map":
            return _matched(value, part, parts[index + 1 :], meter, levels)
        value = _step(value, part, meter, levels)
        if value is MISSING:
            break
    return value


def _step(value: Any, part: str, meter: WorkMeter, levels: int) -> Any:
    if part[:1] == "@":
        name, _, argument = part[1:].partition(":")
        if name in MODIFIERS:
            changed = MODIFIERS[name](value, argument, meter)
            return MISSING if changed is None and value is not None else changed
    if part[:1] in ("{", "["):
        return _several(value, part, meter, levels)
    what = kind(value)
    if what == "array" and _INDEX.fullmatch(part):
        return value[int(part)] if int(part) < len(value) else MISSING
    return value.get(part, MISSING) if what == "map" and part else MISSING


def _changes(part: str) -> bool:
    """Whether ``part`` transforms the whole result, instead of selecting a part of it."""
    return part[:1] in ("{", "[") or (part[:1] == "@" and part[1:].partition(":")[0] in MODIFIERS)


def _matched(value: Any, part: str, rest: tuple[str, ...], meter: WorkMeter, levels: int) -> Any:
    """Return the value at the path ``rest`` below the first key that matches ``part`` and has such a value."""
    names = next((index for index, each in enumerate(rest) if _changes(each)), len(rest))
    pattern = wildcard(part)
    meter.charge(len(value))
    for key in sorted(key for key in value if isinstance(key, str)):
        if pattern.match(key):
            found = _walk(value[key], rest[:names], meter, levels - 1)
            if found is not MISSING:
                return _walk(found, rest[names:], meter, levels - 1)
    return MISSING


def _each(items: Any, part: str, rest: tuple[str, ...], meter: WorkMeter, levels: int) -> Any:
    """Evaluate ``#``, ``#(query)`` or ``#(query)#``, followed by the path ``rest``.

    If no element has ``rest``, returns an empty list as in gjson, or MISSING if the meter is strict.
    """
    meter.charge(len(items))
    every = part == "#" or part[-1] == "#"
    if part == "#" and not rest:
        return len(items)
    found = list(items) if part == "#" else _matching(items, part, meter, levels, every)
    if not every:
        return _walk(found[0], rest, meter, levels - 1) if found else MISSING
    if not rest:
        return found
    walked = (_walk(item, rest, meter, levels - 1) for item in found)
    there = [item for item in walked if item is not MISSING]
    return MISSING if meter.strict and found and not there else there


def _matching(items: Any, part: str, meter: WorkMeter, levels: int, every: bool) -> list[Any]:
    query = parsed(part[1:].removesuffix("#"))
    if query is None or levels <= 0:
        return []
    found: list[Any] = []
    for item in items:
        value = get(item, query.path, meter, levels - 1) if query.path else item
        if holds(query, meter.note_secret(None if value is MISSING else value), exists=value is not MISSING):
            found.append(item)
            if not every:
                break
    return found


def _several(value: Any, part: str, meter: WorkMeter, levels: int) -> Any:
    """Evaluate ``{a,"name":b}`` or ``[a,b]``, leaving out missing values."""
    closing = "}" if part[0] == "{" else "]"
    if part[-1] != closing:
        return MISSING
    named: dict[str, Any] = {}
    listed: list[Any] = []
    for selector in split(part[1:-1], ","):
        name, path = _selector(selector)
        found = get(value, path, meter, levels - 1) if path else MISSING
        if found is not MISSING:
            named[name] = found
            listed.append(found)
    return named if part[0] == "{" else listed


def _selector(text: str) -> tuple[str, str]:
    """Return the name and the path of ``path`` or ``name:path``.

    The default name is the last key of the path, if it is plain.
    """
    name, *path = split(text, ":", 1)
    if path and "@" not in name:
        return unquoted(name), path[0]
    last = split(text, ".|")[-1]
    return (last if _SIMPLE_NAME.fullmatch(last) else "_"), text
