"""Text from the host, made fit for a line: names of files, output of commands and answers of servers drive no terminal."""

from __future__ import annotations

from typing import Final

_UNSEEN: Final = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Categories: control characters; those that have no width, or turn the direction of text; surrogates; line ends."""


class _Escapes(dict[int, int | str]):
    """What each character becomes, found when it is first seen."""

    def __missing__(self, code: int) -> int | str:
        import unicodedata  # noqa: PLC0415 - a library of its own, and most text needs none of this

        seen = chr(code) == "\t" or unicodedata.category(chr(code)) not in _UNSEEN
        self[code] = code if seen else _escape(code)
        return self[code]


def _escape(code: int) -> str:
    if code < 0x100:  # noqa: PLR2004 - as Python writes them
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004


_ESCAPES: Final = _Escapes()


def escaped(text: str) -> str:
    """The text with all that ends a line, drives a terminal or can't be seen spelt out. Tabs stay."""
    return text if text.isprintable() else text.translate(_ESCAPES)
