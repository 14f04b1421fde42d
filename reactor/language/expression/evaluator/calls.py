"""Calls: builtins, ``lookup``, functions of the host, methods of times, and builtins with a predicate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reactor.language.expression.builtins import BUILTINS, PREDICATES, Builtin
from reactor.language.expression.builtins.predicates import NO_INITIAL
from reactor.language.expression.builtins.times import METHODS, now_at
from reactor.language.expression.errors import FunctionError
from reactor.language.expression.evaluator.closures import Below, Evaluate, nothing, placed, placing
from reactor.language.expression.gjson.paths import MISSING, get
from reactor.language.expression.kinds import kind, shown
from reactor.language.expression.missing import in_ccm
from reactor.language.expression.nodes import Call, Method, Predicate, walk
from reactor.language.expression.run import Run

_HOST_COST = 100
_LONGEST_PATH = 10_000
_WHOLE_NUMBERS_BELOW = 1e21
"""Go writes larger floats with an exponent, also in JSON."""


def _call(node: Call, below: Below) -> Evaluate:
    arguments = [below(argument) for argument in node.arguments]
    if node.name == "lookup":
        return placing(node, _lookup(node, arguments))
    if node.name == "now":
        return placing(node, _now(arguments))
    if node.name not in BUILTINS:
        return placing(node, _host(node.name, arguments))
    name, builtin = node.name, BUILTINS[node.name]
    return placing(node, lambda run: _apply(run, name, builtin, [argument(run) for argument in arguments]))


def _apply(run: Run, name: str, builtin: Builtin, values: list[Any]) -> Any:
    run.charge(1 + builtin.cost)
    consume = run.touch if builtin.shallow else run.take
    for value in values:
        consume(value)
    builtin.check(name, values)
    return run.touch(run.made(builtin.function(*values)))


def _now(arguments: list[Evaluate]) -> Evaluate:
    def now(run: Run) -> Any:
        moment = run.scope.moment
        clock = BUILTINS["now"] if moment is None else now_at(moment)
        return _apply(run, "now", clock, [argument(run) for argument in arguments])

    return now


def _host(name: str, arguments: list[Evaluate]) -> Evaluate:
    def host(run: Run) -> Any:
        values = [argument(run) for argument in arguments]
        run.charge(_HOST_COST)
        for value in values:
            run.measure(value)
        function, scope = run.functions[name], run.scope
        outer, scope.left = scope.left, run.left
        try:
            return run.touch(function(*values))
        except TypeError:
            if _takes(function, values):
                raise
        finally:
            run.left, scope.left = scope.left, outer
        raise FunctionError(f"wrong number of arguments to call {name}: {len(values)} given")

    return host


def _takes(function: Callable[..., Any], values: list[Any]) -> bool:
    import inspect  # noqa: PLC0415 - only for an error

    try:
        inspect.signature(function).bind(*values)
    except TypeError:
        return False
    return True


def _lookup(node: Call, arguments: list[Evaluate]) -> Evaluate:
    def lookup(run: Run) -> Any:
        path, *default = (argument(run) for argument in arguments)
        found = _found(run, path)
        if found is not MISSING:
            return run.touch(found)
        if default and default[0] is not None:
            return default[0]
        hint = f"give a default: lookup('{path}', 'default')"
        missing = FunctionError(f"missing key '{path}' in environment", hint)
        if run.scope.missing == "empty":
            run.slips.append(in_ccm(placed(missing, node), ""))
            return ""
        raise missing

    return lookup


def _found(run: Run, path: Any) -> Any:
    if not isinstance(path, str):
        raise FunctionError("lookup requires a string argument", "lookup('data.key')")
    if len(path) > _LONGEST_PATH:
        raise FunctionError(f"the path has more than {_LONGEST_PATH} characters")
    run.charge(1 + len(path))
    found = get(run.scope.looked_up, path, run)
    whole = isinstance(found, float) and found.is_integer() and abs(found) < _WHOLE_NUMBERS_BELOW
    return int(found) if whole else found


def _method(node: Method, below: Below) -> Evaluate:
    of = below(node.value)
    arguments = [below(argument) for argument in node.arguments]

    def method(run: Run) -> Any:
        value = of(run)
        found = METHODS.get(kind(value), {}).get(node.name)
        if found is None:
            hint = "only times and durations have methods"
            raise FunctionError(f"{shown(value)} has no method {node.name}", hint)
        values = [argument(run) for argument in arguments]
        if len(values) != found.least:
            raise FunctionError(f"{node.name} takes {found.least} arguments, {len(values)} given")
        found.check(node.name, values)
        return run.made(found.function(value, *values))

    return placing(node, method)


def _predicate(node: Predicate, below: Below) -> Evaluate:
    items_of = below(node.items)
    body = below(node.body) if node.body else _element
    extra_of = (
        below(node.extra) if node.extra else (lambda _: NO_INITIAL) if node.name == "reduce" else nothing
    )
    weight = 1 + sum(1 for _ in walk(node.body)) if node.body else 1
    function = PREDICATES[node.name].function

    def predicate(run: Run) -> Any:
        items, extra = items_of(run), extra_of(run)
        if kind(items) != "array":
            raise FunctionError(f"builtin {node.name} takes only array (got {shown(items)})")
        outer = run.item, run.index, run.acc

        def of(item: Any, index: int, acc: Any = None) -> Any:
            run.charge(weight)
            run.item, run.index, run.acc = item, index, acc
            return body(run)

        try:
            return run.touch(function(items, of, extra))
        finally:
            run.item, run.index, run.acc = outer

    return placing(node, predicate)


def _element(run: Run) -> Any:
    """The predicate of ``count(list)`` and ``sum(list)``."""
    return run.touch(run.item)


COMPILERS: dict[type, Any] = {Call: _call, Method: _method, Predicate: _predicate}
