"""Reads the plain items of long lists without the parser, which takes four times as long.

A plain item is one name with properties, each on a line of its own: ``- NAME:``, and below it ``KEY: VALUE``. Names, keys
and values are written without anything that needs a second look: no comment, anchor, tag, list or map, no second line,
no character beyond the printable ones. What is not certain to mean the same to the parser is left to it.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterator
from functools import cache

from reactor.manifest.nodes import Mapping
from reactor.manifest.scalars import SPECIAL_STARTS, plain_value
from reactor.named_tuple import NamedTuple

_PIECE = 16 * 1024
"""Characters that are read at once: more would keep repairs waiting. A longer item is left to the parser."""
_WINDOW = 4 * _PIECE
_FEWEST = 8
"""The items of the shortest run: to put shorter ones back into the tree costs as much as to parse them."""
_LONGEST_KEY = 1000
"""The parser's own limit is a little higher."""
_QUOTES = frozenset("'\"")
_UNUSUAL = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
"""Characters that the parser refuses or treats in its own way, without those before the space."""

# No character is accepted by two neighbouring parts of a pattern, so a search that fails ends soon. No possessive
# quantifiers: Python 3.11 had errors there.
_START = r"[A-Za-z0-9_/.]"
_WORD = r"[^\x00- :#]"
_DOUBLE = r"[^\x00-\x1f\\\"]*"
_SINGLE = r"'[^\x00-\x1f']*'"
_KEY = rf"(?:{_START}{_WORD}*(?: +{_WORD}+)*|\"{_DOUBLE}\"|{_SINGLE})"
_VALUE = (
    rf"(?:{_START}{_WORD}*(?:(?:#|:(?=[^\x00- ])| +(?=[^\x00- #])){_WORD}*)*"
    rf"|\"{_DOUBLE}(?:\\[nt\"\\]{_DOUBLE})*\"|{_SINGLE})"
)
_LINE = rf"{_KEY}: {_VALUE}\n"
_RUN = rf"\n( *)- {_KEY}:\n(\1 {{3,}}){_LINE}(?:\2{_LINE})*(?:\1- {_KEY}:\n(?:\2{_LINE})+)*"
_TOKENS = rf"(?<=\n)(?:DASH- ({_KEY}):\n)?INDENT({_KEY}): ({_VALUE})\n"
"""A line of an item, with the line before it if that has the name. It begins only where a line does, so that a search
that fails ends soon here, too."""


class Run(NamedTuple):
    """Plain items that follow each other in the lines from ``start`` to ``end``. ``offsets`` are those of the items.

    The item before is ``first``, at the offset ``first_at``; the one after is at ``next_at``. The parser reads these: so it
    is known that there is a list, and what ends it.
    """

    first: Mapping
    first_at: int
    start: int
    end: int
    next_at: int
    items: list[Mapping]
    offsets: array[int]


class _UncertainError(Exception):
    """The parser must read what looked like a plain item."""


@cache
def _run_pattern() -> re.Pattern[str]:
    return re.compile(_RUN)


def _token_pattern(dash: str, indent: str) -> re.Pattern[str]:
    """The pattern of the tokens of a run with these margins."""
    return re.compile(_TOKENS.replace("DASH", dash).replace("INDENT", indent))


def runs_of(text: str) -> list[Run] | None:
    """Return the runs of plain items in ``text``, in order; None if the parser must read all of it.

    Stops when the parser must read more than half of it.
    """
    pieces = range(0, len(text), _WINDOW)
    if ("\x7f" in text) if text.isascii() else any(_UNUSUAL.search(text, at, at + _WINDOW) for at in pieces):
        return None
    try:
        return [*_runs(text)]
    except (_UncertainError, ValueError):
        return None


def _runs(text: str) -> Iterator[Run]:
    pattern = _run_pattern()
    at = read = 0
    while at < len(text) and 2 * (at - read) < len(text):
        found = pattern.search(text, at, at + _WINDOW)
        if found is None:
            at += _WINDOW - _PIECE
            continue
        is_whole = found.end() < at + _WINDOW - _PIECE
        if is_whole and _count(text, found) <= _FEWEST:
            at = found.end() - 1
        else:
            reader = _RunReader(text, found, found.end() if is_whole else len(text))
            at = reader.end
            if len(reader.items) > _FEWEST:
                run = reader.run()
                read += run.end - run.start
                yield run


