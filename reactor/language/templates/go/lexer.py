"""The lexer of Go templates: from a source to tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from reactor.language.errors import Fault
from reactor.language.templates.syntax import (
    Token,
    action_pattern,
    character_name,
    is_space,
    text_between,
    trims_after,
    trims_before,
    unreadable,
)

KEYWORDS: Final = frozenset(
    ("block", "break", "continue", "define", "else", "end", "if", "range", "nil", "template", "with")
)
_TERMINATORS: Final = frozenset(" \t\r\n.,|:)(")
_NAMED: Final = frozenset(("word", "field", "variable"))


_TOKENS: Final = r"""(?P<declare>:=)
        | (?P<assign>=)
        | (?P<pipe>\|)
        | (?P<left>\()
        | (?P<right>\))
        | (?P<comma>,)
        | (?P<variable>\$\w*)
        | (?P<number>(?:[+-]|(?=\.?[0-9]))(?:0[xX][0-9a-fA-F_]*(?:\.[0-9a-fA-F_]*)?(?:[pP][+-]?[0-9_]*)?
            |0[oO][0-7_]*|0[bB][01_]*|[0-9_]*(?:\.[0-9_]*)?(?:[eE][+-]?[0-9_]*)?)i?)
        | (?P<field>\.\w+)
        | (?P<dot>\.)
        | (?P<word>\w+)
        | (?P<other>[!\#%&*;<>?@\[\\\]^{}~/-])"""


@lru_cache(maxsize=64)
def _pattern(right: str) -> re.Pattern[str]:
    return action_pattern(right, _TOKENS)


def tokens(source: str, delimiters: tuple[str, str]) -> Iterator[Token]:
    """Yield the tokens of ``source``. The last token is ``end``. Raises Fault with an offset."""
    left, right = delimiters
    start = 0
    trim = False
    while (found := source.find(left, start)) >= 0:
        inside = found + len(left)
        trimming = trims_before(source, inside)
        yield from text_between(source, start, found, trim_start=trim, trim_end=trimming)
        inside += 2 * trimming
        if source.startswith("/*", inside):
            start, trim = _comment(source, inside, right)
            continue
        yield Token("open", left, found)
        for token in _action(source, inside, right):
            yield token
            start, trim = token.offset + len(token.text), trims_after(token.text, right)
    yield from text_between(source, start, len(source), trim_start=trim, trim_end=False)
    yield Token("end", "EOF", len(source))


def _comment(source: str, start: int, right: str) -> tuple[int, bool]:
    """Return where the comment at ``start`` ends, and whether it trims the text that follows."""
    end = source.find("*/", start + 2)
    if end < 0:
        raise Fault("unclosed comment", "end it with */", start)
    end += 2
    if source.startswith(right, end):
        return end + len(right), False
    if is_space(source[end : end + 1]) and source.startswith(f"-{right}", end + 1):
        return end + 2 + len(right), True
    raise Fault("comment ends before closing delimiter", f"a comment fills its action: */{right}", start)


def _action(source: str, start: int, right: str) -> Iterator[Token]:
    pattern = _pattern(right)
    depth = 0
    at = start
    while True:
        found = pattern.match(source, at)
        if found is None:
            raise (
                Fault("expected :=", "", at) if source.startswith(":", at) else unreadable(source, at, start)
            )
        kind, text = found.lastgroup or "", found[0]
        if kind == "close":
            if depth:
                raise Fault("unclosed left paren", "", at)
            yield Token(kind, text, at)
            return
        depth += (kind == "left") - (kind == "right")
        if depth < 0:
            raise Fault("unexpected right paren", "", at)
        at = found.end()
        if kind in _NAMED or kind == "number":
            _check_end(source, found, right)
        yield Token("keyword" if kind == "word" and text in KEYWORDS else kind, text, found.start())


def _check_end(source: str, found: re.Match[str], right: str) -> None:
    """Raise Fault unless the character after a name or number may follow it."""
    end = found.end()
    follows = source[end : end + 1]
    if found.lastgroup == "number":
        if follows.isalnum() or (follows and follows in "_."):
            raise Fault(f'bad number syntax: "{found[0]}{follows}"', "", found.start())
    elif follows and follows not in _TERMINATORS and not source.startswith(right, end):
        raise Fault(f"bad character {character_name(follows)}", "put a space between two words", end)
