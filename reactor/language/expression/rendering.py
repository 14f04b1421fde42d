"""Expressions that can be evaluated, and texts with expressions in them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from difflib import get_close_matches
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from reactor.language.expression.builtins import BUILTINS, PREDICATES
from reactor.language.expression.delimiters import pieces
from reactor.language.expression.errors import ExpressionError, FunctionError
from reactor.language.expression.evaluator import compiled
from reactor.language.expression.kinds import kind
from reactor.language.expression.missing import allow, certain, slip
from reactor.language.expression.nodes import Call, Constant, Member, Root, walk
from reactor.language.expression.parser import parse as parse_tree
from reactor.language.expression.read_paths import Path, meet, reads
from reactor.language.expression.run import Run
from reactor.language.expression.scope import Scope
from reactor.language.expression.secret_taint import all_texts, differing
from reactor.language.expression.text import text as text_of

_ALIKE = 0.7
_HIDDEN = "the expression failed; what it says is not shown, because it touched a secret"


class CallSite(NamedTuple):
    """A call in a text: its first argument if that is a literal text, and the span of the call."""

    argument: str | None
    start: int
    end: int


class _all_told:  # noqa: N801 - it is used like a function, and a generator takes five times as long
    """Around an evaluation: when it fails, all that is missing whatever the values are is told, and not only the first.

    Also when it fails because a value is still to come: what is missing will be missing then, too.
    """

    __slots__ = ("_scope", "_slips")

    def __init__(self, slips: Callable[[Scope], Iterable[ExpressionError]], scope: Scope) -> None:
        self._slips = slips
        self._scope = scope

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, Exception):
            _raise_first(self._slips(self._scope))


class Expression:
    """One expression, ready to be evaluated in any scope."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._tree, self._outer = parse_tree(text)
            allow(self._tree)
            self._evaluate = compiled(self._tree)
        except RecursionError:
            raise ExpressionError("the expression is nested too deeply", 0, len(text), code="R0305") from None

    def evaluate(self, scope: Scope) -> Any:
        """Its value, in plain lists and maps; texts are SecretText when a secret was touched."""
        self.check(scope)
        run = Run(scope)
        with _all_told(self.slips, scope):
            return _guarded(run, lambda: run.given(self.run(run)), len(self.text))

    def check(self, scope: Scope) -> None:
        """Raise ExpressionError for names that ``scope`` does not have: that can be said, whatever is secret."""
        for node in self._outer:
            if not _known(node, scope):
                _raise_first(self.slips(scope))

    def slips(self, scope: Scope) -> Iterator[ExpressionError]:
        """The names and keys that ``scope`` does not have and every evaluation wants."""
        unknown = [_unknown(node, scope) for node in self._outer if not _known(node, scope)]
        yield from unknown
        if scope.strict and not unknown:
            found = (self._slip(member, scope) for member in self._members)
            yield from {each.start: each for each in found if each is not None}.values()

    def _slip(self, member: Member, scope: Scope) -> ExpressionError | None:
        found = slip(member, scope.names)
        if found is not None and any(
            _inside(path, secret) for path in reads(member) for secret in scope.secrets
        ):
            return ExpressionError(found.message, found.start, found.end, code=found.code)
        return found

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
    def _members(self) -> tuple[Member, ...]:
        return tuple(certain(self._tree))

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
        with _all_told(self._slips, scope):
            return run.marked(_guarded(run, lambda: "".join(self._shown(run)), len(self.text)))

    def value(self, scope: Scope) -> Any:
        """The value itself if the text is exactly one expression, with spaces around it at most; else the text."""
        if len(self._expressions) != 1 or any(isinstance(part, str) and part.strip() for part in self._parts):
            return self.render(scope)
        self._check(scope)
        run = Run(scope)
        expression, start = self._expressions[0]
        with _all_told(self._slips, scope):
            value = _guarded(run, lambda: run.given(_moved(expression, start, run)), len(self.text))
        if run.tainted:
            _hide(expression, value, scope)
        return value

    def match(self, scope: Scope) -> tuple[str, bool]:
        """The text, and whether any expression gave something: neither nil nor an empty text."""
        self._check(scope)
        run = Run(scope)
        matched: list[bool] = []
        with _all_told(self._slips, scope):
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
        for expression, _ in self._expressions:
            try:
                expression.check(scope)
            except ExpressionError:
                _raise_first(self._slips(scope))

    def _slips(self, scope: Scope) -> Iterator[ExpressionError]:
        for expression, start in self._expressions:
            for error in expression.slips(scope):
                yield error.moved(start)

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
        slips = len(run.slips)
        value = _moved(expression, start, run)
        if matched is not None:
            matched.append(value is not None and value != "")
        elif value is None:
            _note_nil(run, expression, start, known=len(run.slips) > slips)
        try:
            shown = run.shown(value)
        except FunctionError as error:
            raise ExpressionError(
                error.message, start, start + len(expression.text), error.hint, code=error.code
            ) from None
        if run.tainted and kind(value) not in ("nil", "bool"):
            _hide(expression, shown, run.scope)
        return shown


