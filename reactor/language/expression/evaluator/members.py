"""Literals, names and members."""

from __future__ import annotations

from typing import Any

from reactor.language.expression.access import MISSING, cut, reach, substitute
from reactor.language.expression.errors import FunctionError
from reactor.language.expression.evaluator.closures import Below, Evaluate, nothing, placed, placing
from reactor.language.expression.missing import in_ccm, no_such_key
from reactor.language.expression.nodes import Chain, Constant, Member, Pointer, Root, Slice, Variable
from reactor.language.expression.run import Run
from reactor.language.expression.secret import SecretText


class _NilInChainError(Exception):
    """``?.`` found nil: the chain around it is nil. Control flow, and never seen outside."""


def _constant(node: Constant, _: Below) -> Evaluate:
    value = node.value
    return lambda _run: value


def _root(node: Root, _: Below) -> Evaluate:
    name = node.name
    if name == "$env":
        return lambda run: run.roots
    return lambda run: run.touch(run.roots[name])


def _variable(node: Variable, _: Below) -> Evaluate:
    name = node.name
    return lambda run: run.variables[name]


def _pointer(node: Pointer, _: Below) -> Evaluate:
    if node.name == "index":
        return lambda run: run.index
    if node.name == "acc":
        return lambda run: run.touch(run.acc)
    return lambda run: run.touch(run.item)


def _member(node: Member, below: Below) -> Evaluate:
    of, key_of = below(node.value), below(node.key)
    constant = node.key.value if isinstance(node.key, Constant) and isinstance(node.key.value, str) else None

    def member(run: Run) -> Any:
        value = of(run)
        if node.optional and value is None:
            raise _NilInChainError
        if constant is not None and type(value) is dict:
            found = value.get(constant, MISSING)
        else:
            key = key_of(run)
            try:
                found = reach(value, key)
            except FunctionError as error:
                raise placed(error, node.key) from None
        if found is MISSING:
            return _absent(run, node, value, constant or key_of(run))
        if type(found) is SecretText:
            run.tainted = True
        return found

    return member


def _absent(run: Run, node: Member, value: Any, key: Any) -> Any:
    """What stands for the missing ``key``, which a strict scope only lets an expression miss that says so."""
    if node.may_be_missing and run.scope.strict:
        return None
    found = substitute(value)
    if not node.may_be_missing:
        error = placed(no_such_key(node, value, key), node.key)
        if run.scope.strict:
            raise error
        run.slips.append(in_ccm(error, found))
    return found


def _chain(node: Chain, below: Below) -> Evaluate:
    of = below(node.value)

    def chain(run: Run) -> Any:
        try:
            return of(run)
        except _NilInChainError:
            return None

    return chain


def _slice(node: Slice, below: Below) -> Evaluate:
    of = below(node.value)
    low = below(node.low) if node.low else nothing
    high = below(node.high) if node.high else nothing

    def part(run: Run) -> Any:
        return run.made(cut(of(run), low(run), high(run)))

    return placing(node, part)


COMPILERS: dict[type, Any] = {
    Constant: _constant, Root: _root, Variable: _variable, Pointer: _pointer, Member: _member, Chain: _chain,
    Slice: _slice,
}  # fmt: skip
