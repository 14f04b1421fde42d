"""Literals of Go: quoted strings, characters and numbers."""

from __future__ import annotations

import re
from typing import Final

from reactor.language.errors import Fault

_ESCAPE: Final = re.compile(
    rb"\\(?:x([0-9a-fA-F]{2})|([0-7]{3})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.)|$)", re.DOTALL
)
_SIMPLE: Final = {
    b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v", b"\\": b"\\",
}  # fmt: skip
_QUOTED: Final = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\",
}  # fmt: skip
_INTEGER: Final = re.compile(
    r"[+-]?(?:0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO]?(?:_?[0-7])+|0|[1-9](?:_?[0-9])*)\Z"
)
_FLOAT: Final = re.compile(
    r"[+-]?(?:\d+(?:_\d+)*)?(?:\.(?:\d+(?:_\d+)*)?)?(?:[eE][+-]?\d+)?\Z|([+-]?0[xX][0-9a-fA-F_.]+[pP][+-]?\d+)\Z"
)
_OLD_OCTAL: Final = re.compile(r"\A([+-]?)0_?([0-7_]+)\Z")
_MAX_INT: Final = 2**63 - 1
_LONGEST_INTEGER: Final = 200
"""The most characters of an integer, including leading zeros and underscores."""
_MAX_CODE: Final = 0x10FFFF


def unquote(text: str) -> str:
    """Return the value of a literal in ``"``, a backquote or ``'``. Raises Fault if it is no valid Go literal."""
    quote, inner = text[0], text[1:-1]
    if quote == "`":
        return inner.replace("\r", "")
    if "\\" not in inner:
        return inner
    raw = inner.encode("utf-8", "surrogatepass")
    return _ESCAPE.sub(lambda found: _unescaped(found, quote), raw).decode("utf-8", "replace")


def _unescaped(found: re.Match[bytes], quote: str) -> bytes:
    byte, octal, short, long, simple = found.groups()
    if byte:
        return bytes((int(byte, 16),))
    if octal and int(octal, 8) < 256:  # noqa: PLR2004  a byte
        return bytes((int(octal, 8),))
    if (short or long) and int(short or long, 16) <= _MAX_CODE:
        return chr(int(short or long, 16)).encode("utf-8", "replace")
    if simple is not None and (simple in _SIMPLE or simple == quote.encode()):
        return _SIMPLE.get(simple, simple)
    raise Fault(
        "invalid syntax", f"{found[0].decode(errors='replace')} is not an escape: write \\\\ for a backslash"
    )


def quote(text: str) -> str:
    """Return ``text`` as a Go literal, as ``%q`` prints it."""
    return f'"{escaped(text, chr(34))}"'


def escaped(text: str, mark: str, *, ascii_only: bool = False) -> str:
    """Return ``text`` escaped for use between two ``mark`` characters."""
    return "".join(_escape(character, mark, ascii_only) for character in text)


def _escape(character: str, mark: str, ascii_only: bool) -> str:
    if character == mark:
        return "\\" + mark
    if character in _QUOTED:
        return _QUOTED[character]
    code = ord(character)
    if character.isprintable() and (code < 0x7F or not ascii_only):  # noqa: PLR2004  the end of ASCII
        return character
    if code < 0x80 and (code < 0x20 or code == 0x7F):  # noqa: PLR2004  the control characters of ASCII
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004  the largest code of \u


def number(text: str) -> int | float:
    """Return the number ``text``. Raises Fault if it is no number, or too large."""
    if text[0] == "'":
        return _character(text)
    if text[-1:] == "i" and text[:2].lower() != "0x":
        raise Fault(f"complex numbers such as {text} are not supported")
    if _INTEGER.match(text):
        return _integer(text)
    found = _FLOAT.match(text)
    if found is None or text.lstrip("+-").replace("_", "").isdigit():
        raise Fault(f"illegal number syntax: {quote(text)}")
    try:  # the pattern also matches an exponent alone, as in -e3
        return float.fromhex(text.replace("_", "")) if found[1] else float(text.replace("_", ""))
    except (ValueError, OverflowError):
        raise Fault(f"illegal number syntax: {quote(text)}") from None


def _integer(text: str) -> int:
    if len(text) > _LONGEST_INTEGER:
        raise Fault(f"integer overflow: {quote(text)}")
    value = int(_OLD_OCTAL.sub(r"\g<1>0o\2", text, count=1), 0)
    if not -_MAX_INT - 1 <= value <= _MAX_INT:
        raise Fault(f"integer overflow: {quote(text)}")
    return value


def _character(text: str) -> int:
    inner = unquote(text)
    if len(inner) != 1:
        raise Fault(f"malformed character constant: {text}")
    return ord(inner)
