"""One parsed and compiled expression, which can be evaluated in any scope."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from reactor.language.errors import ExpressionError, FunctionError
from reactor.language.expression.analysis import (
    Path,
    allow_missing_keys,
    certain_members,
    missing_key_error,
    overlaps,
    paths_read,
    wrong_systems,
)
from reactor.language.expression.builtins import BUILTINS, PREDICATES
from reactor.language.expression.evaluation import Evaluation
from reactor.language.expression.evaluator import compiled
from reactor.language.expression.nodes import Call, Constant, Member, Root, walk
from reactor.language.expression.parser import parse
from reactor.language.expression.scope import Scope
from reactor.language.secrets import all_strings, differing
from reactor.language.values import to_string
from reactor.suggestions import closest

_SIMILARITY = 0.7
_HIDDEN = "the expression failed; what it says is not shown, because it touched a secret"


class CallSite(NamedTuple):
    """A call in a string: its first argument if that is a string literal, else None; and the span of the call."""

    argument: str | None
    start: int
    end: int


class report_all_missing:  # noqa: N801 - used like a function; as a generator it takes five times as long
    """A context for an evaluation. If that fails, raise errors for all missing names and keys, not only the first.

    These are missing whatever the values are. So they are also reported if the evaluation failed at a deferred value.
    """

    __slots__ = ("_errors", "_scope")

    def __init__(self, errors: Callable[[Scope], Iterable[ExpressionError]], scope: Scope) -> None:
        self._errors = errors
        self._scope = scope

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, Exception):
            raise_first(self._errors(self._scope))


class Expression:
    """One expression. It can be evaluated in any scope."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._tree, self._outer = parse(text)
            allow_missing_keys(self._tree)
            self._evaluate = compiled(self._tree)
        except RecursionError:
            raise ExpressionError("the expression is nested too deeply", 0, len(text), code="R0305") from None

    def evaluate(self, scope: Scope, *, hides: bool = False) -> Any:
        """Return its value as plain lists and maps. Strings are SecretText if it touched a secret.

        When it ``hides``, what is made from a secret is never shown again.
        """
        self.check(scope)
        evaluation = Evaluation(scope)
        with report_all_missing(self.missing, scope):
            value = guarded(evaluation, lambda: evaluation.export(self.run(evaluation)), len(self.text))
        if hides and evaluation.tainted:
            hide_parts(self, value, scope)
        return value

    def check(self, scope: Scope) -> None:
        """Raise ExpressionError for names that ``scope`` lacks. Names are never secret."""
        for node in self._outer:
            if not _known(node, scope):
                raise_first(self.missing(scope))
        if scope.strict and self._wrong_systems:
            raise_first(self._wrong_systems)

    def missing(self, scope: Scope) -> Iterator[ExpressionError]:
        """Yield an error for each name and key that every evaluation needs but ``scope`` lacks, and `wrong_systems`."""
        unknown = [_unknown(node, scope) for node in self._outer if not _known(node, scope)]
        yield from unknown
        if scope.strict and not unknown:
            found = (self._missing_key(member, scope) for member in self._members)
            yield from {each.start: each for each in found if each is not None}.values()
            yield from self._wrong_systems

    def _missing_key(self, member: Member, scope: Scope) -> ExpressionError | None:
        found = missing_key_error(member, scope.names)
        if found is not None and any(
            _inside(path, secret) for path in paths_read(member) for secret in scope.secrets
        ):
            return ExpressionError(found.message, found.start, found.end, code=found.code)
        return found

    def run(self, evaluation: Evaluation) -> Any:
        """Return its value as a part of ``evaluation``. The scope must have passed `check`."""
        scope = evaluation.scope
        if scope.secrets and any(overlaps(path, secret) for path in self.reads for secret in scope.secrets):
            evaluation.tainted = True
        return self._evaluate(evaluation)

    def calls(self, name: str) -> tuple[CallSite, ...]:
        """Return all its calls of the function ``name``."""
        if name not in self.text:
            return ()
        return tuple(_site(node) for node in walk(self._tree) if isinstance(node, Call) and node.name == name)

    def names(self) -> frozenset[str]:
        """Return the roots and the host functions that it uses, including ``lookup``."""
        return frozenset(node.name for node in self._outer)

    @cached_property
    def path(self) -> tuple[str, ...] | None:
        """The keys, from the root on, of the value that it names: of ``Data.users``; None if it computes something."""
        keys: list[str] = []
        node = self._tree
        while isinstance(node, Member) and isinstance(node.key, Constant) and isinstance(node.key.value, str):
            keys.append(node.key.value)
            node = node.value
        return (node.name, *reversed(keys)) if isinstance(node, Root) and node.name != "$env" else None

    @cached_property
    def _wrong_systems(self) -> tuple[ExpressionError, ...]:
        return tuple(wrong_systems(self._tree)) if ".platform" in self.text else ()

    @cached_property
    def _members(self) -> tuple[Member, ...]:
        return tuple(certain_members(self._tree))

    @cached_property
    def reads(self) -> tuple[Path, ...]:
        """The paths that it may read."""
        return tuple(paths_read(self._tree))


