"""How layers of plain values are merged, and which layer each leaf of a merged tree came from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple


def deep_merge(base: Any, over: Any) -> Any:
    """``base`` with ``over`` on top. Neither is changed; the result may share parts with both.

    Maps are merged key by key and lists are put one after the other, without removing what is twice there.
    Everything else, null and values of different kinds included, is replaced.
    """
    if isinstance(base, dict) and isinstance(over, dict):
        merged = dict(base)
        for key, value in over.items():
            merged[key] = deep_merge(base[key], value) if key in base else value
        return merged
    if isinstance(base, list) and isinstance(over, list):
        return [*base, *over]
    return over


LeafPath = tuple[str | int, ...]
"""The keys, and at the end maybe the index in a list, that lead to a leaf."""


class Leaf(NamedTuple):
    """Anything but a map or a list, or one item of a list, which merging never looks into."""

    value: Any
    layer: str


def layered(value: Any, layer: str) -> Any:
    """``value`` with all its leaves marked as those of ``layer``."""
    if isinstance(value, dict):
        return {key: layered(inner, layer) for key, inner in value.items()}
    return [Leaf(item, layer) for item in value] if isinstance(value, list) else Leaf(value, layer)


def plain(tree: Any) -> Any:
    """The values of a layered tree."""
    if isinstance(tree, dict):
        return {key: plain(inner) for key, inner in tree.items()}
    return [leaf.value for leaf in tree] if isinstance(tree, list) else tree.value


def layers(tree: Any, path: LeafPath = ()) -> Iterator[tuple[LeafPath, str]]:
    """The path and the layer of every leaf. An empty map or list has no leaf, so no layer is told of it."""
    if isinstance(tree, Leaf):
        yield path, tree.layer
        return
    for key, inner in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield from layers(inner, (*path, key))
