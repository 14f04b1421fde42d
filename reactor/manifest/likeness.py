"""Whether two nodes of manifests are written alike, and whether two values are the same."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from reactor.manifest.nodes import Mapping, Sequence


def is_alike(one: Mapping | None, other: Mapping | None) -> bool:
    """Whether two maps are written alike, wherever they are."""
    return one is other or (one is not None and one.is_like(other))


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal and of the same types: 1, 1.0 and true are equal, and not the same."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return [*one] == [*other] and all(map(is_same, one.values(), other.values()))
    if isinstance(one, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return bool(one == other)


def only(node: Mapping | None, keys: Collection[str]) -> Mapping | None:
    """Return a map with the entries of ``node`` that have one of these ``keys``."""
    if node is None:
        return None
    found = Mapping(node.at)
    for key, key_at in node.key_offsets():
        if key in keys:
            found.put(key, node[key], key_at, node.value_at(key), node.raw(key))
    return found


def has_expression(value: Any) -> bool:
    """Whether a value may have an expression, in a key or a value."""
    if isinstance(value, str):
        return "{" in value
    inside = (*value, *value.values()) if isinstance(value, Mapping) else value
    return isinstance(value, Mapping | Sequence) and any(map(has_expression, inside))