def _count(text: str, found: re.Match[str]) -> int:
    return text.count(f"\n{found[1]}- ", found.start(), found.end())


class _RunReader:
    """Reads the run that begins at the line feed where the pattern of runs was ``found``, up to ``limit`` at most."""

    def __init__(self, text: str, found: re.Match[str], limit: int) -> None:
        self._text = text
        self._limit = limit
        self._dash = found.end(1) - found.start(1)
        self._indent = found.end(2) - found.start(2)
        self._keys: dict[str, str] = {}
        self.items: list[Mapping] = []
        self._offsets = array("I")
        self.end = found.start() + 1
        """The start of the line of the item that was not read yet."""
        self._read(*found.groups())

    def run(self) -> Run:
        """Return what was read. The first item is only for comparison."""
        first, first_at, start = self.items[0], self._offsets[0], self._offsets[1] - self._dash - len("- ")
        del self.items[0], self._offsets[0]
        next_at = self.end + self._dash + len("- ")
        return Run(first, first_at, start, self.end, next_at, self.items, self._offsets)

    def _read(self, *margins: str) -> None:
        """Read all items but the last, which is left to the parser."""
        tokens = _token_pattern(*margins)
        while self._read_piece(tokens, f"\n{margins[0]}- "):
            pass
        found = _run_pattern().match(self._text, self.end - 1, self.end - 1 + _PIECE)
        if found is not None and found.groups() == margins:
            self._add_all(tokens.findall(self._text, self.end, found.end()))
        if self.items:
            self.items.pop()
            self.end = self._offsets.pop() - self._dash - len("- ")

    def _read_piece(self, pattern: re.Pattern[str], dash: str) -> bool:
        """Read the items that are wholly in the next piece. Return False if it has none, or other lines among them."""
        begin = self.end
        end = self._text.rfind(dash, begin, min(begin + _PIECE, self._limit)) + 1
        tokens = pattern.findall(self._text, begin, end)
        lines = len(tokens) + sum(1 for name, _, _ in tokens if name)
        if not tokens or lines < self._text.count("\n", begin, end):
            return False
        self._add_all(tokens)
        self.end = end
        return True

    def _add_all(self, tokens: list[tuple[str, str, str]]) -> None:
        """Add the items that begin at ``self.end``. Each line is as long as its margin and what was found in it."""
        at, dash, indent, keys = self.end, self._dash + len("- "), self._indent, self._keys
        body = Mapping(at)
        put = body.put
        for name, key, value in tokens:
            if name:
                name_at = at + dash
                at = name_at + len(name) + len(":\n")
                body = Mapping(at + indent)
                put = body.put
                self._add(name, body, name_at)
            if (known := keys.get(key)) is None:
                known = keys[key] = _unquoted(key)
            if known in body:
                raise _UncertainError
            key_at = at + indent
            value_at = key_at + len(key) + len(": ")
            at = value_at + len(value) + len("\n")
            first = value[0]
            if first in _QUOTES:
                text = value[1:-1]
                if "\\" in text and first == '"':
                    text = _unescaped(text)
                put(known, text, key_at, value_at, None)
            elif first not in SPECIAL_STARTS or (found := plain_value(value)).__class__ is str:
                put(known, value, key_at, value_at, None)
            else:
                put(known, found, key_at, value_at, value)

    def _add(self, name: str, body: Mapping, at: int) -> None:
        item = Mapping(at)
        item.put(_unquoted(name), body, at, body.at, None)
        self.items.append(item)
        self._offsets.append(at)


def _unescaped(text: str) -> str:
    if "\\\\" in text:
        return str(json.loads(f'"{text}"'))
    text = text.replace("\\n", "\n")
    return text.replace("\\t", "\t").replace('\\"', '"') if "\\" in text else text


def _unquoted(key: str) -> str:
    if len(key) > _LONGEST_KEY:
        raise _UncertainError
    return key[1:-1] if key[0] in _QUOTES else key
