"""Changes one key of a TOML text, and leaves every other character as it is."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from reactor import ResourceError
from reactor.resources.parts.document import Document
from reactor.resources.parts.values import (
    MISSING,
    agrees,
    damaged,
    newline_of,
    refuse_large,
    same,
    value_at,
    with_value,
)

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?""""{0,2}|\'\'\'.*?\'\'\'\'{0,2}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'', re.DOTALL
)
_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_PLAIN = re.compile(r"[^\s,\]}#]+(?: [0-9][^\s,\]}#]*)?")
"""A number, a boolean, or a date, which may have a blank before the time."""


class _Item(NamedTuple):
    """A header or a key: its path, where its line begins, and where the value begins and ends."""

    path: tuple[str, ...]
    start: int
    value: int
    stop: int
    table: tuple[str, ...] | None
    """The table that a key is in; None for a header."""
    is_array: bool = False


def edit_toml(document: Document, keys: Sequence[str], value: Any, path: str) -> Document | None:
    """The document in which the keys lead to ``value``, or to nothing if it is `MISSING`; None if they do already.

    Raises ResourceError if the text is not TOML, or the key can't be changed alone.
    """
    data = _read(document, path)
    found = value_at(data, keys, path)
    if agrees(found, value):
        return None
    after = document.with_text(_edited(document.text, tuple(keys), value, data, path))
    if not same(_read(after, path), with_value(data, keys, value)):
        raise damaged(path, keys)
    return after


def _read(document: Document, path: str) -> dict[str, Any]:
    found: dict[str, Any] | None = document.parsed.get("toml")
    if found is None:
        refuse_large(document, path)
        try:
            found = tomllib.loads(document.body.decode())
        except UnicodeDecodeError as error:
            raise ResourceError(f"{path} is not UTF-8 at byte {error.start}", "correct the file") from error
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise ResourceError(f"{path} is not TOML: {error}", "correct the file") from error
        document.parsed["toml"] = found
    return found


def _items(text: str) -> Iterator[_Item]:
    """The headers and keys of a valid text, in order."""
    here, is_array = 0, False
    table: tuple[str, ...] = ()
    while (here := _space(text, here)) < len(text):
        start = text.rfind("\n", 0, here) + 1
        if text[here] == "[":
            is_array = text.startswith("[[", here)
            table, stop = _key(text, _space(text, here + (2 if is_array else 1)))
            stop = _line_end(text, text.index("]", stop))
            yield _Item(table, start, here, stop, None, is_array)
            here = stop
            continue
        key, stop = _key(text, here)
        value = _space(text, text.index("=", stop) + 1)
        here = _end_of_value(text, value)
        yield _Item((*table, *key), start, value, here, table, is_array)


def _space(text: str, start: int) -> int:
    found = _SPACE.match(text, start)
    return start if found is None else found.end()


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end == -1 else end + 1


def _key(text: str, start: int) -> tuple[tuple[str, ...], int]:
    """The parts of a dotted key, and where it ends."""
    parts: list[str] = []
    while True:
        if (bare := _BARE.match(text, start)) is not None:
            parts.append(bare[0])
            start = bare.end()
        else:
            quoted = _STRING.match(text, start)
            if quoted is None:
                raise ResourceError(f"the key at offset {start} can't be read")
            parts.append(next(iter(tomllib.loads(f"{quoted[0]} = 1"))))
            start = quoted.end()
        here = _space(text, start)
        if text[here : here + 1] != ".":
            return tuple(parts), start
        start = _space(text, here + 1)


def _end_of_value(text: str, start: int) -> int:
    depth = 0
    while start < len(text):
        letter = text[start]
        if letter in "\"'" and (string := _STRING.match(text, start)) is not None:
            start = string.end()
        elif letter in "[{":
            depth, start = depth + 1, start + 1
        elif letter in "]}":
            depth, start = depth - 1, start + 1
        elif letter in ",=":
            start += 1
        elif (plain := _PLAIN.match(text, start)) is not None:
            start = plain.end()
        if depth == 0:
            return start
        start = _space(text, start)
    return start


