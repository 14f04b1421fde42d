r"""Splits the string of a command into words, as a POSIX shell does.

Quotes, backslashes and continued lines have the meaning that they have for ``/bin/sh``; everything else (``$``, ``*``,
``|``, ``#``) is literal. shlex of the standard library differs: it keeps the newline of a continued line, and the
backslash of ``"\$"``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_PIECE = re.compile(
    r"""
      (?P<gap>      [ \t\n]+ )
    | (?P<joint>    \\\n )
    | (?P<plain>    [^ \t\n'"\\]+ )
    | '(?P<single>  [^']* )'
    | "(?P<double>  (?: [^"\\] | \\. )* )"
    | \\(?P<escaped> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_WITHOUT_QUOTES = re.compile(r"[^'\"\\]*")
_WORD = re.compile(r"[^ \t\n]+")
_ESCAPE_IN_DOUBLE_QUOTES = re.compile(r'\\(?:\n|([$`"\\]))')
_UNTERMINATED = {
    "'": "unterminated single quote",
    '"': "unterminated double quote",
    "\\": "a backslash at the end escapes nothing",
}


def pieces(text: str) -> Iterator[re.Match[str]]:
    """The parts of ``text``: each match is a ``gap``, a ``joint`` of lines, or a part of a word.

    A part of a word is ``plain``, ``single`` or ``double`` quoted, or ``escaped``. Raises ValueError as `split_words`
    does.
    """
    at = 0
    while at < len(text):
        piece = _PIECE.match(text, at)
        if piece is None:
            raise ValueError(_UNTERMINATED[text[at]])
        at = piece.end()
        yield piece


def split_words(text: str) -> list[str]:
    """The words of ``text``, without their quotes. Raises ValueError for an unterminated quote or escape."""
    if _WITHOUT_QUOTES.fullmatch(text):  # most commands
        return _WORD.findall(text)
    words: list[str] = []
    word: str | None = None
    for piece in pieces(text):
        if piece.lastgroup != "gap":
            word = _join(word, piece)
        elif word is not None:
            words.append(word)
            word = None
    return words if word is None else [*words, word]


def _join(word: str | None, piece: re.Match[str]) -> str | None:
    """The word so far, extended by one piece. A continued line adds nothing."""
    kind = str(piece.lastgroup)
    if kind == "joint":
        return word
    value = piece[kind]
    if kind == "double":
        value = _ESCAPE_IN_DOUBLE_QUOTES.sub(r"\1", value)
    return (word or "") + value
