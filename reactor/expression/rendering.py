"""Expressions that can be evaluated, and texts with expressions in them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from difflib import get_close_matches
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from reactor.expression.builtins import BUILTINS, PREDICATES
from reactor.expression.delimiters import pieces
from reactor.expression.errors import ExpressionError, FunctionError
from reactor.expression.evaluator import compiled
from reactor.expression.kinds import kind
from reactor.expression.nodes import Call, Constant, Root, walk
from reactor.expression.parser import parse as parse_tree
from reactor.expression.reads import Path, meet, reads
from reactor.expression.run import Run
from reactor.expression.scope import Scope

_ALIKE = 0.7
_HIDDEN = "the expression failed; what it says is not shown, because it touched a secret"


class CallSite(NamedTuple):
    """A call in a text: its first argument if that is a literal text, and the span of the call."""

    argument: str | None
    start: int
    end: int


class Expression:
    """One expression, ready to be evaluated in any scope."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._tree, self._outer = parse_tree(text)
            self._evaluate = compiled(self._tree)
        except RecursionError:
            raise ExpressionError("the expression is nested too deeply", 0, len(text)) from None

    def evaluate(self, scope: Scope) -> Any:
        """Its value, in plain lists and maps; texts are SecretText when a secret was touched."""
        self.check(scope)
        run = Run(scope)
        return _guarded(run, lambda: run.given(self.run(run)), len(self.text))

    def check(self, scope: Scope) -> None:
        """Raise ExpressionError for a name that ``scope`` does not have: that can be said, whatever is secret."""
        for node in self._outer:
            if not _known(node, scope):
                raise _unknown(node, scope)

    def run(self, run: Run) -> Any:
        """Its value as a part of the evaluation ``run``, in a scope that has passed `check`."""
        scope = run.scope
        if scope.secrets and any(meet(path, secret) for path in self._reads for secret in scope.secrets):
            run.tainted = True
        return self._evaluate(run)

    def calls(self, name: str) -> tuple[CallSite, ...]:
        """Every call of the function ``name`` in it."""
        return tuple(_site(node) for node in walk(self._tree) if isinstance(node, Call) and node.name == name)

    def names(self) -> frozenset[str]:
        """The roots and the functions of the host that it uses, ``lookup`` among them."""
        return frozenset(node.name for node in self._outer)

    @cached_property
    def _reads(self) -> tuple[Path, ...]:
        return tuple(reads(self._tree))


