"""The parser of operands: literals, names, calls, and the members that follow them."""

from __future__ import annotations

from abc import ABC, abstractmethod

from reactor.language.errors import ExpressionSyntaxError
from reactor.language.expression.builtins import BUILTINS, PREDICATES, arguments_problem
from reactor.language.expression.lexer import Cursor, Token
from reactor.language.expression.nodes import (
    Call,
    Chain,
    Constant,
    Items,
    Member,
    Method,
    Node,
    Pairs,
    Pointer,
    Predicate,
    Root,
    Slice,
    Unary,
    Variable,
)

_UNARY = {"not": 50, "!": 50, "-": 90, "+": 90}
_LITERALS = {"true": True, "false": False, "nil": None}


class Operands(Cursor, ABC):
    """Parses operands. A subclass parses the whole expressions inside brackets."""

    def __init__(self, found: list[Token]) -> None:
        super().__init__(found)
        self.depth = 0
        self.predicates = 0
        self.variables: list[str] = []
        self.outer: list[Root | Call] = []

    @abstractmethod
    def expression(self, precedence: int = 0) -> Node:
        """Parse an expression whose operators bind at least as strongly as ``precedence``."""

    @abstractmethod
    def series(self) -> Node:
        """Parse ``a; b; c``. A semicolon at the end is allowed."""

    def primary(self) -> Node:
        """Parse an operand, and the members, indexes and calls that follow it."""
        token = self.current
        if token.kind == "operator" and token.value in _UNARY:
            self.advance()
            value = self.expression(_UNARY[token.value])
            return Unary(token.start, value.end, "not" if token.value == "!" else token.value, value)
        if self.accept("("):
            node = self.series()
            self.expect(")")
            return self.postfix(node)
        if token.kind == "pointer" or self.at("."):
            return self.postfix(self.pointer())
        if self.accept("::"):
            return self.postfix(self.call(self.expect_name(), None))
        if token.kind == "number":
            self.advance()
            return Constant(token.start, token.end, token.value)
        return self.operand(token)

    def operand(self, token: Token) -> Node:
        """Parse a string, a name, a list or a map."""
        if token.kind == "string":
            self.advance()
            return self.postfix(Constant(token.start, token.end, token.value))
        if token.kind == "name":
            return self.name()
        if self.at("["):
            return self.postfix(self.items())
        if self.at("{"):
            return self.postfix(self.pairs())
        return self.unexpected()

    def pointer(self) -> Node:
        """Parse ``#``, ``#acc``, ``#index``, or ``.field``, which means ``#.field``: `postfix` parses its dot."""
        token = self.current
        if not self.predicates:
            hint = "# is an element, inside filter(list, # > 1) and its like"
            raise ExpressionSyntaxError(
                "cannot use pointer accessor outside predicate", token.start, token.end, hint
            )
        if token.kind == "operator":
            return Pointer(token.start, token.start, "")
        self.advance()
        if token.value not in ("", "acc", "index"):
            hint = "the pointers are #, #index and #acc"
            raise ExpressionSyntaxError(f"unknown pointer #{token.value}", token.start, token.end, hint)
        return Pointer(token.start, token.end, token.value)

    def name(self) -> Node:
        """Parse a literal word, a call, a variable or a root."""
        token = self.advance()
        if token.value in _LITERALS:
            return Constant(token.start, token.end, _LITERALS[token.value])
        if self.at("("):
            return self.postfix(self.call(token, None))
        if token.value in self.variables:
            return self.postfix(Variable(token.start, token.end, token.value))
        root = Root(token.start, token.end, token.value)
        self.outer.append(root)
        return self.postfix(root)

    def items(self) -> Node:
        """Parse ``[a, b]``."""
        start = self.expect("[").start
        found: list[Node] = []
        while not self.at("]"):
            found.append(self.expression())
            if not self.accept(","):
                break
        return Items(start, self.expect("]").end, tuple(found))

    def pairs(self) -> Node:
        """Parse ``{a: 1}``."""
        start = self.expect("{").start
        found: list[tuple[Node, Node]] = []
        while not self.at("}"):
            key = self.key()
            self.expect(":")
            found.append((key, self.expression()))
            if not self.accept(","):
                break
        return Pairs(start, self.expect("}").end, tuple(found))

    def key(self) -> Node:
        """Parse the key before a colon."""
        token = self.current
        if token.kind in ("name", "string", "number"):
            self.advance()
            return Constant(token.start, token.end, str(token.value))
        if self.accept("("):
            node = self.expression()
            self.expect(")")
            return node
        return self.unexpected("a key is a name, a string, a number, or an expression in parentheses")

    def postfix(self, node: Node) -> Node:
        """Parse the members, indexes and slices that follow ``node``."""
        while self.current.kind == "operator" and self.current.value in (".", "?.", "["):
            chained = isinstance(node, Chain)
            if isinstance(node, Chain):
                node = node.value
            optional = self.advance().value
            if optional == "[" or (optional == "?." and self.accept("[")):
                node = self.subscript(node, optional == "?.")
            else:
                node = self.member(node, optional == "?.")
            if chained or optional == "?.":
                node = Chain(node.start, node.end, node)
        return node

    def member(self, value: Node, optional: bool) -> Node:
        """Parse ``.key`` or ``.method()``."""
        token = self.current
        if token.kind != "name" and not (token.kind == "operator" and token.value.isalpha()):
            self.unexpected(
                "a key with other signs than letters, digits and _ is written in brackets: data['my-key']"
            )
        self.advance()
        if self.at("("):
            arguments, end = self.arguments(None)
            return Method(value.start, end, value, token.value, arguments)
        key = Constant(token.start, token.end, token.value)
        return Member(value.start, token.end, value, key, optional)

    def subscript(self, value: Node, optional: bool) -> Node:
        """Parse ``[index]`` or ``[low:high]``."""
        low = None if self.at(":") else self.expression()
        if not self.accept(":"):
            key = low or self.unexpected("an index or a slice: list[0], list[1:2]")
            return Member(value.start, self.expect("]").end, value, key, optional)
        high = None if self.at("]") else self.expression()
        return Slice(value.start, self.expect("]").end, value, low, high)

    def call(self, name: Token, piped: Node | None) -> Node:
        """Parse ``name(...)``. If there is a ``piped`` node, it is the first argument."""
        start = name.start if piped is None else piped.start
        if name.value in PREDICATES:
            return self.predicate(name, piped, start)
        arguments, end = self.arguments(piped)
        problem = arguments_problem(name.value, len(arguments))
        if problem is not None:
            raise ExpressionSyntaxError(problem, name.start, end)
        call = Call(start, end, name.value, arguments)
        if name.value not in BUILTINS:
            self.outer.append(call)
        return call

    def arguments(self, piped: Node | None) -> tuple[tuple[Node, ...], int]:
        """Parse the arguments of a call; return them and the offset where they end."""
        found = [] if piped is None else [piped]
        self.expect("(")
        while not self.at(")"):
            found.append(self.expression())
            if not self.accept(","):
                break
        return tuple(found), self.expect(")").end

    def predicate(self, name: Token, piped: Node | None, start: int) -> Node:
        """Parse a call whose second argument is evaluated for each element of the first."""
        self.expect("(")
        items = piped or self.expression()
        body = extra = None
        if (piped is not None or self.accept(",")) and not self.at(")"):
            body = self.body()
            if self.accept(",") and not self.at(")"):
                extra = self.expression()
                self.accept(",")
        end = self.expect(")").end
        problem = arguments_problem(name.value, 1 + (body is not None) + (extra is not None))
        if problem is not None:
            raise ExpressionSyntaxError(problem, name.start, end)
        return Predicate(start, end, name.value, items, body, extra)

    def body(self) -> Node:
        """Parse a predicate, with or without braces."""
        self.predicates += 1
        braces = self.accept("{")
        node = self.series() if braces else self.expression()
        if braces:
            self.expect("}")
        self.predicates -= 1
        return node
