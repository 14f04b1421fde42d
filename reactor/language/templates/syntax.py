"""Code that the lexers and parsers of Go's templates and Jet share: tokens, text between actions, literals, nesting.

Expressions have a lexer of their own, which makes a list of all tokens at once. Here the parser requests one token at
a time. So the first error in the source is reported, no matter whether the lexer or the parser finds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple

from reactor.language.errors import Fault
from reactor.language.templates.literals import number, unquote

STRINGS: Final = frozenset(("string", "raw"))
"""The kinds of tokens that are string literals."""
_SPACES: Final = " \t\r\n"
_MAX_NESTING: Final = 100
_UNTERMINATED: Final[Mapping[str, str]] = {
    '"': "unterminated quoted string",
    "`": "unterminated raw quoted string",
    "'": "unterminated character constant",
}


class Token(NamedTuple):
    """One token: its kind, its text, and its offset."""

    kind: str
    text: str
    offset: int


@dataclass(slots=True)
class Node:
    """One part of a template. It has its offset in the source, for errors."""

    offset: int


@dataclass(slots=True)
class Text(Node):
    """The text outside of actions."""

    text: str


@dataclass(slots=True)
class Literal(Node):
    """A string, a number, ``true`` or ``false``. ``source`` is its source text."""

    value: Any
    source: str


class TokenReader:
    """Reads the tokens of one source. Any number of tokens can be pushed back. The base class of both parsers."""

    nesting_hint: ClassVar[str]

    def __init__(self, source: str, tokens: Iterator[Token]) -> None:
        self._source = source
        self._tokens = tokens
        self._ahead: list[Token] = []
        self._end = 0
        """The offset after the last token that was read."""
        self._nesting = 0

    def _next(self) -> Token:
        token = self._ahead.pop() if self._ahead else next(self._tokens)
        self._end = token.offset + len(token.text)
        return token

    def _peek(self) -> Token:
        if not self._ahead:
            self._ahead.append(next(self._tokens))
        return self._ahead[-1]

    def _literal(self, token: Token) -> str | float:
        """Return the value of a literal. Raises Fault with the offset of ``token``."""
        try:
            return unquote(token.text) if token.kind in STRINGS else number(token.text)
        except Fault as fault:
            raise Fault(fault.message, fault.hint, token.offset) from fault

    @contextmanager
    def _nested(self, offset: int) -> Iterator[None]:
        """Count one level of nesting in the block. Raises Fault if there are too many: Python's stack is finite."""
        self._nesting += 1
        if self._nesting > _MAX_NESTING:
            raise Fault(f"nested deeper than {_MAX_NESTING} levels", self.nesting_hint, offset)
        yield
        self._nesting -= 1


def action_pattern(right: str, tokens: str) -> re.Pattern[str]:
    """Return the pattern of a token inside an action that ends with ``right``.

    ``tokens`` is a verbose pattern for the tokens of only one of the languages.
    """
    close = re.escape(right)
    return re.compile(
        rf"""
        (?P<close>(?:[ \t\r\n]-)?{close})
        | (?P<space>[ \t\r\n]+?(?=[ \t\r\n]-{close}|[^ \t\r\n]|\Z))
        | (?P<string>"(?:[^"\\\n]|\\[^\n])*")
        | (?P<raw>`[^`]*`)
        | (?P<char>'(?:[^'\\\n]|\\[^\n])*')
        | {tokens}
        """,
        re.VERBOSE,
    )


def text_between(source: str, start: int, end: int, *, trim_start: bool, trim_end: bool) -> Iterator[Token]:
    """Yield the text between two actions, unless it is empty. Trims it as the actions demand."""
    text = source[start:end]
    if trim_start:
        text = text.lstrip(_SPACES)
    offset = end - len(text)
    if trim_end:
        text = text.rstrip(_SPACES)
    if text:
        yield Token("text", text, offset)


def trims_before(source: str, inside: int) -> bool:
    """Whether the action trims the text before it, with ``- ``. Its content begins at ``inside``."""
    return source.startswith("-", inside) and is_space(source[inside + 1 : inside + 2])


def trims_after(closing: str, right: str) -> bool:
    """Whether the action trims the text after it, with `` -``. It ends with the token ``closing``."""
    return closing != right and closing.endswith(right)


def is_space(character: str) -> bool:
    """Whether ``character`` is a space in these languages. It is empty at the end of the source."""
    return character in tuple(_SPACES)


def unreadable(source: str, at: int, start: int) -> Fault:
    """Return the error that no token begins at ``at``. The content of the action begins at ``start``."""
    if at >= len(source):
        return Fault("unclosed action", "", start)
    character = source[at]
    message = _UNTERMINATED.get(character, f"unrecognized character in action: {character_name(character)}")
    return Fault(message, "", at)


def character_name(character: str) -> str:
    """Return a description of a character with its number, for errors."""
    name = f"U+{ord(character):04X}"
    return f"{name} '{character}'" if character.isprintable() else name
