"""The tree of an expression. Every node has its span in the text of the expression."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(eq=False, repr=False)
class Node:
    """The base of all nodes; ``start`` and ``end`` are offsets in the text of the expression."""

    start: int
    end: int


@dataclass(eq=False, repr=False)
class Constant(Node):
    """A literal: nil, bool, int, float or string."""

    value: Any


@dataclass(eq=False, repr=False)
class Root(Node):
    """A name from the scope, such as ``Data``. ``$env`` means all of them."""

    name: str


@dataclass(eq=False, repr=False)
class Variable(Node):
    """A name that an enclosing ``let`` declared."""

    name: str


@dataclass(eq=False, repr=False)
class Pointer(Node):
    """``#``, ``#index`` or ``#acc`` of the innermost predicate."""

    name: str


@dataclass(eq=False, repr=False)
class Member(Node):
    """``value.key``, ``value[key]``, or when ``optional``, ``value?.key``.

    If ``may_be_missing``, the expression handles a missing key.
    """

    value: Node
    key: Node
    optional: bool
    may_be_missing: bool = False


@dataclass(eq=False, repr=False)
class Chain(Node):
    """A chain of members, of which at least one is optional. If that finds nil, the whole chain is nil."""

    value: Node


@dataclass(eq=False, repr=False)
class Slice(Node):
    """``value[low:high]``."""

    value: Node
    low: Node | None
    high: Node | None


@dataclass(eq=False, repr=False)
class Unary(Node):
    """``not``, ``!``, ``-`` and ``+``."""

    operator: str
    value: Node


@dataclass(eq=False, repr=False)
class Binary(Node):
    """Two operands and the operator between them."""

    operator: str
    left: Node
    right: Node


@dataclass(eq=False, repr=False)
class Conditional(Node):
    """``test ? yes : no`` and ``if test {yes} else {no}``."""

    test: Node
    yes: Node
    no: Node


@dataclass(eq=False, repr=False)
class Let(Node):
    """``let name = value; body``."""

    name: str
    value: Node
    body: Node


@dataclass(eq=False, repr=False)
class Series(Node):
    """``a; b; c``: evaluates all, and has the value of the last."""

    items: tuple[Node, ...]


@dataclass(eq=False, repr=False)
class Items(Node):
    """``[a, b]``."""

    items: tuple[Node, ...]


@dataclass(eq=False, repr=False)
class Pairs(Node):
    """``{a: 1, "b": 2, (key): 3}``."""

    pairs: tuple[tuple[Node, Node], ...]


@dataclass(eq=False, repr=False)
class Call(Node):
    """A call of a builtin, or of a function of the scope."""

    name: str
    arguments: tuple[Node, ...]


@dataclass(eq=False, repr=False)
class Method(Node):
    """``value.Year()``: calls one of the methods of times and durations."""

    value: Node
    name: str
    arguments: tuple[Node, ...]


@dataclass(eq=False, repr=False)
class Predicate(Node):
    """A call of a builtin that evaluates ``body`` for each element of ``items``."""

    name: str
    items: Node
    body: Node | None
    extra: Node | None


def children(node: Node) -> list[Node]:
    """Return the children of ``node``, in the order of the text."""
    return list(_nodes(vars(node).values()))


def walk(node: Node) -> Iterator[Node]:
    """Yield ``node`` and every node below it, in the order of the text."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))


def _nodes(values: Iterable[Any]) -> Iterator[Node]:
    for value in values:
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            yield from _nodes(value)
