"""Finds many strings in a text, also where it escapes their characters.

The time depends on the length of the text, not on the number of strings.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from reactor.resource.secret_forms import hex_forms, holds_short, plain_forms, values_of

Span = tuple[int, int]
"""Start and end of a match in a text."""

_Decode = Callable[[str], Iterator[tuple[str, int]]]
"""Returns the characters that an escape means, each with the length of the text that it takes."""

_Escape = tuple[str, re.Pattern[str], _Decode]
"""A sign that every such escape contains, the pattern of the escape, and its decoder."""

_START = 4
"""Strings are looked up by this many first characters; no string to find is shorter."""
_BLOCK = 4096
"""Characters that are searched at once. Only blocks in which a string may begin are examined closely."""
_DEPTH = 2
"""How many levels of escaping are undone: JSON in a JSON string is two."""

_FEW = 32
"""The limit for the first bytes of hexadecimal strings in a pattern; with more, a run may begin with any byte."""
_HEX_GAP = r"[ :,;_.|-]{0,2}(?:0[xX])?"
_HEX_BYTE = rf"[0-9a-fA-F]{{2}}{_HEX_GAP}"
_HEX_RUN = re.compile(f"{_HEX_BYTE}{_HEX_BYTE}(?:{_HEX_BYTE}){{2,}}[0-9a-fA-F]?")  # fails fast
_HEX_DIGITS = frozenset("0123456789abcdef")
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2})+")
_BACKSLASH = re.compile(
    r"(?:\\x[0-9a-fA-F]{2})+|(?:\\[0-3][0-7]{2})+"
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|\\.",
    re.DOTALL,
)
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|amp|lt|gt|quot|apos|nbsp);")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'", "nbsp": "\xa0"}
_LETTERS = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "a": "\a",
    "v": "\v",
    "e": "\x1b",
    "0": "\0",
}


class Index:
    """Strings to find, each at least four characters long."""

    def __init__(self) -> None:
        self._by_start: dict[tuple[str, ...], dict[int, set[str]]] = {}
        self._hex_starts: re.Pattern[str] | None = None
        self._words: set[int] = set()
        """The first four bytes of each string in UTF-8, as a number. A text without any of these contains no string."""

    def add(self, texts: Iterable[str]) -> None:
        """Find these strings too."""
        self._hex_starts = None
        for text in texts:
            self._by_start.setdefault(tuple(text[:_START]), {}).setdefault(len(text), set()).add(text)
            self._words.update(memoryview(_encoded(text)[:_START]).cast("I"))

    def hex_starts(self) -> re.Pattern[str]:
        """Matches where one of the strings, which consist of hexadecimal digits, may begin, by its first byte."""
        if self._hex_starts is None:
            bytes_ = sorted({"".join(start[:2]) for start in self._by_start})
            some = "|".join("".join(f"[{digit}{digit.upper()}]" for digit in byte) for byte in bytes_)
            first = f"(?:{some})" if len(bytes_) <= _FEW else "[0-9a-fA-F]{2}"
            self._hex_starts = re.compile(
                f"{first}{_HEX_GAP}{_HEX_BYTE}{_HEX_BYTE}{_HEX_BYTE.partition('[ :')[0]}"
            )
        return self._hex_starts

    def spans(self, text: str) -> Iterator[Span]:
        """The places of the strings in ``text``; at each place the longest one."""
        for begin in range(0, len(text), _BLOCK):
            block = text[begin : begin + _BLOCK + _START - 1]
            if self._may_begin_in(block):
                yield from self._spans(text, begin, block)

    def may_hold(self, text: str) -> bool:
        """Whether ``text`` must be examined closely. False is certain, and determined fast."""
        blocks = (text[begin : begin + _BLOCK + _START - 1] for begin in range(0, len(text), _BLOCK))
        return any(map(self._may_begin_in, blocks))

    def _may_begin_in(self, block: str) -> bool:
        data = memoryview(_encoded(block))
        size = len(data)
        for at in range(min(_START, size - _START + 1)):
            if not self._words.isdisjoint(data[at : at + (size - at) // _START * _START].cast("I")):
                return True
        return False  # the usual case, determined in C

    def _spans(self, text: str, begin: int, block: str) -> Iterator[Span]:
        by_start = self._by_start
        for at in [at for at, start in enumerate(_starts(block), begin) if start in by_start]:
            by_length = by_start[tuple(text[at : at + _START])]
            longest = max(
                (length for length, texts in by_length.items() if text[at : at + length] in texts), default=0
            )
            if longest:
                yield at, at + longest


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _starts(text: str) -> Iterator[tuple[str, ...]]:
    """The prefix at each position of ``text``, as used to look up strings."""
    return zip(*(text[at:] for at in range(_START)), strict=False)


def escaped_spans(index: Index, text: str, depth: int = _DEPTH) -> Iterator[Span]:
    """The places where ``text`` contains a string of the index escaped for URLs, JSON, Python, a shell or HTML."""
    for escape in _ESCAPES:
        if not _may_escape(index, text, escape, depth):
            continue
        _, pattern, decode = escape
        if (view := _decoded(text, pattern, decode)) is not None:
            yield from map(view.origin, index.spans(view.text))
            if depth > 1:
                yield from map(view.origin, escaped_spans(index, view.text, depth - 1))


def _may_escape(index: Index, text: str, escape: _Escape, depth: int) -> bool:
    """Whether ``text`` may contain a string of the index after undoing ``escape``, and then others up to ``depth``.

    It rarely does. Undoing escapes without recording their positions takes half the time.
    """
    sign, pattern, decode = escape
    if sign not in text:
        return False
    known: dict[str, str] = {}

    def undone(match: re.Match[str]) -> str:
        found = match.group()
        if found not in known:
            known[found] = "".join(character for character, _ in decode(found))
        return known[found]

    plain = pattern.sub(undone, text)
    if plain == text:
        return False
    return index.may_hold(plain) or (
        depth > 1 and any(_may_escape(index, plain, each, depth - 1) for each in _ESCAPES)
    )


def hex_spans(index: Index, text: str) -> Iterator[Span]:
    """The places where ``text`` has a string of the index in hexadecimal digits, whatever separates the bytes."""
    done = 0
    for start in index.hex_starts().finditer(text):
        if start.start() < done or (run := _HEX_RUN.match(text, start.start())) is None:
            continue
        done = run.end()
        found = run.group().lower().replace("0x", "  ")
        places = [at for at, character in enumerate(found, run.start()) if character in _HEX_DIGITS]
        digits = "".join(character for character in found if character in _HEX_DIGITS)
        yield from ((places[first], places[last - 1] + 1) for first, last in index.spans(digits))


def merged(spans: Iterable[Span]) -> list[Span]:
    """The same places in order; overlapping ones are merged."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


