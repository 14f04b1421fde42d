"""The annotations of data in comments, brought together with the keys and items that they are about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reactor.data.annotations import Found, Path, find_annotations, has_annotations
from reactor.manifest.nodes import Mapping, Sequence


def annotations_of(root: Mapping, text: str) -> Found:
    """The annotations in ``text``, the text of ``root``, by the keys of the data."""
    if not has_annotations(text):
        return Found({}, [])
    data = root.get("data")
    others: dict[int, list[Path]] = {at: [] for _, at in root.key_offsets()}
    for at, path in (*_places_in_lists(data, ()), *_places_in_overrides(root.get("overrides"))):
        others.setdefault(at, []).append(path)
    return find_annotations(text, dict(_keys(data, ())), others)


def annotations_of_values(values: Any, text: str) -> Found:
    """The same in a text that holds ``values`` and nothing else, where only secrets may be annotated."""
    others: dict[int, list[Path]] = {}
    for at, path in _places_of_secrets(values):
        others.setdefault(at, []).append(path)
    return find_annotations(text, {}, others)


def _places_of_secrets(node: Any) -> Iterator[tuple[int, Path]]:
    """Every offset at which ``@secret`` may be said below ``node``, and what is secret then."""
    yield from ((at, path) for path, at in _keys(node, ()))
    yield from _places_in_lists(node, ())


def _keys(node: Any, path: Path) -> Iterator[tuple[Path, int]]:
    """Every key of maps within maps, with its offset."""
    if isinstance(node, Mapping):
        for key, at in node.key_offsets():
            yield (*path, key), at
            yield from _keys(node[key], (*path, key))


def _places_in_overrides(overrides: Any) -> Iterator[tuple[int, Path]]:
    for key, at in overrides.key_offsets() if isinstance(overrides, Mapping) else ():
        override = overrides[key]
        yield from ((at, (top,)) for top in override) if isinstance(override, Mapping) else ()
        yield from _places_of_secrets(override)


def _places_in_lists(node: Any, path: Path) -> Iterator[tuple[int, Path]]:
    """Every key and item within lists, with the path of the list: one with a secret in it is secret as a whole."""
    if isinstance(node, Mapping):
        for key in node:
            yield from _places_in_lists(node[key], (*path, key))
    elif isinstance(node, Sequence):
        yield from ((at, path) for at in _offsets_within(node))


def _offsets_within(node: Any) -> Iterator[int]:
    if isinstance(node, Mapping):
        for key, at in node.key_offsets():
            yield at
            yield from _offsets_within(node[key])
    elif isinstance(node, Sequence):
        for index, item in enumerate(node):
            yield node.value_at(index)
            yield from _offsets_within(item)
