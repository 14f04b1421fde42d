"""The comments of a YAML text, and the keys they stand at.

A parser's events know no comments. But between two tokens of YAML there is nothing except white space and
comments, so what the tokenizer leaves over are the comments, whatever the quoted and block texts around them
hold.
"""

from __future__ import annotations

from typing import Any

import yaml
from yaml.tokens import (
    AnchorToken,
    FlowEntryToken,
    FlowMappingEndToken,
    FlowMappingStartToken,
    FlowSequenceEndToken,
    FlowSequenceStartToken,
    KeyToken,
    ScalarToken,
    StreamEndToken,
    TagToken,
    ValueToken,
)

_SCANNER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_OPENING = (FlowMappingStartToken, FlowSequenceStartToken)
_CLOSING = (FlowMappingEndToken, FlowSequenceEndToken)
_TRANSPARENT = (TagToken, AnchorToken)
_BLOCK_STYLES = ("|", ">")


class Comments:
    """One pass over the tokens of a text. Keys are told by their offsets."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: list[tuple[int | None, int, str]] = []
        self._end = 0  # of the last token that has any text
        self._next = ""  # what the next token is, if it is a "key" or a "value"
        self._key: int | None = None  # the last key
        self._about: int | None = None  # the key whose value has just ended or is about to come
        self._open: list[int | None] = []  # the keys of the flow collections around us

    def read(self, last: int) -> list[tuple[int | None, int, str]]:
        """The key (None: there is none), the offset and the text of each comment, up to the key ``last``.

        A text that turns out to be no YAML ends there; what is wrong with it is for the parser to say.
        """
        scanner = _SCANNER(self._text)
        try:
            while scanner.check_token() and (self._key or 0) <= last:
                self._take(scanner.get_token())
        except yaml.YAMLError:
            pass
        finally:
            scanner.dispose()
        return self._found

    def _take(self, token: Any) -> None:
        start, end = token.start_mark.index, token.end_mark.index
        if end > start or isinstance(token, StreamEndToken):
            self._gap(start)
            self._see(token, start)
            self._end = end
        if isinstance(token, KeyToken):  # most have no text
            self._next = "key"

    def _see(self, token: Any, start: int) -> None:
        """Keep track of whose key a comment after this token would be about."""
        if isinstance(token, _TRANSPARENT):
            return
        if isinstance(token, ValueToken):
            self._about, self._next = self._key, "value"
            return
        if isinstance(token, _CLOSING):
            self._about = self._open.pop() if self._open else None
        elif not isinstance(token, FlowEntryToken) and self._next != "value":
            self._about = None
        if isinstance(token, _OPENING):
            self._open.append(self._about)
        if isinstance(token, ScalarToken):
            self._scalar(token, start)
        self._next = ""

    def _scalar(self, token: Any, start: int) -> None:
        if self._next == "key":
            self._key = start
        elif token.style in _BLOCK_STYLES:  # the first line of such a token may hold a comment
            header = self._text[start : token.end_mark.index].partition("\n")[0]
            self._comment(start, header, self._about)

    def _gap(self, start: int) -> None:
        """Look at what stands between the last token and the one at ``start``."""
        gap = self._text[self._end : start]
        if "#" not in gap:
            return
        line_at = self._end
        follows = self._end > 0 and self._text[self._end - 1] != "\n"
        for line in gap.split("\n"):
            self._comment(line_at, line, self._about if follows else start if self._next == "key" else None)
            line_at += len(line) + 1
            follows = False

    def _comment(self, line_at: int, line: str, about: int | None) -> None:
        _, hash_sign, comment = line.partition("#")
        if hash_sign:
            self._found.append((about, line_at + line.index("#"), comment.strip()))
