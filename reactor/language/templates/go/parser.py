"""The parser of Go templates: from tokens to a tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reactor.language.templates.go import nodes
from reactor.language.templates.go.pipelines import PipelineParser
from reactor.language.templates.literals import quote
from reactor.language.templates.syntax import STRINGS, Token

_BRANCHES: Final = {"if": nodes.If, "with": nodes.With, "range": nodes.Range}


def parse(source: str, delimiters: tuple[str, str]) -> nodes.Tree:
    """Return the tree of ``source``. Raises Fault with an offset."""
    return _Parser(source, delimiters).parse()


class _Parser(PipelineParser):
    def __init__(self, source: str, delimiters: tuple[str, str]) -> None:
        super().__init__(source, delimiters)
        self._loops = 0
        self._defined: dict[str, list[nodes.Node]] = {}
        self._templates: dict[str, int] = {}

    def parse(self) -> nodes.Tree:
        root: list[nodes.Node] = []
        while self._peek().kind != "end":
            if (node := self._node()) is not None:
                root.append(node)
                continue
            word = self._next()
            raise self._fault(
                f"unexpected {{{{{word.text}}}}}", word, "there is nothing open that it could end"
            )
        return nodes.Tree(self._source, root, self._defined, self._functions, self._templates)

    def _node(self) -> nodes.Node | None:
        """Parse the next node. Return None at an ``end`` or ``else``, without reading it."""
        token = self._next_word()
        if token.kind == "text":
            return nodes.Text(token.offset, token.text)
        word = self._peek_word()
        if word.kind != "keyword" or word.text == "nil":
            return nodes.Action(word.offset, self._pipeline("command"))
        if word.text in ("end", "else"):
            return None
        self._next()
        return self._keywords[word.text](self, word)

    def _list(self, opener: Token) -> tuple[list[nodes.Node], Token]:
        """Parse the nodes up to the ``end`` or ``else`` of ``opener``. Return them and that keyword."""
        found: list[nodes.Node] = []
        with self._nested(opener.offset):
            while self._peek_word().kind != "end":
                if (node := self._node()) is None:
                    return found, self._next()
                found.append(node)
        line = self._source.count("\n", 0, opener.offset) + 1
        raise self._fault("unexpected EOF", self._peek(), f"the {opener.text} of line {line} has no end")

    def _body(self, opener: Token, context: str) -> list[nodes.Node]:
        """Parse the nodes of a definition. It has no ``else``, and can't use variables from outside."""
        variables, self._variables = self._variables, ["$"]
        loops, self._loops = self._loops, 0
        found, closing = self._list(opener)
        if closing.text != "end":
            raise self._fault(f"unexpected {{{{else}}}} in {context}", closing)
        self._expect("close", "end")
        self._variables, self._loops = variables, loops
        return found

    def _branch(self, word: Token) -> nodes.Node:
        known = len(self._variables)
        pipeline = self._pipeline(word.text)
        self._loops += word.text == "range"
        body, closing = self._list(word)
        self._loops -= word.text == "range"
        otherwise = self._otherwise(word, closing)
        del self._variables[known:]
        return _BRANCHES[word.text](word.offset, pipeline, body, otherwise)

    def _otherwise(self, word: Token, closing: Token) -> list[nodes.Node]:
        if closing.text == "end":
            self._expect("close", "end")
            return []
        follows = self._peek_word()
        if follows.kind == "keyword" and follows.text == word.text and word.text != "range":
            self._next()
            with self._nested(follows.offset):
                return [self._branch(follows)]
        self._expect("close", "else")
        found, end = self._list(word)
        if end.text != "end":
            raise self._fault("expected end; found {{else}}", end)
        self._expect("close", "end")
        return found

    def _leave(self, word: Token) -> nodes.Node:
        self._expect("close", f"{{{{{word.text}}}}}")
        if not self._loops:
            raise self._fault(f"{{{{{word.text}}}}} outside {{{{range}}}}", word)
        return nodes.Break(word.offset) if word.text == "break" else nodes.Continue(word.offset)

    def _define(self, word: Token) -> nodes.Node:
        name = self._template_name("define clause")
        self._expect("close", "define clause")
        if self._nesting:
            raise self._unexpected(word, "command")
        self._add(name, word, self._body(word, "define clause"))
        return nodes.Text(word.offset, "")

    def _block(self, word: Token) -> nodes.Node:
        name = self._template_name("block clause")
        pipeline = self._pipeline("block clause")
        self._add(name, word, self._body(word, "block clause"))
        return nodes.Template(word.offset, name, pipeline)

    def _add(self, name: str, word: Token, body: list[nodes.Node]) -> None:
        if name in self._defined and not is_empty(self._defined[name]):
            if not is_empty(body):
                raise self._fault(f"multiple definition of template {quote(name)}", word)
            return
        self._defined[name] = body

    def _template(self, word: Token) -> nodes.Node:
        name = self._template_name("template clause")
        self._templates.setdefault(name, word.offset)
        if self._peek_word().kind == "close":
            self._next()
            return nodes.Template(word.offset, name, None)
        return nodes.Template(word.offset, name, self._pipeline("template clause"))

    def _template_name(self, context: str) -> str:
        token = self._next_word()
        if token.kind not in STRINGS:
            raise self._unexpected(token, context)
        return str(self._literal(token))

    _keywords: Final[dict[str, Callable[[_Parser, Token], nodes.Node]]] = {
        "if": _branch, "with": _branch, "range": _branch, "break": _leave, "continue": _leave,
        "define": _define, "block": _block, "template": _template,
    }  # fmt: skip


def is_empty(listed: list[nodes.Node]) -> bool:
    """Whether the nodes contain only white space."""
    return all(isinstance(node, nodes.Text) and not node.text.strip() for node in listed)