class _View(NamedTuple):
    """A text with its escapes undone. Each of ``starts`` corresponds to a position in the original, in ``origins``."""

    text: str
    starts: list[int]
    origins: list[int]

    def origin(self, span: Span) -> Span:
        """The place in the original for a place in this text."""
        return self._at(span[0]), self._at(span[1])

    def _at(self, position: int) -> int:
        part = bisect_right(self.starts, position) - 1
        return self.origins[part] + position - self.starts[part]


def _decoded(text: str, pattern: re.Pattern[str], decode: _Decode) -> _View | None:
    """``text`` with everything that matches ``pattern`` decoded; None if nothing matches."""
    parts: list[str] = []
    starts, origins, length, done = [0], [0], 0, 0
    for match in pattern.finditer(text):
        at = match.start()
        parts.append(text[done:at])
        length += at - done
        for character, size in decode(match.group()):
            starts.append(length)
            origins.append(at)
            parts.append(character)
            length += len(character)
            at += size
        done = match.end()
        starts.append(length)
        origins.append(done)
    if not done:
        return None
    return _View("".join([*parts, text[done:]]), starts, origins)


def _percent(run: str) -> Iterator[tuple[str, int]]:
    return _characters(bytes.fromhex(run.replace("%", "")), 3)


def _backslash(escape: str) -> Iterator[tuple[str, int]]:
    kind = escape[1]
    if kind == "x":
        yield from _characters(bytes.fromhex(escape.replace("\\x", "")), 4)
    elif kind in "0123" and len(escape) > 2:  # noqa: PLR2004 - a backslash and one character
        yield from _characters(bytes(int(digits, 8) for digits in escape.split("\\")[1:]), 4)
    elif kind in "uU" and len(escape) > 2:  # noqa: PLR2004
        codes = [int(digits, 16) for digits in re.split(r"\\[uU]", escape)[1:]]
        whole = b"".join(code.to_bytes(2, "big") for code in codes) if len(codes) > 1 else b""
        yield whole.decode("utf-16-be") if whole else _character(codes[0]), len(escape)
    else:
        yield _LETTERS.get(kind, kind), len(escape)


