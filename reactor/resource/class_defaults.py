"""The default values of properties as attributes of the class of a kind, where reading one is cheap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reactor.resource.base import Resource

_kinds_with_defaults: set[type[Resource]] = set()
"""The kinds that have the default values of their properties as attributes of the class now."""


@cache
def defaults_of(kind: type[Resource]) -> Mapping[str, Any]:
    """The default values of the properties of ``kind`` that a resource need not hold."""
    return {
        name: field.default
        for name, field in kind.model_fields.items()
        if field.default_factory is None and not field.is_required()
    }


@cache
def _with_defaults(kind: type[Resource]) -> Resource:
    """A resource with the default values only, to copy: its construction takes twenty times as long as a copy."""
    nothing: dict[str, Any] = {}
    return kind.model_construct(**nothing)


def unchecked(kind: type[Resource], values: Mapping[str, Any], without: Iterable[str] = ()) -> Resource:
    """A resource with ``values``, which are not validated, and otherwise the default values.

    It lacks the properties ``without``. This does what `model_copy` does, which takes five times as long.
    """
    whole = _with_defaults(kind)
    properties = {**whole.__dict__, **values}
    for name in without:
        properties.pop(name, None)
    return copy_of(kind, properties, {*values}, whole.__pydantic_private__)


def copy_of(
    kind: type[Resource],
    properties: dict[str, Any],
    fields_set: set[str],
    private: Mapping[str, Any] | None = None,
) -> Resource:
    """A resource that holds ``properties`` and shares ``fields_set``, the names of those given; nothing is validated."""
    found = object.__new__(kind)
    object.__setattr__(found, "__dict__", properties)
    object.__setattr__(found, "__pydantic_fields_set__", fields_set)
    object.__setattr__(found, "__pydantic_extra__", None)
    object.__setattr__(found, "__pydantic_private__", None if private is None else {**private})
    return found


def add_defaults(kind: type[Resource]) -> None:
    """Make the default values attributes of the class: reading one takes 30 ns there, and 2 µs in `__getattr__`.

    A check of a file reads 26 of them.
    """
    if kind not in _kinds_with_defaults:
        _kinds_with_defaults.add(kind)
        for name, value in defaults_of(kind).items():
            type.__setattr__(kind, name, value)


def remove_defaults(kind: type[Resource]) -> None:
    """Remove what `add_defaults` has added to ``kind`` and its bases, until the next resource of the kind is declared.

    Where pydantic builds a subclass, they would be taken for fields; in a resource with an invalid property, that
    property must be missing. Resources that were declared find their values by `Resource.__getattr__` meanwhile.
    """
    for each in _kinds_with_defaults.intersection(kind.__mro__):
        _kinds_with_defaults.discard(each)
        for name in defaults_of(each):
            type.__delattr__(each, name)


def with_shared_keys(kind: type[Resource], values: dict[str, Any]) -> dict[str, Any]:
    """A dictionary with the same ``values``. It shares the table of its keys with those of other resources of ``kind``.

    Python makes such dictionaries only for the attributes that it sets itself, and pydantic sets none.
    """
    holder = object.__new__(kind)
    for name, value in values.items():
        object.__setattr__(holder, name, value)
    return holder.__dict__
