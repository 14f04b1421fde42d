"""The lexer of Jet templates: from a source to tokens.

It drops the spaces inside actions. The offsets of tokens show which tokens are adjacent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from reactor.language.errors import Fault
from reactor.language.templates.syntax import (
    Token,
    action_pattern,
    text_between,
    trims_after,
    trims_before,
    unreadable,
)

KEYWORDS: Final = frozenset((
    "extends", "import", "include", "block", "end", "yield", "content", "if", "else", "range", "try", "catch", "return", "nil",
))  # fmt: skip
_WORD_OPERATORS: Final = {"and": "&&", "or": "||", "not": "!"}
_OPEN_COMMENT: Final = "{*"
_CLOSE_COMMENT: Final = "*}"


_TOKENS: Final = r"""(?P<number>(?:0[xX][0-9a-fA-F]*|(?=\.?[0-9])[0-9]*(?:\.[0-9]*)?(?:[eE][+-]?[0-9]*)?))
        | (?P<field>\.\w+)
        | (?P<word>\.|\w+)
        | (?P<operator>:=|==|!=|<=|>=|&&|\|\||[-+*/%<>!=?:|,;()\[\]])"""


@lru_cache(maxsize=64)
def _pattern(right: str) -> re.Pattern[str]:
    return action_pattern(right, _TOKENS)


@lru_cache(maxsize=64)
def _opening(left: str) -> re.Pattern[str]:
    return re.compile(f"({re.escape(left)})|{re.escape(_OPEN_COMMENT)}")


def tokens(source: str, delimiters: tuple[str, str]) -> Iterator[Token]:
    """Yield the tokens of ``source``. The last token is ``end``. Raises Fault with an offset."""
    left, right = delimiters
    start = 0
    trim = False
    while (found := _opening(left).search(source, start)) is not None:
        inside = found.end()
        trimming = found[1] is not None and trims_before(source, inside)
        yield from text_between(source, start, found.start(), trim_start=trim, trim_end=trimming)
        if found[1] is None:
            start, trim = _comment(source, inside), False
            continue
        yield Token("open", left, found.start())
        for token in _action(source, inside + 2 * trimming, right):
            yield token
            start, trim = token.offset + len(token.text), trims_after(token.text, right)
    yield from text_between(source, start, len(source), trim_start=trim, trim_end=False)
    yield Token("end", "the end of the template", len(source))


def _comment(source: str, start: int) -> int:
    """Return where the comment ends whose content begins at ``start``."""
    end = source.find(_CLOSE_COMMENT, start)
    if end < 0:
        raise Fault("unclosed comment", f"end it with {_CLOSE_COMMENT}", start - len(_OPEN_COMMENT))
    return end + len(_CLOSE_COMMENT)


def _action(source: str, start: int, right: str) -> Iterator[Token]:
    pattern = _pattern(right)
    open_brackets: list[str] = []
    at = start
    while True:
        if source.startswith("]", at) and open_brackets[-1:] == ["["]:  # not the first half of ``]]``
            token = Token("operator", "]", at)
        else:
            token = _token(source, at, start, pattern)
        at = token.offset + len(token.text)
        if token.kind == "close" and open_brackets:
            raise Fault(
                f"unclosed left {'parenthesis' if '(' in open_brackets else 'bracket'}", "", token.offset
            )
        _match_brackets(token, open_brackets)
        if token.kind != "space":
            yield token
        if token.kind == "close":
            return


def _match_brackets(token: Token, open_brackets: list[str]) -> None:
    if token.kind != "operator":
        return
    if token.text in "([":
        open_brackets.append(token.text)
    elif token.text in ")]":
        if open_brackets[-1:] != ["(" if token.text == ")" else "["]:
            raise Fault(f"unexpected right {'paren' if token.text == ')' else 'bracket'}", "", token.offset)
        open_brackets.pop()


def _token(source: str, at: int, start: int, pattern: re.Pattern[str]) -> Token:
    found = pattern.match(source, at)
    if found is None:
        raise unreadable(source, at, start)
    kind, text = found.lastgroup or "", found[0]
    if kind == "number" and (
        source[found.end() : found.end() + 1].isalnum() or source.startswith("_", found.end())
    ):
        raise Fault(f'bad number syntax: "{text}{source[found.end()]}"', "", at)
    if kind == "word" and text in KEYWORDS:
        kind = "keyword"
    elif kind == "word" and text in _WORD_OPERATORS:
        kind = "operator"
    return Token(kind, text, at)


def operator(token: Token) -> str:
    """Return the operator of a token; an empty string for other tokens."""
    return _WORD_OPERATORS.get(token.text, token.text) if token.kind == "operator" else ""
