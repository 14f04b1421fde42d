"""Splits paths at characters outside quotes, brackets and backslash escapes."""

from __future__ import annotations

import fnmatch
import re
from functools import lru_cache

_SPECIAL = re.compile(r'[\\"(\[{]')
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_PIECE = re.compile(r"\\.|[*?]|[^\\*?]+|\\", re.DOTALL)
_LITERAL_IN_GLOB = re.compile(r"([*?\[])")


@lru_cache(maxsize=1024)
def split(path: str, sign: str, most: int = -1) -> tuple[str, ...]:
    """Split ``path`` at each ``sign``, or at the first ``most``; ``sign`` may be several characters, each of which separates."""
    if len(sign) == 1 and not _SPECIAL.search(path):
        return tuple(path.split(sign, most))
    parts: list[str] = []
    start = 0
    for position in outside(path):
        if path[position] in sign and len(parts) != most:
            parts.append(path[start:position])
            start = position + 1
    return (*parts, path[start:])


def outside(path: str) -> list[int]:
    """Return the positions of the characters that are not quoted, escaped or in brackets."""
    found: list[int] = []
    depth, quoted, skip = 0, False, False
    for position, sign in enumerate(path):
        if skip:
            skip = False
        elif sign == "\\":
            skip = True
        elif sign == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif sign in _OPENING:
            depth += 1
        elif sign in _CLOSING:
            depth -= 1
        elif depth == 0:
            found.append(position)
    return found


@lru_cache(maxsize=256)
def wildcard(part: str) -> re.Pattern[str]:
    """Compile ``*`` and ``?`` in a key or a query to a regular expression; fnmatch makes one that does not backtrack."""
    return re.compile(fnmatch.translate("".join(map(_glob, _PIECE.findall(part)))))


def _glob(piece: str) -> str:
    if piece in ("*", "?"):
        return piece
    literal = piece[1:] if len(piece) > 1 and piece[0] == "\\" else piece
    return _LITERAL_IN_GLOB.sub(r"[\1]", literal)
