"""Makes text from the host safe to print on one line.

File names, command output and server replies must not control a terminal.
"""

from __future__ import annotations

from typing import Final

_UNSEEN: Final = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Categories: control characters; invisible ones and those that change the text direction; surrogates; line ends.

`graph/export/picture.py` has a list of its own for pictures, and `ui/page/format.js` for the page."""


class _Escapes(dict[int, int | str]):
    """The replacement of each character, computed when it is first seen."""

    def __missing__(self, code: int) -> int | str:
        import unicodedata  # noqa: PLC0415 - a separate library, which most text does not need

        seen = chr(code) == "\t" or unicodedata.category(chr(code)) not in _UNSEEN
        self[code] = code if seen else _escape(code)
        return self[code]


def _escape(code: int) -> str:
    if code < 0x100:  # noqa: PLR2004 - the escapes of Python
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004


_ESCAPES: Final = _Escapes()


def escaped(text: str) -> str:
    """``text`` with line ends, control characters and invisible characters escaped. Tabs stay."""
    return text if text.isprintable() else text.translate(_ESCAPES)
