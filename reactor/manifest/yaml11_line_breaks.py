"""Three characters that end a line in YAML 1.1, which PyYAML and libyaml read, and are text like any other in YAML 1.2.

Texts from the web hold some. There the parser would end a comment, drop the blanks that follow, or complain.
"""

from __future__ import annotations

_BREAKS = "\x85\u2028\u2029"
_STAND_INS = "\U0001fffe\U0001ffff\U0002fffe"
"""Code points that will never be characters, so that no text holds them."""

_AWAY = str.maketrans(_BREAKS, _STAND_INS)
_BACK = str.maketrans(_STAND_INS, _BREAKS)


def without_yaml11_breaks(text: str) -> str:
    """``text`` as the parser reads it rightly, of the same length; most texts are returned as they are."""
    if text.isascii() or not any(each in text for each in _BREAKS):
        return text
    return text.translate(_AWAY)


def with_yaml11_breaks(text: str) -> str:
    """What the parser made of a text, as it is meant."""
    return text.translate(_BACK)
