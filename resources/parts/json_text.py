"""Changes one key of a JSON text, and leaves every other character as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from reactor import ResourceError
from reactor.resources.parts.document import Document
from reactor.resources.parts.values import (
    MISSING,
    agrees,
    damaged,
    nested,
    newline_of,
    refuse_large,
    same,
    too_deep,
    value_at,
    with_value,
)

_DECODER = json.JSONDecoder(strict=False)
_BLANK = re.compile(r"[ \t\r\n]*")
_INDENT = re.compile(r"\n([ \t]+)\S")
_STRING = r'"(?:\\.|[^"\\])*(?:"|\\?\Z)'
"""A string; one that does not end goes on to the end of the text, so that it is searched once."""
_STRING_OR_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_STRING_OR_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)
_LARGEST = 16 << 20


class _Member(NamedTuple):
    """One key of an object: where it begins, and where its value begins and ends."""

    key: str
    start: int
    value: int
    stop: int


class _Text(NamedTuple):
    """A text, what is read from it, and the text with blanks in place of comments, at the same offsets."""

    text: str
    plain: str
    data: Any


def edit_json(document: Document, keys: Sequence[str], value: Any, path: str) -> Document | None:
    """The document in which the keys lead to ``value``, or to nothing if it is `MISSING`; None if they do already.

    Raises ResourceError if the text is not JSON, or something on the way is no object.
    """
    read = _read(document, path)
    found = value_at({} if read.data is MISSING else read.data, keys, path)
    if agrees(found, value):
        return None
    try:
        text = _edited(read, keys, value, path)
        after = document.with_text(text)
        expected = with_value({} if read.data is MISSING else read.data, keys, value)
        if not same(_read(after, path).data, expected):
            raise damaged(path, keys)
    except RecursionError as error:
        raise too_deep(path) from error
    return after


def _read(document: Document, path: str) -> _Text:
    found: _Text | None = document.parsed.get("json")
    if found is None:
        refuse_large(document, path, _LARGEST)
        found = document.parsed["json"] = _parsed(document.text, path)
    return found


def _parsed(text: str, path: str) -> _Text:
    if not text.strip():
        return _Text(text, text, MISSING)
    plain = text
    try:
        try:
            return _Text(text, text, _DECODER.decode(text))
        except json.JSONDecodeError:
            plain = _STRING_OR_COMMENT.sub(_blanked, text)
            plain = _STRING_OR_COMMA.sub(_blanked, plain)
            return _Text(text, plain, _DECODER.decode(plain))
    except json.JSONDecodeError as error:
        words = f"{path} is not JSON, at line {error.lineno}, column {error.colno}: {error.msg}"
        raise ResourceError(words, "correct the file") from error
    except ValueError as error:  # Python reads no number of thousands of digits
        raise ResourceError(f"{path} holds a number that is too long", "correct the file") from error
    except RecursionError as error:
        raise too_deep(path) from error


def _blanked(found: re.Match[str]) -> str:
    """A string as it is; blanks for anything else, but newlines stay."""
    return found[0] if found[0][0] == '"' else re.sub(r"[^\n]", " ", found[0])


def _edited(read: _Text, keys: Sequence[str], value: Any, path: str) -> str:
    text = read.text
    newline = newline_of(text)
    if read.data is MISSING:
        return json.dumps(nested(keys, value), indent=2, ensure_ascii=False) + "\n"
    start = _skip(read.plain, 0)
    for depth, key in enumerate(keys):
        members = _members(read.plain, start)
        those = [member for member in members if member.key == key]
        if len(those) > 1:
            raise ResourceError(
                f"{path} has the key {'.'.join(keys[: depth + 1])} twice", "remove one of them"
            )
        if not those:
            return _added(read, start, members, (key, nested(keys[depth + 1 :], value)))
        member = those[0]
        start = member.value
    if value is MISSING:
        return _without(read, members, member)
    new = _dumped(read, value, _indent_at(text, member.start), newline)
    return text[: member.value] + new + text[member.stop :]


def _skip(text: str, start: int) -> int:
    found = _BLANK.match(text, start)
    return start if found is None else found.end()


def _members(text: str, start: int) -> list[_Member]:
    """The members of the object that begins at ``start``. The text is known to be valid."""
    found = []
    here = _skip(text, start + 1)
    while text[here] == '"':
        key, stop = scanstring(text, here + 1, False)
        value = _skip(text, _skip(text, stop) + 1)
        _, end = _DECODER.raw_decode(text, value)
        found.append(_Member(key, here, value, end))
        here = _skip(text, end)
        if text[here] != ",":
            break
        here = _skip(text, here + 1)
    return found


def _unit(text: str) -> str | None:
    """The indent of one level; None if the whole text is in one line."""
    found = _INDENT.search(text)
    if found is not None:
        return found[1]
    return "  " if "\n" in text.strip() or len(text.strip()) <= len("{}") else None


def _indent_at(text: str, start: int) -> str:
    """The blanks at the beginning of the line of an offset."""
    line = text[text.rfind("\n", 0, start) + 1 : start]
    return line[: len(line) - len(line.lstrip())]


def _dumped(read: _Text, value: Any, indent: str, newline: str) -> str:
    unit = _unit(read.text)
    compact = (",", ":") if unit is None and '": ' not in read.text else None
    found = json.dumps(value, indent=unit, ensure_ascii=False, separators=compact)
    return found.replace("\n", newline + indent)


def _added(read: _Text, start: int, members: Sequence[_Member], new: tuple[str, Any]) -> str:
    text, unit, newline = read.text, _unit(read.text), newline_of(read.text)
    colon = ":" if unit is None and '": ' not in text else ": "
    if not members:
        close = read.plain.index("}", start)
        outer = _indent_at(text, start)
        lead, tail = ("", "") if unit is None else (f"{newline}{outer}{unit}", f"{newline}{outer}")
        indent = "" if unit is None else outer + unit
        entry = f"{json.dumps(new[0], ensure_ascii=False)}{colon}{_dumped(read, new[1], indent, newline)}"
        inside = text[start + 1 : close].rstrip()
        return f"{text[: start + 1]}{inside}{lead}{entry}{tail}{text[close:]}"
    last = members[-1]
    before = (
        read.plain[members[-2].stop : last.start] if len(members) > 1 else read.plain[start + 1 : last.start]
    )
    is_own_line = "\n" in before
    indent = _indent_at(text, last.start)
    blank = " " if before.endswith(" ") or (len(members) == 1 and colon == ": ") else ""
    lead = f",{newline}{indent}" if is_own_line else f",{blank}"
    entry = f"{json.dumps(new[0], ensure_ascii=False)}{colon}{_dumped(read, new[1], indent, newline)}"
    return f"{text[: last.stop]}{lead}{entry}{text[last.stop :]}"


def _without(read: _Text, members: Sequence[_Member], member: _Member) -> str:
    text, number = read.text, members.index(member)
    if number + 1 < len(members):
        return text[: member.start] + text[members[number + 1].start :]
    if number:
        return text[: members[number - 1].stop] + text[member.stop :]
    opening = read.plain.rindex("{", 0, member.start)
    closing = read.plain.index("}", member.stop)
    return text[: opening + 1] + text[closing:]
