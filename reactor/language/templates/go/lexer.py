"""From the source of a Go template to tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from reactor.language.errors import Fault
from reactor.language.templates.syntax import SPACES, UNTERMINATED, Token, character_name, trims, trims_after

KEYWORDS: Final = frozenset(
    ("block", "break", "continue", "define", "else", "end", "if", "range", "nil", "template", "with")
)
_TERMINATORS: Final = frozenset(" \t\r\n.,|:)(")
_NAMED: Final = frozenset(("word", "field", "variable"))


@lru_cache(maxsize=64)
def _pattern(right: str) -> re.Pattern[str]:
    """What can stand inside an action that ends with ``right``."""
    close = re.escape(right)
    return re.compile(
        rf"""
        (?P<close>(?:[ \t\r\n]-)?{close})
        | (?P<space>[ \t\r\n]+?(?=[ \t\r\n]-{close}|[^ \t\r\n]|\Z))
        | (?P<string>"(?:[^"\\\n]|\\[^\n])*")
        | (?P<raw>`[^`]*`)
        | (?P<char>'(?:[^'\\\n]|\\[^\n])*')
        | (?P<declare>:=)
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
        | (?P<other>[!\#%&*;<>?@\[\\\]^{{}}~/-])
        """,
        re.VERBOSE,
    )


def tokens(source: str, delimiters: tuple[str, str]) -> Iterator[Token]:
    """The tokens of ``source``; the last one is ``end``. Raises Fault with an offset."""
    left, right = delimiters
    start = 0
    trim = False
    while True:
        found = source.find(left, start)
        text = source[start:] if found < 0 else source[start:found]
        offset = start
        if trim:
            offset += len(text) - len(text.lstrip(SPACES))
            text = text.lstrip(SPACES)
        inside = found + len(left)
        trimming = found >= 0 and trims(source, inside)
        if text := text.rstrip(SPACES) if trimming else text:
            yield Token("text", text, offset)
        if found < 0:
            yield Token("end", "EOF", len(source))
            return
        inside += 2 * trimming
        if source.startswith("/*", inside):
            start, trim = _comment(source, inside, right)
            continue
        yield Token("open", left, found)
        for token in _action(source, inside, right):
            yield token
            start, trim = token.offset + len(token.text), trims_after(token.text, right)


def _comment(source: str, start: int, right: str) -> tuple[int, bool]:
    """Where the comment at ``start`` ends, and whether it trims what follows."""
    end = source.find("*/", start + 2)
    if end < 0:
        raise Fault("unclosed comment", "end it with */", start)
    end += 2
    if source.startswith(right, end):
        return end + len(right), False
    if source[end : end + 1] in tuple(SPACES) and source.startswith(f"-{right}", end + 1):
        return end + 2 + len(right), True
    raise Fault("comment ends before closing delimiter", f"a comment fills its action: */{right}", start)


def _action(source: str, start: int, right: str) -> Iterator[Token]:
    pattern = _pattern(right)
    depth = 0
    at = start
    while True:
        found = pattern.match(source, at)
        if found is None:
            raise Fault(_complaint(source, at), "", at if at < len(source) else start)
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
    """Raise unless a name or number ends where it may end."""
    end = found.end()
    follows = source[end : end + 1]
    if found.lastgroup == "number":
        if follows.isalnum() or (follows and follows in "_."):
            raise Fault(f'bad number syntax: "{found[0]}{follows}"', "", found.start())
    elif follows and follows not in _TERMINATORS and not source.startswith(right, end):
        raise Fault(f"bad character {character_name(follows)}", "put a space between two words", end)


def _complaint(source: str, at: int) -> str:
    """What is wrong with what stands at ``at``."""
    if at >= len(source):
        return "unclosed action"
    character = source[at]
    if character == ":":
        return "expected :="
    if character in UNTERMINATED:
        return UNTERMINATED[character]
    return f"unrecognized character in action: {character_name(character)}"
