"""What an invalid declaration leaves: a resource with its name and references only, and the errors of its properties."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from pydantic import ConfigDict, TypeAdapter, ValidationError

from reactor.manifest.validation import Finding
from reactor.manifest.values import Values
from reactor.resource.base import Resource
from reactor.resource.class_defaults import unchecked
from reactor.resource.common_properties import Meta, Subscriptions
from reactor.resource.property_types import References

_REFERENCES: dict[str, TypeAdapter[Any]] = {
    name: TypeAdapter(taken, config=ConfigDict(defer_build=True))
    for name, taken in (("require", References), ("subscribe", Subscriptions), ("after", References))
}
_WITHOUT_EDGES = Meta.model_construct(automatic_edges=False)


class Failed(NamedTuple):
    """A placeholder, with what it was made from, and the errors found beside those of its expressions."""

    resource: Resource
    values: Values
    findings: tuple[Finding, ...]


def placeholder(model: type[Resource], given: Mapping[str, Any]) -> Resource:
    """Return a resource with only its name and references: these are checked even if other properties are invalid."""
    valid = {"name": given["name"], "meta": _WITHOUT_EDGES}
    if isinstance(given.get("alias"), str):
        valid["alias"] = given["alias"]
    for name in _REFERENCES.keys() & given.keys():
        with suppress(ValidationError):
            valid[name] = _REFERENCES[name].validate_python(given[name])
    return unchecked(model, valid)
