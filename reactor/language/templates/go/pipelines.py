"""The parser of the pipelines of a Go template."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reactor.language.errors import Fault
from reactor.language.templates.go import nodes
from reactor.language.templates.go.lexer import tokens
from reactor.language.templates.literals import quote
from reactor.language.templates.syntax import Token, TokenReader

_STARTS: Final = frozenset(("word", "dot", "variable", "field", "number", "char", "string", "raw", "left"))
_NOT_EXECUTABLE: Final = (nodes.Literal, nodes.Nil, nodes.Dot)


class PipelineParser(TokenReader):
    """Parses pipelines, with the variables that are declared so far."""

    nesting_hint = "split it with define"

    def __init__(self, source: str, delimiters: tuple[str, str]) -> None:
        super().__init__(source, tokens(source, delimiters))
        self._variables = ["$"]
        self._functions: dict[str, int] = {}

    # Tokens

    def _next_word(self) -> Token:
        """Return the next token that is not a space."""
        while (token := self._next()).kind == "space":
            pass
        return token

    def _peek_word(self) -> Token:
        while (token := self._peek()).kind == "space":
            self._next()
        return token

    def _expect(self, kind: str, context: str) -> Token:
        token = self._next_word()
        if token.kind != kind:
            raise self._unexpected(token, context)
        return token

    def _fault(self, message: str, token: Token, hint: str | None = None) -> Fault:
        return Fault(message, hint, token.offset)

    def _unexpected(self, token: Token, context: str) -> Fault:
        shown = (
            "EOF"
            if token.kind == "end"
            else f"<{token.text}>"
            if token.kind == "keyword"
            else quote(token.text)
        )
        return self._fault(f"unexpected {shown} in {context}", token)

    # Pipelines

    def _pipeline(self, context: str, closing: str = "close") -> nodes.Pipeline:
        start = self._peek_word()
        names, assigns = self._declarations(context)
        commands: list[nodes.Command] = []
        while (token := self._next_word()).kind != closing:
            if token.kind not in _STARTS and token.text != "nil":
                raise self._unexpected(token, context)
            self._ahead.append(token)
            commands.append(self._command())
        if not commands:
            raise self._fault(f"missing value for {context}", token)
        for stage, command in enumerate(commands[1:], 2):
            if isinstance(command.operands[0], _NOT_EXECUTABLE):
                raise Fault(f"non executable command in pipeline stage {stage}", "", command.offset)
        return nodes.Pipeline(start.offset, commands, names, assigns)

    def _declarations(self, context: str) -> tuple[tuple[str, ...], bool]:
        """Parse the variables in front of a ``:=`` or ``=``."""
        names: list[str] = []
        while (variable := self._peek_word()).kind == "variable":
            passed = [self._next()]
            while (token := self._next()).kind == "space":
                passed.append(token)
            if token.kind not in ("assign", "declare", "comma"):
                self._ahead += (token, *reversed(passed))
                break
            names.append(variable.text)
            self._variables.append(variable.text)
            if token.kind != "comma":
                return tuple(names), token.kind == "assign"
            if context != "range" or len(names) > 1:
                raise self._fault(f"too many declarations in {context}", token)
            if self._peek_word().kind != "variable":
                raise self._fault("range can only initialize variables", token)
        return (), False

    def _command(self) -> nodes.Command:
        operands: list[nodes.Node] = []
        start = self._peek_word()
        while True:
            self._peek_word()
            if (operand := self._operand()) is not None:
                operands.append(operand)
            token = self._next()
            if token.kind == "space":
                continue
            if token.kind in ("close", "right"):
                self._ahead.append(token)
            elif token.kind != "pipe":
                raise self._unexpected(token, "operand")
            if not operands:
                raise self._fault("empty command", start)
            return nodes.Command(start.offset, operands)

    def _operand(self) -> nodes.Node | None:
        node = self._term()
        names: list[str] = []
        while node is not None and self._peek().kind == "field":
            names.append(self._next().text[1:])
        if node is None or not names:
            return node
        if isinstance(node, nodes.Field | nodes.Variable):
            node.names += tuple(names)
            return node
        if isinstance(node, _NOT_EXECUTABLE):
            raise Fault(
                f"unexpected . after term {quote(self._source[node.offset :].split('.')[0])}", "", node.offset
            )
        return nodes.Chain(node.offset, node, tuple(names))

    def _term(self) -> nodes.Node | None:
        token = self._peek()
        make = self._terms.get("nil" if token.text == "nil" else token.kind)
        if make is None:
            return None
        self._next()
        return make(self, token)

    def _word(self, token: Token) -> nodes.Node:
        if token.text in ("true", "false"):
            return nodes.Literal(token.offset, token.text == "true", token.text)
        self._functions.setdefault(token.text, token.offset)
        return nodes.Name(token.offset, token.text)

    def _variable(self, token: Token) -> nodes.Node:
        if token.text not in self._variables:
            raise self._fault(
                f"undefined variable {quote(token.text)}", token, f"declare it: {token.text} := ..."
            )
        return nodes.Variable(token.offset, token.text, ())

    def _constant(self, token: Token) -> nodes.Node:
        return nodes.Literal(token.offset, self._literal(token), token.text)

    def _parenthesis(self, token: Token) -> nodes.Node:
        with self._nested(token.offset):
            return self._pipeline("parenthesized pipeline", "right")

    _terms: Final[dict[str, Callable[[PipelineParser, Token], nodes.Node]]] = {
        "word": _word,
        "variable": _variable,
        "dot": lambda _, token: nodes.Dot(token.offset),
        "nil": lambda _, token: nodes.Nil(token.offset),
        "field": lambda _, token: nodes.Field(token.offset, (token.text[1:],)),
        "number": _constant, "char": _constant, "string": _constant, "raw": _constant,
        "left": _parenthesis,
    }  # fmt: skip
