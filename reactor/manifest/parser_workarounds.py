r"""Makes PyYAML and libyaml, which parse YAML 1.1, treat some characters as YAML 1.2 and JSON do.

- A surrogate pair such as ``\ud83d\ude00`` is one character in JSON, but two invalid ones to a YAML 1.1 parser. Half a
  pair is invalid in both, and the parser reports its place.
- Three characters end a line in YAML 1.1, but are ordinary text in YAML 1.2. Strings copied from the web contain some.
  The parser would end a comment there, drop the blanks that follow, or report an error.
"""

from __future__ import annotations

import json
import re

_UNIT = r"(?s)\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u[dD][89a-fA-F]|.)"
_JSON_START = re.compile(r"\s*[{\[]")
_FILLING = "\U0002ffff"
"""A code point that is reserved as a noncharacter, so no text contains it."""


def with_whole_characters(text: str) -> str:
    """Return ``text``, with the same length, so that the parser reads surrogate pairs correctly. Only changes JSON."""
    # What is quick comes first: the search for \\u in a long text full of \\n takes milliseconds.
    if _JSON_START.match(text) is None or "\\u" not in text or not _is_json(text):
        return text
    return re.sub(_UNIT, _escaped, text)


def without_filling(text: str) -> str:
    """Undo `with_whole_characters` in a string from the parser."""
    return text.replace(_FILLING, "")


def has_half_a_character(json_text: str) -> bool:
    """Whether ``json_text`` contains half of a surrogate pair."""
    return any(unit[0][1:3] in ("ud", "uD") and unit[1] is None for unit in re.finditer(_UNIT, json_text))


def _escaped(unit: re.Match[str]) -> str:
    """Return the YAML escape of the same character, padded to the old length."""
    if unit[1] is None:
        return unit[0]
    character = bytes.fromhex(unit[1] + unit[2]).decode("utf-16-be")
    return f"\\U{ord(character):08X}".ljust(len(unit[0]), _FILLING)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


_BREAKS = "\x85\u2028\u2029"
_PLACEHOLDERS = "\U0001fffe\U0001ffff\U0002fffe"
"""Code points that are reserved as noncharacters, so no text contains them."""

_AWAY = str.maketrans(_BREAKS, _PLACEHOLDERS)
_BACK = str.maketrans(_PLACEHOLDERS, _BREAKS)


def without_yaml11_breaks(text: str) -> str:
    """Return ``text``, with its length unchanged, so that the parser reads these three characters as ordinary text."""
    if text.isascii() or not any(each in text for each in _BREAKS):
        return text
    return text.translate(_AWAY)


def with_yaml11_breaks(text: str) -> str:
    """Undo `without_yaml11_breaks` in a string from the parser."""
    return text.translate(_BACK)