def _entity(entity: str) -> Iterator[tuple[str, int]]:
    name = entity[1:-1]
    if name.startswith(("#x", "#X")):
        yield _character(int(f"0{name[1:]}", 0)), len(entity)
    elif name.startswith("#"):
        yield _character(int(name[1:])), len(entity)
    else:
        yield _ENTITIES[name], len(entity)


def _character(code: int) -> str:
    return chr(code) if code <= 0x10FFFF else "\ufffd"  # noqa: PLR2004 - the last of Unicode


def _characters(data: bytes, size: int) -> Iterator[tuple[str, int]]:
    """The characters of ``data``, decoded as UTF-8 if possible, each with the length of its text: ``size`` per byte."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1")
        return iter([(character, size) for character in text])
    return iter([(character, size * len(character.encode())) for character in text])


_ESCAPES = (("%", _PERCENT, _percent), ("\\", _BACKSLASH, _backslash), ("&", _ENTITY, _entity))


def with_each(text: str, spans: Iterable[Span], make: Callable[[str], str]) -> str:
    """``text`` with each span replaced by the result of ``make`` for its text. ``spans`` are in order."""
    parts: list[str] = []
    done = 0
    for start, end in spans:
        parts += (text[done:start], make(text[start:end]))
        done = end
    return "".join([*parts, text[done:]])


class KnownSecrets:
    """The secrets to find. Their forms are computed at the first search after a secret was added.

    Leaves ``mask`` as it is.
    """

    def __init__(self, mask: str) -> None:
        self.values: set[str] = set()
        self.has_short = False
        self._new: list[str] = []
        self._plain = Index()
        self._plain.add([mask])
        self._hex = Index()
        self._lock = threading.Lock()

    def add(self, secret: str) -> None:
        """Find ``secret`` from now on, as a whole and line by line."""
        self.has_short |= holds_short(secret)
        new = values_of(secret) - self.values
        self._new.extend(new)
        self.values.update(new)

    def replaced(self, text: str, make: Callable[[str], str]) -> str:
        """``text`` with each secret replaced by what ``make`` returns for it, as it is written there."""
        if self._new:
            self._index_new()
        index = self._plain
        spans = merged([*index.spans(text), *escaped_spans(index, text), *hex_spans(self._hex, text)])
        return with_each(text, spans, make) if spans else text

    def _index_new(self) -> None:
        """Add new secrets to the index. When this returns, all that were added before can be found."""
        with self._lock:  # templates register secrets in threads
            while self._new:
                self._plain.add(plain_forms(self._new[0]))
                self._hex.add(hex_forms(self._new[0]))
                del self._new[0]  # last: a thread that sees nothing new must find this one
