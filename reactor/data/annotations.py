"""Annotations of data: comments such as ``# @require`` at the keys below ``data:`` in a YAML text.

A YAML parser's events contain no comments. But between two tokens of YAML there are only white space and comments. So
this module reads the comments between the tokens, and never mistakes a ``#`` in a quoted or block scalar for one.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Mapping, Sequence
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

from reactor.named_tuple import NamedTuple

_SCANNER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_OPENING = (FlowMappingStartToken, FlowSequenceStartToken)
_CLOSING = (FlowMappingEndToken, FlowSequenceEndToken)
_TRANSPARENT = (TagToken, AnchorToken)
_BLOCK_STYLES = ("|", ">")


class Comments:
    """One pass over the tokens of a YAML text. Keys are identified by their offsets."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: list[tuple[int | None, int, str]] = []
        self._end = 0  # where the last token that is not empty ended
        self._next = ""  # "key" or "value" if the next token is a key or a value
        self._key: int | None = None  # the last key
        self._about: int | None = None  # the key whose value just ended, or comes next
        self._open: list[int | None] = []  # the keys of the flow collections that enclose this position

    def read(self, last: int) -> list[tuple[int | None, int, str]]:
        """Return the key (None if there is none), the offset and the text of each comment, up to the key ``last``.

        Invalid YAML ends the pass: the parser reports it.
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
        if isinstance(token, KeyToken):  # most tokens are empty
            self._next = "key"

    def _see(self, token: Any, start: int) -> None:
        """Track which key a comment after this token would belong to."""
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
        elif token.style in _BLOCK_STYLES:  # the token's first line may contain a comment
            header = self._text[start : token.end_mark.index].partition("\n")[0]
            self._comment(start, header, self._about)

    def _gap(self, start: int) -> None:
        """Record the comments between the last token and the one at ``start``."""
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


Path = tuple[str, ...]
"""The path of keys to a value of the data."""

_ANY = re.compile(r"#[ \t]*@")
TAINT = "secret"
_TAINTS = re.compile(rf"#[ \t]*@{TAINT}")


class Annotation(NamedTuple):
    """A comment ``# @name argument``. ``name`` has no ``@``; ``at`` is the offset of the ``#``."""

    name: str
    argument: str
    at: int


class Found(NamedTuple):
    """The annotations in a text by the key they belong to, in the order of the text, and the misplaced ones."""

    by_key: dict[Path, list[Annotation]]
    ignored: list[Annotation]


def has_annotations(text: str) -> bool:
    """Whether ``text`` may contain annotations. A quick test."""
    # Most have no @. The search alone holds the lock of Python's interpreter for milliseconds.
    return "@" in text and _ANY.search(text) is not None


def find_annotations(
    text: str, keys: Mapping[Path, int], others: Mapping[int, Sequence[Path]] | None = None
) -> Found:
    """Find the annotations in ``text``.

    ``keys`` has the offset in ``text`` of each key of the data, also in nested maps, but not within lists. An alias
    repeats keys at the same offset; an annotation there belongs to all of them. An annotation is on a line of its own
    before its key, or on the line of its key, after the key or its value.

    ``others`` has the offsets of other keys and of list items. Only ``@secret`` is valid there. It makes the keys
    secret that ``others`` has for that offset.
    """
    places = _Places(text, keys, others or {})
    found = Found({}, [])
    if not has_annotations(text):
        return found
    for key_at, comment_at, comment in Comments(text).read(last=places.last):
        name, _, argument = comment.partition(" ")
        if name.startswith("@"):
            annotation = Annotation(name[1:], argument.strip(), comment_at)
            paths, can_hold = places.about(annotation, key_at)
            for path in paths:
                found.by_key.setdefault(path, []).append(annotation)
            if not can_hold:
                found.ignored.append(annotation)
    return found


class _Places:
    """The keys and list items of a text, by offset."""

    def __init__(self, text: str, keys: Mapping[Path, int], others: Mapping[int, Sequence[Path]]) -> None:
        self._text = text
        self._keys: dict[int, list[Path]] = {}
        for path, at in keys.items():
            self._keys.setdefault(at, []).append(path)
        self._others = others
        self._offsets = sorted({*self._keys, *others})

    @property
    def last(self) -> int:
        """The offset at which the search for comments ends: the last key, or the end of the text.

        A ``@secret`` after the last key has no effect. It is searched for only to warn about it.
        """
        last = self._offsets[-1] if self._offsets else -1
        return len(self._text) if _TAINTS.search(self._text, max(last, 0)) else last

    def about(self, annotation: Annotation, key_at: int | None) -> tuple[Sequence[Path], bool]:
        """Return the keys that an annotation belongs to, and whether it is valid there.

        ``key_at`` is None for no key.
        """
        at = self._item(annotation.at) if key_at is None else key_at
        own, others = (self._keys.get(at, ()) if key_at is not None else ()), self._others.get(at, ())
        if annotation.name == TAINT:
            paths = (*own, *others)
            return paths, bool(paths)
        return own, bool(own) or not others

    def _item(self, comment_at: int) -> int:
        """Return the offset of the list item that a comment belongs to: the one before it on its line, or the next."""
        line_at = self._text.rfind("\n", 0, comment_at) + 1
        index = bisect(self._offsets, comment_at)
        if self._text[line_at:comment_at].strip():
            index -= 1
        return self._offsets[index] if 0 <= index < len(self._offsets) else -1