class Template:
    """A text with at least one expression in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._parts: list[str | tuple[Expression, int]] = []
        self._expressions: list[tuple[Expression, int]] = []
        position = 0
        for piece in pieces(text):
            found = (_parsed(text[piece.inner : piece.close], piece.inner), piece.inner)
            self._parts += (text[position : piece.start], found)
            self._expressions.append(found)
            position = piece.end
        self._parts.append(text[position:])
        self._parts = [part for part in self._parts if part != ""]

    @property
    def holds(self) -> bool:
        """Whether there is an expression at all: an opener without an end is plain text."""
        return bool(self._expressions)

    def render(self, scope: Scope) -> str:
        """The text with each expression replaced by the text of its value."""
        self._check(scope)
        run = Run(scope)
        return run.marked(_guarded(run, lambda: "".join(self._shown(run)), len(self.text)))

    def value(self, scope: Scope) -> Any:
        """The value itself if the text is exactly one expression, with spaces around it at most; else the text."""
        if len(self._expressions) != 1 or any(isinstance(part, str) and part.strip() for part in self._parts):
            return self.render(scope)
        self._check(scope)
        run = Run(scope)
        expression, start = self._expressions[0]
        return _guarded(run, lambda: run.given(_moved(expression, start, run)), len(self.text))

    def match(self, scope: Scope) -> tuple[str, bool]:
        """The text, and whether any expression gave something: neither nil nor an empty text."""
        self._check(scope)
        run = Run(scope)
        matched: list[bool] = []
        text = _guarded(run, lambda: "".join(self._shown(run, matched)), len(self.text))
        return run.marked(text), any(matched)

    def calls(self, name: str) -> tuple[CallSite, ...]:
        """Every call of the function ``name``, with its span in the whole text."""
        return tuple(
            CallSite(call.argument, call.start + start, call.end + start)
            for expression, start in self._expressions
            for call in expression.calls(name)
        )

    def names(self) -> frozenset[str]:
        """The roots and the functions of the host that it uses, ``lookup`` among them."""
        return frozenset().union(*(expression.names() for expression, _ in self._expressions))

    def _check(self, scope: Scope) -> None:
        """Check all expressions before the first of them touches a secret."""
        for expression, start in self._expressions:
            try:
                expression.check(scope)
            except ExpressionError as error:
                raise error.moved(start) from None

    def _shown(self, run: Run, matched: list[bool] | None = None) -> Iterator[str]:
        """The pieces of the result; ``matched`` learns of each expression whether it gave something."""
        for part in self._parts:
            if isinstance(part, str):
                yield part
                continue
            touched, run.tainted = run.tainted, False
            try:
                shown = self._piece(*part, run, matched)
            finally:
                run.tainted |= touched
            yield shown

    def _piece(self, expression: Expression, start: int, run: Run, matched: list[bool] | None) -> str:
        value = _moved(expression, start, run)
        if matched is not None:
            matched.append(value is not None and value != "")
        try:
            shown = run.shown(value)
        except FunctionError as error:
            raise ExpressionError(error.message, start, start + len(expression.text), error.hint) from None
        if run.tainted and kind(value) not in ("nil", "bool"):
            run.scope.hide(shown)
        return shown


@lru_cache(maxsize=16_384)
def expression(text: str) -> Expression:
    """The expression ``text``, parsed once however many values hold it; raises ExpressionError."""
    return Expression(text)


def _guarded(run: Run, evaluate: Callable[[], Any], length: int) -> Any:
    """What ``evaluate`` gives. An error hides its words when a secret was touched, and nothing of Python gets out."""
    try:
        return evaluate()
    except ExpressionError as failure:
        error = failure
    except FunctionError as failure:
        error = ExpressionError(failure.message, 0, length, failure.hint)
    except RecursionError:
        error = ExpressionError("the value is nested too deeply", 0, length)
    finally:
        if run.scope.left is not None:
            run.scope.left = run.left
    raise ExpressionError(_HIDDEN, error.start, error.end) if run.tainted else error


def _parsed(text: str, start: int) -> Expression:
    try:
        return expression(text)
    except ExpressionError as error:
        raise error.moved(start) from None


def _moved(found: Expression, start: int, run: Run) -> Any:
    try:
        return found.run(run)
    except ExpressionError as error:
        raise error.moved(start) from None


def _known(node: Root | Call, scope: Scope) -> bool:
    if isinstance(node, Root):
        return node.name in scope.names or node.name == "$env"
    return node.name in scope.functions or node.name == "lookup"


def _unknown(node: Root | Call, scope: Scope) -> ExpressionError:
    functions = (*scope.functions, *BUILTINS, *PREDICATES, "lookup")
    if isinstance(node, Call):
        hint = _meant(node.name, functions)
    elif node.name in functions:
        hint = f"it is a function: {node.name}(...)"
    else:
        hint = _meant(node.name, (*scope.names, "let", "nil")) or _bare(node.name, scope)
    return ExpressionError(f"unknown name {node.name}", node.start, node.end, hint)


def _bare(name: str, scope: Scope) -> str:
    """How to write what a word without anything around it may stand for."""
    value = f", and a value of the data Data.{name}" if "Data" in scope.names else ""
    return f"a text is written {name!r}{value}"


def _site(node: Call) -> CallSite:
    first = node.arguments[0] if node.arguments else None
    literal = first.value if isinstance(first, Constant) and isinstance(first.value, str) else None
    return CallSite(literal, node.start, node.end)


def _meant(name: str, known: Collection[str]) -> str | None:
    same = [other for other in known if other.lower() == name.lower()]
    close = same or get_close_matches(name, known, 1, _ALIKE)
    return f"did you mean {close[0]}?" if close else None
