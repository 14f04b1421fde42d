"""The forms in which a secret may be written: plain and encoded.

Encodings that escape single characters (URLs, JSON, shells, HTML) are decoded before the search, see `secret_search`.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator

SHORTEST = 4
"""Characters. Masking every ``a`` would make the output unreadable and hide nothing."""
_SHORTEST_REVERSED = 6
"""Characters. Shorter secrets read backwards are ordinary words too often."""
_WIDTHS = (60, 64, 72, 76)
"""Characters in a line of base64, as common programs wrap it."""
_DUMPED = 16
"""Bytes in a line of a dump by xxd, hexdump or od."""
_HEX_WIDTHS = (2 * _DUMPED, 60, 64)
"""Hexadecimal digits in a line; ``xxd -p`` writes 60."""
_WORD = re.compile(r"\w")
_ARMOUR = re.compile(r"-{2,} ?(BEGIN|END) [A-Z0-9 ]+-{2,}")


def values_of(secret: str) -> set[str]:
    """``secret``, and each line of it that is long enough: programs often show text line by line.

    The first and the last line of a PEM key are the same in every such file, and not secret.
    """
    lines = map(str.strip, secret.split("\n"))
    found = {line for line in lines if not _ARMOUR.fullmatch(line)} | {secret}
    return {value for value in found if len(value) >= SHORTEST}


def holds_short(secret: str) -> bool:
    """Whether a line of it is too short to be searched for, but not blank."""
    return any(
        line and len(line) < SHORTEST and _WORD.search(line) for line in map(str.strip, secret.split("\n"))
    )


def plain_forms(value: str) -> set[str]:
    """Every string that shows ``value``: as it is, quoted, backwards, in base64, and as the text column of a dump."""
    forms = {
        value,
        value.replace(" ", "+"),
        value.replace("'", "''"),
        value.replace("'", "'\\''"),
        value.replace("'", "'\"'\"'"),
        *_base64_forms(value.encode(errors="surrogateescape")),
        *_dumped(value),
    }
    if len(value) >= _SHORTEST_REVERSED:
        forms.add(value[::-1])
    return {form for form in forms if len(form) >= SHORTEST}


def hex_forms(value: str) -> set[str]:
    """Every run of lower-case hexadecimal digits that shows ``value``, whole or wrapped into lines."""
    digits = value.encode(errors="surrogateescape").hex()
    lines = (line for width in _HEX_WIDTHS if len(digits) > width for line in _wrapped(digits, width))
    return {digits, *(line for line in lines if len(line) >= 2 * SHORTEST)}


def _base64_forms(secret: bytes) -> Iterator[str]:
    """The strings that show ``secret`` in base64, for each of its three alignments within the encoded bytes.

    For each alignment: the characters that depend on the secret alone; and the form at the end of the encoded bytes,
    with and without padding. For a secret that is encoded alone, also these forms wrapped into lines.
    """
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + secret).decode()
        # The characters that encode bits of the secret only.
        start, end = (before * 8 + 5) // 6, (before + len(secret)) * 8 // 6
        inside, at_the_end = encoded[start:end], encoded[start:]
        for form in (inside, at_the_end, at_the_end.rstrip("=")):
            yield form
            yield form.replace("+", "-").replace("/", "_")  # base64 for URLs
        for width in _WIDTHS:
            if before == 0 and len(encoded) > width:
                yield from (*_wrapped(inside, width), *_wrapped(at_the_end, width))


def _dumped(value: str) -> Iterator[str]:
    """The lines that show ``value`` in the text column of a hex dump, if it needs more than one."""
    if len(value) > _DUMPED:
        armour = "\n".join(line for line in value.split("\n") if _ARMOUR.fullmatch(line))
        shown = "".join(c if c.isascii() and c.isprintable() else "." for c in value)
        yield from (line for line in _wrapped(shown, _DUMPED) if _WORD.search(line) and line not in armour)


def _wrapped(text: str, width: int) -> Iterator[str]:
    return (text[at : at + width] for at in range(0, len(text), width))
