"""The parser of Jet templates: from tokens to a tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reactor.language.errors import Fault
from reactor.language.templates.jet import nodes
from reactor.language.templates.jet.expressions import ExpressionParser
from reactor.language.templates.syntax import Token

_CLOSERS: Final = frozenset(("end", "else", "content", "catch"))


def parse(source: str, delimiters: tuple[str, str]) -> nodes.Tree:
    """Return the tree of ``source``. Raises Fault with an offset."""
    return _Parser(source, delimiters).parse()


class _Parser(ExpressionParser):
    def parse(self) -> nodes.Tree:
        self._header()
        while self._peek().kind != "end":
            if (node := self._node()) is None:
                closer = self._next()
                raise Fault(
                    f"unexpected {closer.text}", "there is nothing open that it could end", closer.offset
                )
            self._tree.root.append(node)
        return self._tree

    def _header(self) -> None:
        """Parse ``extends`` and ``import``. Only white space may be between them."""
        while True:
            token = self._next()
            if token.kind == "text" and not token.text.strip():
                continue
            if token.kind != "open" or not (self._at("extends") or self._at("import")):
                self._ahead.append(token)
                return
            self._load(self._next())

    def _load(self, keyword: Token) -> None:
        token = self._next()
        if token.kind not in ("string", "raw"):
            raise self._unexpected(token, "extends|import", "string literal")
        name = (str(self._literal(token)), token.offset)
        if keyword.text == "import":
            self._tree.imports.append(name)
        elif self._tree.extends is not None:
            message = "Unexpected extends clause: each template can only extend one template"
            raise Fault(message, "", keyword.offset)
        elif self._tree.imports:
            message = "Unexpected extends clause: the 'extends' clause should come before all import clauses"
            raise Fault(message, "", keyword.offset)
        else:
            self._tree.extends = name
        self._expect("close", "extends|import", "closing delimiter")

    def _node(self) -> nodes.Node | None:
        """Parse the next node. Return None at a keyword that ends a list, without reading it."""
        token = self._next()
        if token.kind == "text":
            return nodes.Text(token.offset, token.text)
        word = self._peek()
        if word.kind != "keyword" or word.text == "nil":
            return self._action()
        if word.text in _CLOSERS:
            return None
        make = self._keywords.get(word.text)
        if make is None:
            raise self._unexpected(word, "command", "term")
        self._next()
        return make(self, word)

    def _list(self, opener: Token, *closers: str) -> tuple[list[nodes.Node], str]:
        """Parse the nodes up to one of the keywords ``closers``, and read that too."""
        found: list[nodes.Node] = []
        with self._nested(opener.offset):
            while self._peek().kind != "end":
                node = self._node()
                if node is not None:
                    found.append(node)
                    continue
                closer = self._next()
                if closer.text not in closers:
                    raise Fault(
                        f"unexpected {closer.text}", f"it does not belong to {opener.text}", closer.offset
                    )
                return found, closer.text
        line = self._source.count("\n", 0, opener.offset) + 1
        raise Fault("unexpected EOF", f"the {opener.text} of line {line} has no end", self._peek().offset)

    def _close(self, context: str) -> None:
        self._expect("close", context, "closing delimiter")

    def _action(self) -> nodes.Node:
        offset = self._peek().offset
        first = self._assignment_or_expression("command")
        if not isinstance(first, nodes.Set):
            return nodes.Action(offset, None, self._pipeline(first))
        if self._take("close"):
            return nodes.Action(offset, first, [])
        self._expect(";", "command", "semicolon or right delimiter")
        return nodes.Action(offset, first, self._pipeline(self._expression("command")))

    def _if(self, word: Token) -> nodes.Node:
        condition = self._assignment_or_expression("if")
        assignment = None
        if isinstance(condition, nodes.Set):
            assignment = condition
            self._expect(";", "if", "semicolon between assignment and expression")
            condition = self._expression("if")
        self._close("if")
        body, otherwise = self._branches(word)
        return nodes.If(word.offset, assignment, condition, body, otherwise)

    def _branches(self, word: Token) -> tuple[list[nodes.Node], list[nodes.Node]]:
        body, closer = self._list(word, "else", "end")
        otherwise: list[nodes.Node] = []
        if closer == "else" and word.text == "if" and self._at("if"):
            follows = self._next()
            with self._nested(follows.offset):
                return body, [self._if(follows)]
        self._close(closer)
        if closer == "else":
            otherwise, _ = self._list(word, "end")
            self._close("end")
        return body, otherwise

    def _range(self, word: Token) -> nodes.Node:
        expression = self._assignment_or_expression("range")
        self._close("range")
        body, otherwise = self._branches(word)
        if isinstance(expression, nodes.Set):
            return nodes.Range(word.offset, expression, expression.values[0], body, otherwise)
        return nodes.Range(word.offset, None, expression, body, otherwise)

    def _try(self, word: Token) -> nodes.Node:
        self._close("try")
        body, closer = self._list(word, "catch", "end")
        name = None
        otherwise: list[nodes.Node] = []
        if closer == "catch":
            if self._peek().kind == "word":
                name = self._next().text
                self._tree.assigned.add(name)
            self._close("catch")
            otherwise, _ = self._list(word, "end")
        self._close("end")
        return nodes.Try(word.offset, body, name, otherwise)

    def _return(self, word: Token) -> nodes.Node:
        value = self._expression("return")
        self._close("return")
        return nodes.Return(word.offset, value)

    def _include(self, word: Token) -> nodes.Node:
        name = self._expression("include")
        if isinstance(name, nodes.Literal) and isinstance(name.value, str):
            self._tree.includes.append((name.value, word.offset))
        context = None if self._at("close") else self._expression("include")
        self._close("include invocation")
        return nodes.Include(word.offset, name, context)

    def _block(self, word: Token) -> nodes.Node:
        name = self._block_name("block clause", "name")
        parameters = self._parameters("block clause", declaring=True)
        context = None if self._at("close") else self._expression("block clause")
        self._close("block clause")
        body, closer = self._list(word, "content", "end")
        self._close(closer)
        content = None
        if closer == "content":
            content, _ = self._list(word, "end")
            self._close("end")
        block = nodes.Block(word.offset, name, parameters, context, body, content)
        self._tree.blocks[name] = block
        return block

    def _yield(self, word: Token) -> nodes.Node:
        if self._take("content"):
            context = None if self._at("close") else self._expression("yield clause")
            self._close("yield clause")
            return nodes.Content(word.offset, context)
        name = self._block_name("yield clause", "block name")
        arguments = self._parameters("yield clause", declaring=False)
        context = None if self._at("close") or self._at("content") else self._expression("yield")
        content = None
        if self._take("content"):
            self._close("yield clause")
            content, _ = self._list(word, "end")
            self._close("end")
        else:
            self._expect("close", "yield clause", "content keyword or closing delimiter")
        return nodes.Yield(word.offset, name, arguments, context, content)

    def _block_name(self, context: str, expected: str) -> str:
        token = self._next()
        if token.kind != "word" or token.text in ("_", "."):
            raise self._unexpected(token, context, expected)
        return token.text

    def _parameters(self, context: str, *, declaring: bool) -> list[nodes.Parameter]:
        self._expect("(", context, "opening parenthesis")
        found: list[nodes.Parameter] = []
        while not self._at(")"):
            value = self._expression(context)
            if isinstance(value, nodes.Identifier) and (self._take("=") or self._take(":=")):
                found.append(nodes.Parameter(value.name, self._expression(context)))
                self._note_names([value])
            elif isinstance(value, nodes.Identifier):
                found.append(nodes.Parameter(value.name, None))
                self._note_names([value] if declaring else ())
            elif declaring:
                raise Fault(f"parsing {context}: a parameter is a name", "", value.offset)
            else:
                found.append(nodes.Parameter("", value))
            if not self._take(","):
                break
        self._expect(")", context, "closing parenthesis")
        return found

    _keywords: Final[dict[str, Callable[[_Parser, Token], nodes.Node]]] = {
        "if": _if, "range": _range, "try": _try, "return": _return,
        "include": _include, "block": _block, "yield": _yield,
    }  # fmt: skip