@lru_cache(maxsize=16_384)
def cached_expression(text: str) -> Expression:
    """Return the expression ``text``. It is parsed only once. Raises ExpressionError."""
    return Expression(text)


def guarded(evaluation: Evaluation, evaluate: Callable[[], Any], length: int) -> Any:
    """Return the result of ``evaluate``, and add its warnings to the scope.

    Converts all errors to ExpressionError. An error has no message of its own if the evaluation touched a secret.
    """
    try:
        return _with_warnings(evaluation, evaluate())
    except ExpressionError as failure:
        error = failure
    except FunctionError as failure:
        error = ExpressionError(failure.message, 0, length, failure.hint, code=failure.code)
    except RecursionError:
        error = ExpressionError("the value is nested too deeply", 0, length, code="R0305")
    finally:
        if evaluation.scope.steps_left is not None:
            evaluation.scope.steps_left = evaluation.steps_left
    try:
        raise (
            ExpressionError(_HIDDEN, error.start, error.end, code=error.code) if evaluation.tainted else error
        )
    finally:
        del error  # its traceback has this frame: together they would stay until garbage is collected


def hide_parts(expression: Expression, value: Any, scope: Scope) -> None:
    """Call ``scope.hide`` with the parts of ``value`` that were made from secrets.

    ``value`` is the value of ``expression``, or its string.
    """
    parts = all_strings(value)
    if scope.scrambled is not None:
        with suppress(Exception):  # if it fails with other secrets, all of the value is secret
            other = expression.evaluate(scope.scrambled())
            is_named = expression.path is not None
            parts = differing(value, to_string(other) if isinstance(value, str) else other, named=is_named)
    for part in parts:
        scope.hide(part)


def raise_first(errors: Iterable[ExpressionError]) -> None:
    """Raise the first of ``errors``, with the others attached."""
    found = list(errors)
    if found:
        found[0].others = tuple(found[1:])
        try:
            raise found[0]
        finally:
            del found  # as in `guarded`


def _with_warnings(evaluation: Evaluation, value: Any) -> Any:
    if evaluation.warnings:
        warnings = evaluation.warnings
        evaluation.scope.warnings.pending += map(_redacted, warnings) if evaluation.tainted else warnings
    return value


def _redacted(warning: ExpressionError) -> ExpressionError:
    """Return ``warning`` without its message, which may quote a secret."""
    return ExpressionError(
        "a key is missing, and nothing is taken for it, as in CCM", warning.start, warning.end
    )


def _inside(path: Path, secret: tuple[str, ...]) -> bool:
    """Whether ``path`` is below ``secret``: then the map that has its last key is secret as a whole."""
    return len(path) > len(secret) and overlaps(path, secret)


def _known(node: Root | Call, scope: Scope) -> bool:
    if isinstance(node, Root):
        return node.name in scope.names or node.name == "$env"
    return node.name in scope.functions or node.name == "lookup"


def _unknown(node: Root | Call, scope: Scope) -> ExpressionError:
    from reactor.language.foreign_names import function_meant, name_meant  # noqa: PLC0415 - only for an error

    functions = (*scope.functions, *BUILTINS, *PREDICATES, "lookup")
    if isinstance(node, Call):
        hint = (
            scope.absent.get(node.name)
            or function_meant(node.name)
            or _did_you_mean(node.name, functions)
            or "'reactor explain R0302' says which names there are"
        )
    elif node.name in functions:
        hint = f"it is a function: write {node.name}(...)"
    else:
        hint = (
            scope.absent.get(node.name)
            or (_ELEMENT if "item" in scope.names and node.name in _ELEMENTS_OF_OTHERS else None)
            or name_meant(node.name)
            or _did_you_mean(node.name, (*scope.names, "let", "nil"))
            or _bare_word(node.name, scope)
        )
    return ExpressionError(f"unknown name {node.name}", node.start, node.end, hint, code="R0302")


_ELEMENTS_OF_OTHERS = frozenset(("value", "each", "it", "element", "index", "loop"))
"""The names of the element of a loop, or of its place, in other programs."""
_ELEMENT = "the element of the loop is item, and its key or index is key"


def _bare_word(name: str, scope: Scope) -> str:
    """Return the hint how to write the string, or the value in the data, that a bare word may mean."""
    if name == "path":
        return "'validate' of a file has {path}, in single braces; a value of the data is written Data.path"
    value = f", and a value of the data Data.{name}" if "Data" in scope.names else ""
    return f"a string is written {name!r}{value}"


def _did_you_mean(name: str, known: Iterable[str]) -> str | None:
    close = closest(name, known, _SIMILARITY, ignore_case=True)
    return f"did you mean {close}?" if close else None


def _site(node: Call) -> CallSite:
    first = node.arguments[0] if node.arguments else None
    literal = first.value if isinstance(first, Constant) and isinstance(first.value, str) else None
    return CallSite(literal, node.start, node.end)
