"""Functions on maps. A template can change only maps that it made: all templates share the data of the manifest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reactor.language.errors import Fault
from reactor.language.templates.budget import current_budget
from reactor.language.templates.calls import Functions
from reactor.language.templates.values import OwnMap, go_type, sorted_keys, string_of


def make(*pairs: Any) -> OwnMap:
    """Return a map of alternating keys and values."""
    values = (*pairs[1::2], *([""] if len(pairs) % 2 else ()))
    return OwnMap(zip(map(string_of, pairs[::2]), values, strict=True))


def own(mapping: dict[str, Any]) -> OwnMap:
    """Return ``mapping`` if a template made it. Raises Fault for data that other templates use too."""
    if not isinstance(mapping, OwnMap):
        raise Fault("can't change data from outside the template", "change a copy of it: deepCopy")
    return mapping


def put(mapping: dict[str, Any], key: str, value: Any) -> OwnMap:
    """Set a key and return the map."""
    own(mapping)[key] = value
    return own(mapping)


def unset(mapping: dict[str, Any], key: str) -> OwnMap:
    """Remove a key and return the map."""
    own(mapping).pop(key, None)
    return own(mapping)


def get(mapping: dict[str, Any], key: str) -> Any:
    """Return the value of a key, or an empty string if it is missing."""
    return mapping.get(key, "")


def has_key(mapping: dict[str, Any], key: str) -> bool:
    """Whether the map has the key."""
    return key in mapping


def keys(*mappings: dict[str, Any]) -> list[str]:
    """Return the keys of all maps, sorted within each map."""
    return [key for mapping in mappings for key in sorted_keys(mapping)]


def values(mapping: dict[str, Any]) -> list[Any]:
    """Return the values in the order of their keys."""
    return [mapping[key] for key in sorted_keys(mapping)]


def pluck(key: str, *mappings: dict[str, Any]) -> list[Any]:
    """Return the values of one key in the maps that have it."""
    return [mapping[key] for mapping in mappings if key in mapping]


def pick(mapping: dict[str, Any], *names: str) -> OwnMap:
    """Return a map with only these keys."""
    return OwnMap((name, mapping[name]) for name in names if name in mapping)


def omit(mapping: dict[str, Any], *names: str) -> OwnMap:
    """Return a map without these keys."""
    return OwnMap((key, value) for key, value in mapping.items() if key not in names)


def merge(target: dict[str, Any], *sources: dict[str, Any]) -> OwnMap:
    """Add the missing keys of the sources to ``target``, also in nested maps."""
    return _merged(target, sources, overwrite=False)


def merge_overwrite(target: dict[str, Any], *sources: dict[str, Any]) -> OwnMap:
    """Merge the sources into ``target``. Later values replace earlier ones."""
    return _merged(target, sources, overwrite=True)


def _merged(target: dict[str, Any], sources: tuple[dict[str, Any], ...], *, overwrite: bool) -> OwnMap:
    found = target if isinstance(target, OwnMap) else OwnMap(target)
    current_budget().charge_value(sources)
    for source in sources:
        for key, value in source.items():
            mine = found.get(key)
            if isinstance(mine, Mapping) and isinstance(value, Mapping):
                found[key] = _merged(dict(mine), (dict(value),), overwrite=overwrite)
            elif not mine or (overwrite and value):
                found[key] = value
    return found


def deep_copy(value: Any) -> Any:
    """Return a deep copy. The template may change the copy."""
    current_budget().charge_value(value)
    return _copied(value)


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return OwnMap((key, _copied(item)) for key, item in value.items())
    return list(map(_copied, value)) if isinstance(value, list | tuple) else value


def dig(*path: Any) -> Any:
    """Return the value at a path of keys, or the default: ``dig "a" "b" "default" .map``."""
    if len(path) < 3:  # noqa: PLR2004  a key, the default and the map
        raise Fault("dig needs at least three arguments")
    *names, fallback, value = path
    for name in names:
        if not isinstance(value, Mapping):
            raise Fault(f"can't look for {string_of(name)} in a {go_type(value)}")
        if name not in value:
            return fallback
        value = value[name]
    return value


FUNCTIONS: Functions = {
    "deepCopy": deep_copy,
    "dict": make,
    "dig": dig,
    "get": get,
    "hasKey": has_key,
    "keys": keys,
    "merge": merge,
    "mergeOverwrite": merge_overwrite,
    "mustDeepCopy": deep_copy,
    "mustMerge": merge,
    "mustMergeOverwrite": merge_overwrite,
    "omit": omit,
    "pick": pick,
    "pluck": pluck,
    "set": put,
    "unset": unset,
    "values": values,
}
