"""Finds the keys and values that the JSON Schema of manifests allows at a path, and the docs of properties."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, get_args

from pydantic import BaseModel

from reactor.lsp.outline import ITEM, Path
from reactor.manifest.kind_lookup import Kinds
from reactor.manifest.scalar_types import field_names
from reactor.manifest.schema import json_schema
from reactor.resource.attribute_docs import attribute_docs
from reactor.resource.registry import find_kind, kind_names

_Schema = dict[str, Any]
_ENTRIES = (("resources", ITEM), ("ccm", "resources", ITEM), ("defaults",))
"""The paths to the maps whose keys are kinds."""
DEFAULTS = "defaults"
"""The name in a list of names that stands for the defaults of the others."""


def are_kinds(path: Path) -> bool:
    """Whether the keys at ``path`` are kinds."""
    return path in _ENTRIES


def kind_and_rest(path: Path) -> tuple[str, Path] | None:
    """Return the kind that ``path`` leads into, and the path below it; None outside resources."""
    for entries in _ENTRIES:
        if path[: len(entries)] == entries and len(path) > len(entries):
            return path[len(entries)], path[len(entries) + 1 :]
    return None


def property_path(rest: Path) -> Path:
    """Return the path of a property, from the path below its kind: in a list, the name comes first."""
    return rest[2:] if rest[:1] == (ITEM,) else rest


def keys_at(path: Path) -> list[str]:
    """Return the keys that a map at ``path`` may have."""
    if are_kinds(path):
        return [*kind_names()]
    found = (each.get("properties", {}) for each in _schemas(path))
    return list(dict.fromkeys(key for properties in found for key in properties))


def values_at(path: Path) -> list[str]:
    """Return the values of the enumeration at ``path``."""
    found: dict[str, None] = {}
    for each in _schemas(path):
        values = [True, False] if each.get("type") == "boolean" else each.get("enum", [])
        values = [each["const"]] if "const" in each else values
        found.update(
            (str(value).lower() if isinstance(value, bool) else str(value), None)
            for value in values
            if value is not None
        )
    return list(found)


def kind_docs(kind: str) -> str:
    """Return the docs of a kind. Raises KeyError for an unknown one."""
    return (find_kind(kind).__doc__ or "").strip()


def property_docs(kind: str, path: Path) -> str | None:
    """Return the docs of the property of a kind at ``path``."""
    model: type[BaseModel] | None = find_kind(kind)
    text = None
    for step in path:
        if step == ITEM:
            continue
        if model is None:
            return None
        name = field_names(model).get(step, step)
        text = attribute_docs(model).get(name)
        field = model.model_fields.get(name)
        model = next(_models((field.annotation, *field.metadata)), None) if field else None
    return text


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in annotation if isinstance(annotation, tuple) else get_args(annotation):
        yield from _models(each)


def prepare(kind: str) -> None:
    """Make the schema of a kind, if there is such a kind, so that its first completion does not wait for it."""
    if kind in kind_names():
        _root(kind)


@cache
def _root(kind: str | None) -> _Schema:
    """Return the schema of a manifest with one kind, or none: importing all kinds takes most of a second."""
    names = () if kind is None else (kind,)
    return json_schema(Kinds(lambda: names, find_kind))


def _schemas(path: Path) -> list[_Schema]:
    """Return the alternative schemas of the value at ``path``."""
    within = kind_and_rest(path)
    kind = within[0] if within else None
    if kind is not None and kind not in kind_names():
        return []
    return _walk(kind, path)


@lru_cache(maxsize=4096)
def _walk(kind: str | None, path: Path) -> list[_Schema]:
    root = _root(kind)
    found = [*_alternatives(root, root)]
    for step in path:
        below = (_below(each, step) for each in found)
        found = [each for schema in below if schema is not None for each in _alternatives(schema, root)]
    return found


def _below(schema: _Schema, step: str) -> _Schema | None:
    if step == ITEM:
        found = schema.get("items")
    else:
        found = schema.get("properties", {}).get(step, schema.get("additionalProperties"))
    return found if isinstance(found, dict) else None


def _alternatives(schema: _Schema, root: _Schema) -> Iterator[_Schema]:
    if (ref := schema.get("$ref")) is not None:
        yield from _alternatives(root["$defs"][ref.removeprefix("#/$defs/")], root)
    elif any(key in schema for key in ("anyOf", "oneOf", "allOf")) and "properties" not in schema:
        for key in ("anyOf", "oneOf", "allOf"):
            for each in schema.get(key, ()):
                yield from _alternatives(each, root)
    else:
        yield schema
