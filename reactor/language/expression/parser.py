"""The parser: from tokens to a tree. It is a Pratt parser with the precedences of Expr.

``|`` 0, ``or ||`` 10, ``and &&`` 15, comparisons and the words ``in matches contains startsWith endsWith`` 20, ``..``
25, ``+ -`` 30, unary ``not !`` 50, ``* / %`` 60, unary ``- +`` 90, ``** ^`` 100 (right-associative), ``??`` 500.
"""

from __future__ import annotations

from typing import NamedTuple

from reactor.language.errors import ExpressionSyntaxError
from reactor.language.expression.builtins import BUILTINS, PREDICATES
from reactor.language.expression.lexer import Token, tokens
from reactor.language.expression.limits import MAX_NESTING
from reactor.language.expression.nodes import Binary, Call, Conditional, Let, Node, Root, Series, Unary
from reactor.language.expression.operands import Operands

_BINARY = {
    "|": 0, "or": 10, "||": 10, "and": 15, "&&": 15, "==": 20, "!=": 20, "<": 20, ">": 20, ">=": 20, "<=": 20,
    "in": 20, "matches": 20, "contains": 20, "startsWith": 20, "endsWith": 20, "..": 25, "+": 30, "-": 30, "*": 60,
    "/": 60, "%": 60, "**": 100, "^": 100, "??": 500,
}  # fmt: skip
_RIGHT = frozenset(("**", "^"))
_NEGATABLE = frozenset(("in", "matches", "contains", "startsWith", "endsWith"))
_ORDER = frozenset(("<", ">", "<=", ">="))
_SAME = {"&&": "and", "||": "or", "^": "**"}


class Parsed(NamedTuple):
    """A tree, and those of its nodes that need the scope: roots, and calls of functions that are no builtins."""

    tree: Node
    outer: tuple[Root | Call, ...]


def parse(text: str) -> Parsed:
    """Return the tree of ``text``. Raises ExpressionError with the position of the first error."""
    parser = _Parser(tokens(text))
    if parser.current.kind == "end":
        raise ExpressionSyntaxError(
            "the expression is empty", 0, len(text), "write one, or leave the delimiters out"
        )
    tree = parser.series()
    if parser.current.kind != "end":
        parser.unexpected()
    return Parsed(tree, tuple(parser.outer))


class _Parser(Operands):
    """Parses expressions of operands and operators, conditions and variables."""

    def series(self) -> Node:
        """Parse ``a; b; c``. A semicolon at the end is allowed."""
        items = [self.expression()]
        while self.accept(";") and self.current.kind != "end":
            items.append(self.expression())
        return items[0] if len(items) == 1 else Series(items[0].start, items[-1].end, tuple(items))

    def expression(self, precedence: int = 0) -> Node:
        """Parse an expression whose operators bind at least as strongly as ``precedence``."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise ExpressionSyntaxError(
                "the expression is nested too deeply", self.current.start, self.current.end, code="R0305"
            )
        if precedence == 0 and self.at("let"):
            node = self.let()
        elif precedence == 0 and self.at("if"):
            node = self.condition()
        else:
            node = self.operations(self.primary(), precedence)
            if precedence == 0:
                node = self.ternary(node)
        self.depth -= 1
        return node

    def operations(self, left: Node, precedence: int) -> Node:
        """Parse the binary operators after ``left`` that bind at least as strongly as ``precedence``."""
        previous = ""
        while self.current.kind == "operator":
            negated = self.at("not")
            token = self.tokens[self.position + 1] if negated else self.current
            binding = _BINARY.get(token.value, -1)
            if negated and token.value not in _NEGATABLE:
                self.unexpected()
            if binding < precedence:
                break
            if previous == "??" and token.value not in ("??", "|"):
                hint = "put one of them into parentheses"
                message = f"operator ({token.value}) and coalesce expressions (??) cannot be mixed"
                raise ExpressionSyntaxError(message, token.start, token.end, hint)
            if negated:
                self.advance()
            self.advance()
            left = self.operation(left, token, binding)
            if negated:
                left = Unary(left.start, left.end, "not", left)
            previous = token.value
        return left

    def operation(self, left: Node, token: Token, binding: int) -> Node:
        """Parse the right operand of the operator ``token`` after ``left``."""
        if token.value == "|":
            return self.pipe(left)
        if token.value in _ORDER:
            return self.comparison(left, token, binding)
        right = self.expression(binding if token.value in _RIGHT else binding + 1)
        return Binary(left.start, right.end, _SAME.get(token.value, token.value), left, right)

    def comparison(self, left: Node, token: Token, binding: int) -> Node:
        """Parse a comparison. ``a < b <= c`` means ``a < b and b <= c``."""
        right = self.expression(binding + 1)
        node: Node = Binary(left.start, right.end, token.value, left, right)
        while self.current.kind == "operator" and self.current.value in _ORDER:
            sign = self.advance().value
            left, right = right, self.expression(binding + 1)
            node = Binary(
                node.start, right.end, "and", node, Binary(left.start, right.end, sign, left, right)
            )
        return node

    def pipe(self, left: Node) -> Node:
        """Parse ``left | call()``."""
        name = self.expect_name()
        if not self.at("("):
            from reactor.language.foreign_names import piped_meant  # noqa: PLC0415 - only for an error

            self.unexpected(piped_meant(str(name.value)))
        call = self.call(name, left)
        return self.postfix(call)

    def ternary(self, test: Node) -> Node:
        """Parse ``test ? yes : no``, or ``test ?: no``."""
        while self.accept("?"):
            if self.accept(":"):
                no = self.expression()
                test = Conditional(test.start, no.end, test, test, no)
                continue
            yes = self.expression()
            self.expect(":")
            no = self.expression()
            test = Conditional(test.start, no.end, test, yes, no)
        return test

    def condition(self) -> Node:
        """Parse ``if test {yes} else {no}``. There may be ``else if``."""
        start = self.expect("if").start
        test = self.expression()
        self.expect("{")
        yes = self.series()
        self.expect("}")
        self.expect("else")
        if self.at("if"):
            no = self.expression()
            return Conditional(start, no.end, test, yes, no)
        self.expect("{")
        no = self.series()
        return Conditional(start, self.expect("}").end, test, yes, no)

    def let(self) -> Node:
        """Parse ``let name = value; body``."""
        start = self.expect("let").start
        name = self.expect_name()
        if name.value in self.variables or name.value in BUILTINS or name.value in PREDICATES:
            what = "variable" if name.value in self.variables else "builtin"
            raise ExpressionSyntaxError(
                f"cannot redeclare {what} {name.value}", name.start, name.end, "choose another name"
            )
        self.expect("=")
        value = self.expression()
        self.expect(";")
        self.variables.append(name.value)
        body = self.series()
        self.variables.pop()
        return Let(start, body.end, name.value, value, body)