@lru_cache(maxsize=16_384)
def expression(text: str) -> Expression:
    """The expression ``text``, parsed once however many values hold it; raises ExpressionError."""
    return Expression(text)


def _guarded(run: Run, evaluate: Callable[[], Any], length: int) -> Any:
    """What ``evaluate`` gives. An error hides its words when a secret was touched, and nothing of Python gets out."""
    try:
        return _told(run, evaluate())
    except ExpressionError as failure:
        error = failure
    except FunctionError as failure:
        error = ExpressionError(failure.message, 0, length, failure.hint, code=failure.code)
    except RecursionError:
        error = ExpressionError("the value is nested too deeply", 0, length, code="R0305")
    finally:
        if run.scope.left is not None:
            run.scope.left = run.left
    raise ExpressionError(_HIDDEN, error.start, error.end, code=error.code) if run.tainted else error


def _hide(expression: Expression, value: Any, scope: Scope) -> None:
    """Tell the scope which parts of ``value``, that ``expression`` has there or the text of that, are made of secrets."""
    parts = all_texts(value)
    if scope.blind is not None:
        with suppress(Exception):  # whatever fails with other secrets: all of the value counts then
            other = expression.evaluate(scope.blind())
            parts = differing(value, text_of(other) if isinstance(value, str) else other)
    for part in parts:
        scope.hide(part)


def _raise_first(errors: Iterable[ExpressionError]) -> None:
    """Raise the first of ``errors``, which tells of the others."""
    found = list(errors)
    if found:
        found[0].others = tuple(found[1:])
        raise found[0]


def _note_nil(run: Run, expression: Expression, start: int, *, known: bool) -> None:
    """A text is about to get nil for a piece: an error where the scope is strict."""
    hint = "give it a default: ... ?? 'default'"
    end = start + len(expression.text)
    error = ExpressionError(
        "the expression gives nil, which would be written <nil>", start, end, hint, code="R0304"
    )
    if run.scope.strict:
        raise error
    if not known:
        run.slips.append(
            ExpressionError("the expression gives nil, which is written <nil>, as in CCM", start, end)
        )


def _parsed(text: str, start: int) -> Expression:
    try:
        return expression(text)
    except ExpressionError as error:
        raise error.moved(start) from None


def _moved(found: Expression, start: int, run: Run) -> Any:
    before = len(run.slips)
    try:
        value = found.run(run)
    except ExpressionError as error:
        raise error.moved(start) from None
    run.slips[before:] = (each.moved(start) for each in run.slips[before:])
    return value


def _told(run: Run, value: Any) -> Any:
    """``value``, and what was let pass on the way to it told to the scope."""
    if run.slips:
        run.scope.slips.pending += map(_blurred, run.slips) if run.tainted else run.slips
    return value


def _blurred(slip: ExpressionError) -> ExpressionError:
    """The remark without its words, which a secret may be in."""
    return ExpressionError("a key is missing, and nothing is taken for it, as in CCM", slip.start, slip.end)


def _inside(path: Path, secret: tuple[str, ...]) -> bool:
    """Whether what has the key at the end of ``path`` is secret as a whole."""
    return len(path) > len(secret) and meet(path, secret)


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
        hint = (
            scope.absent.get(node.name)
            or _meant(node.name, (*scope.names, "let", "nil"))
            or _bare(node.name, scope)
        )
    return ExpressionError(f"unknown name {node.name}", node.start, node.end, hint, code="R0302")


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
