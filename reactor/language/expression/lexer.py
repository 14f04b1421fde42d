"""The lexer: finds the tokens of an expression with one regular expression. Also the parser's cursor over tokens."""

from __future__ import annotations

import re
import sys
from typing import Any, NamedTuple, NoReturn

from reactor.language.errors import ExpressionSyntaxError
from reactor.language.expression.limits import MAX_TOKENS

_TOKEN = re.compile(
    r"""
      (?P<space>\s+|//[^\n]*+|/\*(?s:.*?)\*/)
    | (?P<number>0[xX][0-9a-fA-F_]++|0[oO][0-7_]++|0[bB][01_]++
        |[0-9][0-9_]*+(?:\.(?!\.)[0-9_]*+)?(?:[eE][+-]?[0-9_]++)?+
        |\.[0-9][0-9_]*+(?:[eE][+-]?[0-9_]++)?+)(?!\w)
    | (?P<name>(?:[^\W\d]|\$)[\w$]*+)
    | (?P<string>"(?:[^"\\]|\\(?s:.))*+"|'(?:[^'\\]|\\(?s:.))*+')
    | (?P<raw>`(?:[^`]|``)*+`)
    | (?P<pointer>\#\w*+)
    | (?P<sign>\?\.|\?\?|\*\*|\.\.|==|!=|<=|>=|&&|\|\||::|[-+*/%^<>!?:.,;|()\[\]{}=])
    """,
    re.VERBOSE,
)
_NUMBER_LIKE = re.compile(r"[0-9][\w.]*")
_WORDS = frozenset(
    ("not", "in", "or", "and", "matches", "contains", "startsWith", "endsWith", "let", "if", "else")
)
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|u\{([0-9a-fA-F]{1,8})\}|([0-7]{3})|(.))",
    re.DOTALL,
)
_PLAIN = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", "'": "'", '"': '"', "`": "`",
}  # fmt: skip
_OPENING = {
    '"': "a string in double quotes",
    "'": "a string in single quotes",
    "`": "a raw string",
    "/": "a comment",
}


class Token(NamedTuple):
    """``kind`` is number, string, name, pointer, operator or end; ``value`` is the decoded value."""

    kind: str
    value: Any
    start: int
    end: int


def tokens(text: str) -> list[Token]:
    """Return the tokens of ``text``. The last token has the kind ``end``."""
    found: list[Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _unreadable(text, position)
        group = match.lastgroup
        start, position = match.span()
        if group != "space":
            found.append(_token(str(group), match.group(), start, position))
            if len(found) > MAX_TOKENS:
                raise ExpressionSyntaxError(
                    f"the expression has more than {MAX_TOKENS} tokens", 0, position, code="R0305"
                )
    found.append(Token("end", "", len(text), len(text)))
    return found


def _token(group: str, text: str, start: int, end: int) -> Token:
    if group == "name":
        return Token("operator" if text in _WORDS else "name", text, start, end)
    if group == "sign":
        return Token("operator", text, start, end)
    if group == "pointer":
        return Token("pointer", text[1:], start, end)
    if group == "number":
        return Token("number", _number(text, start, end), start, end)
    value = text[1:-1].replace("``", "`") if group == "raw" else _unescaped(text[1:-1], start + 1)
    return Token("string", value, start, end)


def _number(text: str, start: int, end: int) -> int | float:
    digits = text.replace("_", "")
    try:
        value = float(digits) if set(".eE") & set(digits) and digits[:2].lower() != "0x" else _integer(digits)
    except ValueError:
        raise _bad_number(text, start, end) from None
    if value > (1 << 63) - 1 if isinstance(value, int) else value == float("inf"):
        raise ExpressionSyntaxError(f"the number {text[:40]} is too large", start, end)
    return value


def _integer(digits: str) -> int:
    return int(digits, 0) if digits[:1] == "0" and digits[1:2].isalpha() else int(digits, 10)


def _unescaped(text: str, start: int) -> str:
    if "\\" not in text:
        return text

    def character(match: re.Match[str]) -> str:
        code = match[1] or match[2] or match[3] or match[4]
        number = int(code, 16) if code else int(match[5], 8) if match[5] else None
        if number is None and match[6] in _PLAIN:
            return _PLAIN[match[6]]
        if number is None or number > sys.maxunicode or 0xD800 <= number < 0xE000:  # noqa: PLR2004 - the surrogates
            at = start + match.start()
            hint = "a backslash is written twice: \\\\"
            raise ExpressionSyntaxError(f"unknown escape {match.group()}", at, at + len(match.group()), hint)
        return chr(number)

    return _ESCAPE.sub(character, text)


def _bad_number(text: str, start: int, end: int) -> ExpressionSyntaxError:
    hint = "a name begins with a letter, and a number is written 80, 2.5, 0x1F or 1_000"
    return ExpressionSyntaxError(f"bad number syntax: {text!r}", start, end, hint)


def _unreadable(text: str, position: int) -> ExpressionSyntaxError:
    sign = text[position]
    if sign in _OPENING and (sign != "/" or text.startswith("/*", position)):
        return ExpressionSyntaxError(f"{_OPENING[sign]} is not terminated", position, len(text), "close it")
    number = _NUMBER_LIKE.match(text, position)
    if number is not None:
        return _bad_number(number.group(), *number.span())
    from reactor.language.foreign_names import token_meant  # noqa: PLC0415 - only for an error

    words = f"unrecognized character: {sign!r}"
    return ExpressionSyntaxError(words, position, position + 1, token_meant(sign))


class Cursor:
    """The current position in a list of tokens."""

    def __init__(self, found: list[Token]) -> None:
        self.tokens = found
        self.position = 0
        self.current = found[0]

    def advance(self) -> Token:
        """Return the current token, and go to the next one, unless it is the last."""
        token = self.current
        if token.kind != "end":
            self.position += 1
            self.current = self.tokens[self.position]
        return token

    def at(self, sign: str) -> bool:
        """Whether the current token is the operator ``sign``."""
        return self.current.kind == "operator" and self.current.value == sign

    def accept(self, sign: str) -> Token | None:
        """If the current token is the operator ``sign``, return it and go to the next token; else return None."""
        return self.advance() if self.at(sign) else None

    def expect(self, sign: str) -> Token:
        """Return the operator ``sign``, and go to the next token.

        Raises ExpressionSyntaxError if it is another token.
        """
        return self.accept(sign) or self.unexpected(f"{sign!r} is expected here")

    def expect_name(self) -> Token:
        """Return a name, and go to the next token. Raises ExpressionSyntaxError if it is no name."""
        return self.advance() if self.current.kind == "name" else self.unexpected("a name is expected here")

    def unexpected(self, hint: str | None = None) -> NoReturn:
        """Raise the error that the current token is unexpected."""
        token = self.current
        if token.kind == "end":
            raise ExpressionSyntaxError(
                "unexpected end of the expression", max(token.start - 1, 0), token.end, hint
            )
        from reactor.language.foreign_names import token_meant  # noqa: PLC0415 - only for an error

        hint = token_meant(str(token.value)) or hint
        raise ExpressionSyntaxError(f"unexpected token {token.value!r}", token.start, token.end, hint)
