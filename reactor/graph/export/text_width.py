"""How wide text in a picture is, and how to make it fit. Names are set in a fixed-width font, so counting will do."""

from __future__ import annotations

import unicodedata

FONT_SIZE = 12
_CELL = 7.3
"""Pixels that a character takes at `FONT_SIZE`: 0.6 of it in most fonts, and a little to be safe."""

_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


def width(text: str) -> float:
    """The width of ``text`` in pixels."""
    return sum(map(_cells, text)) * _CELL


def fitted(text: str, room: float) -> str:
    """``text``, or as much of its beginning and end as ``room`` pixels hold: both tell paths apart."""
    if width(text) <= room:
        return text
    half = (room / _CELL - 1) / 2
    return _start(text, half) + _ELLIPSIS + _start(text[::-1], half)[::-1]


def _start(text: str, room: float) -> str:
    """As many characters from the start as fit into ``room`` cells."""
    for number, character in enumerate(text):
        room -= _cells(character)
        if room < 0:
            return text[:number]
    return text


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
