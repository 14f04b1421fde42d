"""Compiles calls: of builtins, ``lookup``, host functions, methods of times, and builtins with a predicate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reactor.language.errors import FunctionError
from reactor.language.expression.access import MISSING
from reactor.language.expression.analysis import as_warning
from reactor.language.expression.builtins import BUILTINS, PREDICATES, Builtin
from reactor.language.expression.builtins.predicates import NO_INITIAL
from reactor.language.expression.builtins.times import METHODS, now_at
from reactor.language.expression.evaluation import (
    Closure,
    CompileChild,
    Evaluation,
    error_at,
    evaluate_to_nil,
    with_error_place,
)
from reactor.language.expression.gjson.paths import get
from reactor.language.expression.nodes import Call, Method, Predicate, walk
from reactor.language.expression.scope import Scope
from reactor.language.values import describe_kind, kind, method_text

_HOST_COST = 100
_LONGEST_PATH = 10_000
_WHOLE_NUMBERS_BELOW = 1e21
"""From this value on, Go writes floats with an exponent, also in JSON."""


def _call(node: Call, compile_child: CompileChild) -> Closure:
    arguments = [compile_child(argument) for argument in node.arguments]
    if node.name == "lookup":
        return with_error_place(node, _lookup(node, arguments))
    if node.name == "now":
        return with_error_place(node, _now(arguments))
    if node.name not in BUILTINS:
        return with_error_place(node, _host(node.name, arguments))
    name, builtin = node.name, BUILTINS[node.name]
    return with_error_place(
        node,
        lambda evaluation: _apply(
            evaluation, name, builtin, [argument(evaluation) for argument in arguments]
        ),
    )


def _apply(evaluation: Evaluation, name: str, builtin: Builtin, values: list[Any]) -> Any:
    evaluation.charge(1 + builtin.cost)
    consume = evaluation.note_secret if builtin.shallow else evaluation.measure_argument
    for value in values:
        consume(value)
    builtin.check(name, values)
    return evaluation.note_secret(evaluation.charge_result(builtin.function(*values)))


def _now(arguments: list[Closure]) -> Closure:
    def now(evaluation: Evaluation) -> Any:
        moment = evaluation.scope.moment
        clock = BUILTINS["now"] if moment is None else now_at(moment)
        return _apply(evaluation, "now", clock, [argument(evaluation) for argument in arguments])

    return now


def _host(name: str, arguments: list[Closure]) -> Closure:
    def host(evaluation: Evaluation) -> Any:
        values = [argument(evaluation) for argument in arguments]
        evaluation.charge(_HOST_COST)
        for value in values:
            evaluation.measure(value)
        function, scope = evaluation.functions[name], evaluation.scope
        outer, scope.steps_left = scope.steps_left, evaluation.steps_left
        try:
            return evaluation.note_secret(function(*values))
        except TypeError:
            if _takes(function, values):
                raise
        finally:
            evaluation.steps_left, scope.steps_left = scope.steps_left, outer
        raise FunctionError(f"wrong number of arguments to call {name}: {len(values)} given")

    return host


def _takes(function: Callable[..., Any], values: list[Any]) -> bool:
    import inspect  # noqa: PLC0415 - only for an error

    try:
        inspect.signature(function).bind(*values)
    except TypeError:
        return False
    return True


_LOOKUPS_OF_OTHERS = {
    "env": "the environment is Environ, as in Environ.HOME, or lookup('environ.HOME')",
    "file": "the content of a file is file('/etc/hostname')",
    "password": "a secret is declared under 'secrets:'",
    "pipe": "the output of a command is output('exec#NAME').stdout",
    "template": "a rendered template is template('motd.templ')",
}
"""Plugin of Ansible's ``lookup`` -> what does the same here."""


def _lookup(node: Call, arguments: list[Closure]) -> Closure:
    def lookup(evaluation: Evaluation) -> Any:
        path, *default = (argument(evaluation) for argument in arguments)
        found = _found(evaluation, path)
        if found is not MISSING:
            return evaluation.note_secret(found)
        _refuse_unknown_root(evaluation.scope, path)
        if default and default[0] is not None:
            return default[0]
        hint = f"give a default: lookup('{path}', 'default')"
        missing = FunctionError(f"missing key '{path}' in environment", hint)
        if evaluation.scope.missing == "empty":
            evaluation.warnings.append(as_warning(error_at(missing, node), ""))
            return ""
        raise missing

    return lookup


