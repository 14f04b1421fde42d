r"""Makes PyYAML and libyaml, which read YAML 1.1, read the characters of a string as YAML 1.2 and JSON do.

- Pairs such as ``\ud83d\ude00`` are one character in JSON, and two invalid ones to a YAML 1.1 parser. Half a pair is no
  character in either, and the parser says where it is.
- Three characters end a line in YAML 1.1, and are ordinary text in YAML 1.2. Strings from the web contain some. There the
  parser would end a comment, drop the blanks that follow, or report an error.
"""

from __future__ import annotations

import json
import re

_UNIT = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u[dD][89a-fA-F]|.)", re.DOTALL
)
_FILLING = "\U0002ffff"
"""A code point that will never be a character, so that no string holds it."""


def with_whole_characters(text: str) -> str:
    """``text`` as the YAML parser reads it rightly, of the same length; only JSON with such pairs is another."""
    if "\\u" not in text or text.lstrip()[:1] not in ("{", "[") or not _is_json(text):
        return text
    return _UNIT.sub(_escaped, text)


def without_filling(text: str) -> str:
    """What the parser made of a string, as it is meant."""
    return text.replace(_FILLING, "")


def has_half_a_character(json_text: str) -> bool:
    """Whether a JSON text names half a pair."""
    return any(unit[0][1:3] in ("ud", "uD") and unit[1] is None for unit in _UNIT.finditer(json_text))


def _escaped(unit: re.Match[str]) -> str:
    """The same character in the one way that YAML has, filled up to the length that it had."""
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
_STAND_INS = "\U0001fffe\U0001ffff\U0002fffe"
"""Code points that will never be characters, so that no string holds them."""

_AWAY = str.maketrans(_BREAKS, _STAND_INS)
_BACK = str.maketrans(_STAND_INS, _BREAKS)


def without_yaml11_breaks(text: str) -> str:
    """``text`` as the parser reads it rightly, of the same length; most strings are returned as they are."""
    if text.isascii() or not any(each in text for each in _BREAKS):
        return text
    return text.translate(_AWAY)


def with_yaml11_breaks(text: str) -> str:
    """What the parser made of a string, as it is meant."""
    return text.translate(_BACK)
