"""Keys that are missing: which an expression allows for, and what is said of the others.

A key may be missing before ``??``, before and after ``?.``, and where it is compared with ``nil``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any

from reactor.language.expression.access import MISSING, reach
from reactor.language.expression.errors import ExpressionError, FunctionError
from reactor.language.expression.nodes import (
    Binary,
    Call,
    Chain,
    Conditional,
    Constant,
    Member,
    Node,
    Pointer,
    Predicate,
    Root,
    Variable,
    children,
    walk,
)
from reactor.language.expression.text import text

_ALIKE = 0.6
_MOST_KEYS = 1000
"""Of a map, that are compared with one that is missing."""


def allow(tree: Node) -> None:
    """Note in ``tree`` which keys may be missing."""
    for node in walk(tree):
        if isinstance(node, Binary) and node.operator == "??":
            _allow(node.left)
        elif isinstance(node, Binary) and node.operator in ("==", "!="):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                if isinstance(other, Constant) and other.value is None:
                    _allow(one)
        elif isinstance(node, Member) and node.optional:
            _allow(node)
            _allow(node.value)


def _allow(node: Node) -> None:
    """Nothing is a value of ``node`` that the expression around it expects."""
    if isinstance(node, Member):
        node.may_be_missing = True
    elif isinstance(node, Chain):
        _allow(node.value)
    elif isinstance(node, Conditional):
        _allow(node.yes)
        _allow(node.no)
    elif isinstance(node, Binary) and node.operator == "??":
        _allow(node.right)


def certain(node: Node) -> Iterator[Member]:
    """The members of ``node`` that every evaluation reaches for: not those of a branch that may not be taken."""
    if isinstance(node, Member):
        yield node
    if isinstance(node, Conditional):
        yield from certain(node.test)
    elif isinstance(node, Binary) and node.operator in ("and", "or", "??"):
        yield from certain(node.left)
    elif isinstance(node, Predicate):
        yield from certain(node.items)
    elif isinstance(node, Chain):
        yield from certain(_before_the_first_question(node.value))
    else:
        for child in children(node):
            yield from certain(child)


def _before_the_first_question(node: Node) -> Node:
    """What is evaluated of a chain, whatever is nil in it."""
    first = node
    while isinstance(node, Member):
        if node.optional:
            first = node.value
        node = node.value
    return first


def slip(member: Member, roots: Mapping[str, Any]) -> ExpressionError | None:
    """What is wrong with a member that is named from its root on, as far as that can be said without an evaluation."""
    way: list[Member] = []
    node: Node = member
    while isinstance(node, Member):
        if not (isinstance(node.key, Constant) and isinstance(node.key.value, str)):
            return None
        way.append(node)
        node = node.value
    if not isinstance(node, Root) or node.name == "$env":
        return None
    value = roots[node.name]
    for step in reversed(way):
        key = step.key.value if isinstance(step.key, Constant) else None
        if not isinstance(value, Mapping):
            return None
        found = reach(value, key)
        if found is MISSING:
            if step.may_be_missing:
                return None
            error = no_such_key(step, value, key)
            return ExpressionError(error.message, step.key.start, step.key.end, error.hint, code=error.code)
        value = found
    return None


def no_such_key(node: Member, value: Any, key: Any) -> FunctionError:
    """The error that the map ``value``, which the expression names, has no ``key``."""
    written = repr(key) if isinstance(key, str) else text(key)
    known = [each for each in islice(value, _MOST_KEYS) if isinstance(each, str)]
    near = get_close_matches(key, known, 1, _ALIKE) if isinstance(key, str) else []
    same = [each for each in known if isinstance(key, str) and each.lower() == key.lower()]
    hint = f"did you mean {(same or near)[0]}?" if same or near else _default(node)
    return FunctionError(f"{_named(node.value) or 'the map'} has no key {written}", hint, code="R0304")


def in_ccm(error: ExpressionError, found: Any) -> ExpressionError:
    """The ``error`` as a remark: ``found`` is taken instead."""
    taken = "nil" if found is None else "an empty text"
    hint = error.hint if (error.hint or "").startswith("did you mean") else None
    return ExpressionError(
        f"{error.message}, so {taken} is taken for it, as in CCM", error.start, error.end, hint
    )


def _default(node: Member) -> str:
    return f"give what may be missing a default: {_named(node) or 'x'} ?? 'default'"


def _named(node: Node) -> str | None:
    """How ``node`` is written, where it is plain names; for an element of a predicate nothing before the dot."""
    if isinstance(node, Root | Variable):
        return node.name
    if isinstance(node, Call) and len(node.arguments) == 1 and isinstance(node.arguments[0], Constant):
        return f"{node.name}({node.arguments[0].value!r})"
    if isinstance(node, Member) and isinstance(node.key, Constant) and isinstance(node.key.value, str):
        if isinstance(node.value, Pointer):
            return f"#.{node.key.value}"
        before = _named(node.value)
        plain = node.key.value.replace("_", "a").isalnum()
        return before and (f"{before}.{node.key.value}" if plain else f"{before}[{node.key.value!r}]")
    return None
