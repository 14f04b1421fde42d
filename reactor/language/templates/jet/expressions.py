"""The parser of Jet's expressions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from reactor.language.errors import Fault
from reactor.language.templates.jet import nodes
from reactor.language.templates.jet.lexer import operator, tokens
from reactor.language.templates.syntax import Token, TokenReader

_PRECEDENCE: Final = {
    "||": 1, "&&": 1,
    "==": 2, "!=": 2,
    "<": 3, "<=": 3, ">": 3, ">=": 3,
    "+": 4, "-": 4,
    "*": 5, "/": 5, "%": 5,
}  # fmt: skip
_COMPARISON: Final = 2
_TARGETS: Final = (nodes.Identifier, nodes.Field, nodes.Slot)


class ExpressionParser(TokenReader):
    """Parses expressions. As in Jet, ``&&`` and ``||`` have the same precedence, and ``!a == b`` is ``!(a == b)``."""

    nesting_hint = "split it"

    def __init__(self, source: str, delimiters: tuple[str, str]) -> None:
        super().__init__(source, tokens(source, delimiters))
        self._tree = nodes.Tree(source)

    # Tokens

    def _at(self, text: str) -> bool:
        """Whether the next token is the operator or keyword ``text``, or ``close``."""
        token = self._peek()
        return token.kind == text or (
            token.kind in ("operator", "keyword") and (operator(token) or token.text) == text
        )

    def _take(self, text: str) -> bool:
        """Read the next token if it is ``text``, and return whether it was."""
        if self._at(text):
            self._next()
            return True
        return False

    def _expect(self, text: str, context: str, expected: str) -> Token:
        if not self._at(text):
            raise self._unexpected(self._peek(), context, expected)
        return self._next()

    def _unexpected(self, token: Token, context: str, expected: str) -> Fault:
        words = f"unexpected {'keyword' if token.kind == 'keyword' else 'token'} '{token.text}'"
        if token.text in ("extends", "import"):
            return Fault(
                f"parsing {context}: {words} ('{token.text}' statements must be at the beginning of the template)",
                "",
                token.offset,
            )
        return Fault(f"parsing {context}: {words} (expected {expected})", "", token.offset)

    # Expressions

    def _expression(self, context: str) -> nodes.Node:
        with self._nested(self._peek().offset):
            condition = self._binary(context, 0)
            if not self._take("?"):
                return condition
            yes = self._expression(context)
            self._expect(":", "ternary expression", "colon in ternary expression")
            return nodes.Ternary(condition.offset, condition, yes, self._expression(context))

    def _binary(self, context: str, weakest: int) -> nodes.Node:
        left = self._unary(context)
        while _PRECEDENCE.get(sign := operator(self._peek()), 0) > weakest:
            self._next()
            left = nodes.Binary(left.offset, sign, left, self._binary(context, _PRECEDENCE[sign]))
        return left

    def _unary(self, context: str) -> nodes.Node:
        token = self._peek()
        if self._take("!"):
            with self._nested(token.offset):
                return nodes.Not(token.offset, self._binary(context, _COMPARISON - 1))
        if self._take("-") or self._take("+"):
            return nodes.Sign(token.offset, token.text, self._operand("additive expression"))
        return self._operand(context)

    def _operand(self, context: str) -> nodes.Node:
        group = self._at("(")
        node = self._term(context)
        fixed = isinstance(node, nodes.Literal | nodes.Nil | nodes.Slot) and not group
        while True:
            token = self._peek()
            if token.kind == "field" and token.offset == self._end:
                if fixed:
                    raise Fault(
                        f"unexpected . after term '{self._source[node.offset : self._end]}'", "", token.offset
                    )
                self._next()
                node = nodes.Field(token.offset, node, token.text[1:])
            elif not fixed and self._take("("):
                node = self._call(node)
                self._expect(")", "call expression", "closing parenthesis")
            elif not fixed and self._take("["):
                node = self._index(node)
            else:
                return node

    def _call(self, base: nodes.Node) -> nodes.Call:
        """Parse the arguments of a call. The opening parenthesis was read before."""
        self._note_call(base)
        call = nodes.Call(base.offset, base, self._arguments())
        if isinstance(base, nodes.Identifier) and base.name == "isset":
            self._note_names(call.arguments)
        return call

    def _note_call(self, base: nodes.Node) -> None:
        if isinstance(base, nodes.Identifier):
            self._tree.called.setdefault(base.name, base.offset)

    def _note_names(self, targets: Iterable[nodes.Node]) -> None:
        self._tree.assigned.update(each.name for each in targets if isinstance(each, nodes.Identifier))

    def _term(self, context: str) -> nodes.Node:
        token = self._next()
        if token.kind == "word":
            return self._word(token)
        if token.kind == "field":
            return nodes.Field(token.offset, None, token.text[1:])
        if token.kind in ("string", "raw", "number", "char"):
            return nodes.Literal(token.offset, self._literal(token), token.text)
        if token.text == "nil":
            return nodes.Nil(token.offset)
        if operator(token) == "(":
            inner = self._expression("parenthesized expression")
            self._expect(")", "parenthesized expression", "closing parenthesis")
            return inner
        raise self._unexpected(token, context, "term")

    @staticmethod
    def _word(token: Token) -> nodes.Node:
        if token.text in ("true", "false"):
            return nodes.Literal(token.offset, token.text == "true", token.text)
        if token.text == "_":
            return nodes.Slot(token.offset)
        return nodes.Identifier(token.offset, token.text)

    def _literal(self, token: Token) -> str | float:
        """Return the value of a literal: a string, or a float, because all numbers in Jet are floats."""
        value = super()._literal(token)
        return value if isinstance(value, str) else float(value)

    def _index(self, base: nodes.Node) -> nodes.Node:
        """Parse an index or a slice. The opening bracket was read before."""
        start = None if self._at(":") else self._expression("index|slice expression")
        if start is not None and not self._at(":"):
            self._expect("]", "index expression", "closing bracket")
            return nodes.Index(base.offset, base, start)
        self._expect(":", "slice expression", "colon")
        end = None if self._at("]") else self._expression("slice expression")
        self._expect("]", "slice expression", "closing bracket")
        return nodes.Slice(base.offset, base, start, end)

    def _arguments(self) -> list[nodes.Node]:
        found: list[nodes.Node] = []
        while not self._at(")"):
            found.append(self._expression("call expression argument list"))
            if isinstance(found[-1], nodes.Slot) and sum(isinstance(node, nodes.Slot) for node in found) > 1:
                message = "found two pipe slot markers ('_') for the same function call"
                raise Fault(message, "", found[-1].offset)
            if not self._take(","):
                break
        return found

    # Assignments and pipelines

    def _assignment_or_expression(self, context: str) -> nodes.Node:
        first = self._expression(context)
        if not (self._at(",") or self._at("=") or self._at(":=")):
            return first
        targets = [first]
        while self._take(","):
            targets.append(self._expression(context))
        sign = self._next()
        if operator(sign) not in ("=", ":="):
            raise self._unexpected(sign, "assignment", "comma or assignment")
        for target in targets:
            allowed = _TARGETS if operator(sign) == "=" else (nodes.Identifier, nodes.Slot)
            if not isinstance(target, allowed):
                raise Fault("unexpected node in assign", "on the left stand names", target.offset)
        values = [self._expression("assignment")]
        while self._take(","):
            values.append(self._expression("assignment"))
        self._check_counts(context, targets, values)
        self._note_names(targets)
        return nodes.Set(first.offset, targets, values, operator(sign) == ":=")

    @staticmethod
    def _check_counts(context: str, targets: list[nodes.Node], values: list[nodes.Node]) -> None:
        if context == "range":
            fits = len(targets) <= 2 and len(values) == 1  # noqa: PLR2004  a key and a value
        else:
            lookup = len(targets) == 2 and len(values) == 1 and isinstance(values[0], nodes.Index)  # noqa: PLR2004
            fits = lookup or len(targets) == len(values)
        if not fits:
            raise Fault("unexpected number of operands in assign", "", targets[0].offset)

    def _pipeline(self, first: nodes.Node) -> list[nodes.Command]:
        """Parse the commands up to the end of the action, and read that too."""
        commands = [self._command(first)]
        while not self._take("close"):
            self._expect("|", "pipeline", "pipe or right delimiter")
            if self._peek().kind not in ("word", "field"):
                raise self._unexpected(self._peek(), "pipeline", "field or identifier")
            commands.append(self._command(self._expression("command")))
            self._note_call(commands[-1].base)
        return commands

    def _command(self, base: nodes.Node) -> nodes.Command:
        if isinstance(base, nodes.Call):
            return nodes.Command(base.offset, base.base, base.arguments)
        if not self._take(":"):
            return nodes.Command(base.offset, base, None)
        self._note_call(base)
        return nodes.Command(base.offset, base, self._arguments())
