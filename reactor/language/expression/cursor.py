"""A place in a list of tokens."""

from __future__ import annotations

from typing import NoReturn

from reactor.language.expression.errors import ExpressionSyntaxError
from reactor.language.expression.lexer import Token


class Cursor:
    """Goes through tokens one by one."""

    def __init__(self, found: list[Token]) -> None:
        self.tokens = found
        self.position = 0
        self.current = found[0]

    def advance(self) -> Token:
        """The token here; go to the next one, and stay at the end."""
        token = self.current
        if token.kind != "end":
            self.position += 1
            self.current = self.tokens[self.position]
        return token

    def at(self, sign: str) -> bool:
        """Whether the operator ``sign`` is here."""
        return self.current.kind == "operator" and self.current.value == sign

    def accept(self, sign: str) -> Token | None:
        """Go past ``sign`` if it is here."""
        return self.advance() if self.at(sign) else None

    def expect(self, sign: str) -> Token:
        """Go past ``sign``, which must be here."""
        return self.accept(sign) or self.unexpected(f"{sign!r} is expected here")

    def expect_name(self) -> Token:
        """Go past a name, which must be here."""
        return self.advance() if self.current.kind == "name" else self.unexpected("a name is expected here")

    def unexpected(self, hint: str | None = None) -> NoReturn:
        """Raise the error that the token here should not be here."""
        token = self.current
        if token.kind == "end":
            raise ExpressionSyntaxError(
                "unexpected end of the expression", max(token.start - 1, 0), token.end, hint
            )
        if token.value == "=":
            hint = "compare with =="
        raise ExpressionSyntaxError(f"unexpected token {token.value!r}", token.start, token.end, hint)