def _refuse_unknown_root(scope: Scope, path: str) -> None:
    """Raise FunctionError for ``Facts.role``, or ``file``: it is always missing, so a default would hide the mistake.

    Not in the form of CCM, which takes the default.
    """
    root = path.partition(".")[0]
    if not scope.strict or not root.isidentifier() or root in scope.lookup_names:
        return
    if root in scope.names:
        hint = f"write lookup('{root.lower()}{path[len(root) :]}')"
        raise FunctionError(f"the roots of lookup are in lower case, and {root} is not", hint)
    known = ", ".join(f"'{name}.'" for name in sorted(scope.lookup_names))
    hint = _LOOKUPS_OF_OTHERS.get(root) or f"begin the path with one of {known}"
    raise FunctionError(f"{root} is no root of lookup", hint)


def _found(evaluation: Evaluation, path: Any) -> Any:
    if not isinstance(path, str):
        raise FunctionError("lookup requires a string argument", "lookup('data.key')")
    if len(path) > _LONGEST_PATH:
        raise FunctionError(f"the path has more than {_LONGEST_PATH} characters")
    evaluation.charge(1 + len(path))
    found = get(evaluation.scope.lookup_names, path, evaluation)
    whole = isinstance(found, float) and found.is_integer() and abs(found) < _WHOLE_NUMBERS_BELOW
    return int(found) if whole else found


def _method(node: Method, compile_child: CompileChild) -> Closure:
    of = compile_child(node.value)
    arguments = [compile_child(argument) for argument in node.arguments]

    def method(evaluation: Evaluation) -> Any:
        value = of(evaluation)
        if not arguments and (text := method_text(value, node.name)) is not None:
            return evaluation.charge_result(text)
        found = METHODS.get(kind(value), {}).get(node.name)
        if found is None:
            from reactor.language.foreign_names import method_meant  # noqa: PLC0415 - only for an error

            hint = method_meant(node.name, BUILTINS) or "only times and durations have methods"
            raise FunctionError(f"{describe_kind(value)} has no method {node.name}", hint)
        values = [argument(evaluation) for argument in arguments]
        if len(values) != found.least:
            raise FunctionError(f"{node.name} takes {found.least} arguments, {len(values)} given")
        found.check(node.name, values)
        return evaluation.charge_result(found.function(value, *values))

    return with_error_place(node, method)


def _predicate(node: Predicate, compile_child: CompileChild) -> Closure:
    items_of = compile_child(node.items)
    body = compile_child(node.body) if node.body else _element
    extra_of = (
        compile_child(node.extra)
        if node.extra
        else (lambda _: NO_INITIAL)
        if node.name == "reduce"
        else evaluate_to_nil
    )
    weight = 1 + sum(1 for _ in walk(node.body)) if node.body else 1
    function = PREDICATES[node.name].function

    def predicate(evaluation: Evaluation) -> Any:
        items, extra = items_of(evaluation), extra_of(evaluation)
        if kind(items) != "array":
            raise FunctionError(f"builtin {node.name} takes only array (got {describe_kind(items)})")
        outer = evaluation.item, evaluation.index, evaluation.acc

        def of(item: Any, index: int, acc: Any = None) -> Any:
            evaluation.charge(weight)
            evaluation.item, evaluation.index, evaluation.acc = item, index, acc
            return body(evaluation)

        try:
            return evaluation.note_secret(function(items, of, extra))
        finally:
            evaluation.item, evaluation.index, evaluation.acc = outer

    return with_error_place(node, predicate)


def _element(evaluation: Evaluation) -> Any:
    """Return the element: the predicate of ``count(list)`` and ``sum(list)``, which have none."""
    return evaluation.note_secret(evaluation.item)


COMPILERS: dict[type, Any] = {Call: _call, Method: _method, Predicate: _predicate}
