"""Merges layers of plain values, and records which layer each leaf of a merged tree came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reactor.named_tuple import NamedTuple


def deep_merge(base: Any, over: Any) -> Any:
    """Return a copy of ``base`` with ``over`` merged into it. Changes neither; the result may share parts with both.

    Merges maps key by key, and concatenates lists, including duplicates. Any other value of ``over``, also null or one
    of another kind, replaces that of ``base``.
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
"""The keys that lead to a leaf. The last may be an index in a list."""


class Leaf(NamedTuple):
    """A scalar, or one item of a list. Merging never changes a leaf."""

    value: Any
    layer: str


def layered(value: Any, layer: str) -> Any:
    """Return ``value`` with each leaf marked as coming from ``layer``."""
    if isinstance(value, dict):
        return {key: layered(inner, layer) for key, inner in value.items()}
    return [Leaf(item, layer) for item in value] if isinstance(value, list) else Leaf(value, layer)


def layered_by(value: Any, layer_of: Mapping[LeafPath, str], path: LeafPath = ()) -> Any:
    """Return ``value`` with each leaf marked as coming from the layer that ``layer_of`` has for its path."""
    if isinstance(value, dict):
        return {key: layered_by(inner, layer_of, (*path, key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [Leaf(item, layer_of[(*path, index)]) for index, item in enumerate(value)]
    return Leaf(value, layer_of[path])


def plain(tree: Any) -> Any:
    """Return the plain values of a layered tree."""
    if isinstance(tree, dict):
        return {key: plain(inner) for key, inner in tree.items()}
    return [leaf.value for leaf in tree] if isinstance(tree, list) else tree.value


def layers(tree: Any, path: LeafPath = ()) -> Iterator[tuple[LeafPath, str]]:
    """Yield the path and the layer of every leaf. An empty map or list has no leaf, so no layer."""
    if isinstance(tree, Leaf):
        yield path, tree.layer
        return
    for key, inner in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield from layers(inner, (*path, key))