def _edited(text: str, keys: tuple[str, ...], value: Any, data: Mapping[str, Any], path: str) -> str:
    items = list(_items(text))
    if (item := _holder(items, keys)) is not None:
        if item.path != keys:  # in an inline table
            inside = value_at(data, item.path, "")
            whole = with_value(inside, keys[len(item.path) :], value)
            return text[: item.value] + written(whole) + text[item.stop :]
        if value is MISSING:
            return text[: item.start] + text[_line_end(text, item.stop) :]
        is_long = isinstance(value, list) and "\n" in text[item.value : item.stop]
        new = _long(value, newline_of(text)) if is_long else written(value)
        return text[: item.value] + new + text[item.stop :]
    if value is MISSING or any(item.path[: len(keys)] == keys for item in items):
        words = f"{path}: {'.'.join(keys)} is a table with lines of its own"
        raise ResourceError(words, "name the keys in it, one by one")
    return _added(text, items, keys, value)


def _holder(items: list[_Item], keys: tuple[str, ...]) -> _Item | None:
    """The key that has the value: the whole path, or the inline table on the way to it."""
    return next(
        (item for item in items if item.table is not None and item.path == keys[: len(item.path)]), None
    )


def _added(text: str, items: list[_Item], keys: tuple[str, ...], value: Any) -> str:
    newline, parent = newline_of(text), keys[:-1]
    beside = [item for item in items if item.table is not None and item.path[:-1] == parent]
    headers = [item for item in items if item.table is None]
    own = next((item for item in headers if item.path == parent and not item.is_array), None)
    if beside:
        last = beside[-1]
        indent = re.match(r"[ \t]*", text[last.start :])
        line = f"{indent[0] if indent else ''}{_dotted(keys[len(last.table or ()) :])} = {written(value)}"
        return _with_line(text, _line_end(text, last.stop), line, newline)
    line = f"{_dotted(keys[-1:])} = {written(value)}"
    if own is not None:
        return _with_line(text, own.stop, line, newline)
    if not parent:
        place = _before_comments(text, headers[0].start) if headers else len(text)
        return _with_line(text, place, line, newline, blank=bool(headers))
    related = _nearest(items, parent)
    last_place = _end_of_table(items, related[-1], text) if related else len(text)
    lines = f"[{_dotted(parent)}]{newline}{line}"
    before = text[:last_place]
    lead = "" if not before.strip() or before.endswith(newline * 2) else newline
    return _with_line(text, last_place, lead + lines, newline, blank=last_place < len(text))


def _nearest(items: list[_Item], parent: tuple[str, ...]) -> list[_Item]:
    """The items in the tables that have most of their path in common with ``parent``."""
    shared = [_shared(item.path if item.table is None else item.table, parent) for item in items]
    most = max(shared, default=0)
    return [item for item, length in zip(items, shared, strict=True) if length == most > 0]


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """The number of keys that two paths have in common at their beginning."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))


def _end_of_table(items: list[_Item], item: _Item, text: str) -> int:
    """The end of the table of the item: after its last key."""
    table = item.path if item.table is None else item.table
    last = [each for each in items if table in (each.table, each.path if each.table is None else None)][-1]
    return _line_end(text, last.stop) if last.table is not None else last.stop


def _before_comments(text: str, place: int) -> int:
    """The place before the comments right above it."""
    while place:
        above = text.rfind("\n", 0, place - 1) + 1
        if not text[above:place].lstrip().startswith("#"):
            break
        place = above
    return place


def _with_line(text: str, place: int, line: str, newline: str, *, blank: bool = False) -> str:
    before, after = text[:place], text[place:]
    if before and not before.endswith("\n"):
        return f"{before}{newline}{line}{after}"
    return f"{before}{line}{newline}{newline if blank and after.strip() and not after[0].isspace() else ''}{after}"


def _dotted(keys: Sequence[str]) -> str:
    return ".".join(key if _BARE.fullmatch(key) else _string(key) for key in keys)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def written(value: Any) -> str:
    """The value in one line of TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_dotted([key])} = {written(each)}" for key, each in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, (int, float)):
        return repr(value)
    return str(value)  # a date, found in an inline table


def _long(values: Sequence[Any], newline: str) -> str:
    lines = "".join(f"    {written(value)},{newline}" for value in values)
    return f"[{newline}{lines}]"
