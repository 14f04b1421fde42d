"""The default values of properties as attributes of the class of a kind, where they take little memory and time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Self, TypeVar

from reactor.resource.property_types import Model

_ResourceT = TypeVar("_ResourceT", bound="SharedDefaults")

_fields_sets: dict[frozenset[str], set[str]] = {}
"""The sets of given properties that resources share. An assignment to a property gives its resource a set of its own."""
_NO_DEFAULT = object()
_kinds_with_defaults: set[type[SharedDefaults]] = set()
"""The kinds that have the default values of their properties as attributes of the class now."""


@cache
def defaults_of(kind: type[SharedDefaults]) -> Mapping[str, Any]:
    """The default values of the properties of ``kind`` that a resource need not hold."""
    return {
        name: field.default
        for name, field in kind.model_fields.items()
        if field.default_factory is None and not field.is_required()
    }


@cache
def _with_defaults(kind: type[SharedDefaults]) -> SharedDefaults:
    """A resource with the default values only, to copy: its construction takes twenty times as long as a copy."""
    nothing: dict[str, Any] = {}
    return kind.model_construct(**nothing)


def unchecked(kind: type[_ResourceT], values: Mapping[str, Any], without: Iterable[str] = ()) -> _ResourceT:
    """A resource with ``values``, which are not validated, and otherwise the default values.

    It lacks the properties ``without``. This does what `model_copy` does, which takes five times as long.
    """
    whole = _with_defaults(kind)
    properties = {**whole.__dict__, **values}
    for name in without:
        properties.pop(name, None)
    return copy_of(kind, properties, {*values}, whole.__pydantic_private__)


def copy_of(
    kind: type[_ResourceT],
    properties: dict[str, Any],
    fields_set: set[str],
    private: Mapping[str, Any] | None = None,
) -> _ResourceT:
    """A resource that holds ``properties`` and shares ``fields_set``, the names of those given; nothing is validated."""
    found = object.__new__(kind)
    object.__setattr__(found, "__dict__", properties)
    object.__setattr__(found, "__pydantic_fields_set__", fields_set)
    object.__setattr__(found, "__pydantic_extra__", None)
    object.__setattr__(found, "__pydantic_private__", None if private is None else {**private})
    return found


def add_defaults(kind: type[SharedDefaults]) -> None:
    """Make the default values attributes of the class: reading one takes 30 ns there, and 2 µs in `__getattr__`.

    A check of a file reads 26 of them.
    """
    if kind not in _kinds_with_defaults:
        _kinds_with_defaults.add(kind)
        for name, value in defaults_of(kind).items():
            type.__setattr__(kind, name, value)


def remove_defaults(kind: type[SharedDefaults]) -> None:
    """Remove what `add_defaults` has added to ``kind`` and its bases, until the next resource of the kind is declared.

    Where pydantic builds a subclass, they would be taken for fields; in a resource with an invalid property, that
    property must be missing. Resources that were declared find their values by `SharedDefaults.__getattr__` meanwhile.
    """
    for each in _kinds_with_defaults.intersection(kind.__mro__):
        _kinds_with_defaults.discard(each)
        for name in defaults_of(each):
            type.__delattr__(each, name)


def with_shared_keys(kind: type[SharedDefaults], values: dict[str, Any]) -> dict[str, Any]:
    """A dictionary with the same ``values``. It shares the table of its keys with those of other resources of ``kind``.

    Python makes such dictionaries only for the attributes that it sets itself, and pydantic sets none. Since 3.13, those
    of classes with slots, as pydantic's, have room for 30 values.
    """
    holder: object = _holder_class(kind)()
    for name, value in values.items():
        setattr(holder, name, value)
    return vars(holder)


@cache
def _holder_class(kind: type[SharedDefaults]) -> type:
    """A class without slots, whose table of keys is that of the resources of ``kind``."""
    return type(kind.__name__, (), {})


class SharedDefaults(Model):
    """The part of a resource that drops its default values and finds those of its class."""

    def __setattr__(self, name: str, value: object) -> None:
        if self.__pydantic_fields_set__ is _fields_sets.get(frozenset(self.__pydantic_fields_set__)):
            object.__setattr__(self, "__pydantic_fields_set__", set(self.__pydantic_fields_set__))
        super().__setattr__(name, value)

    def save_memory(self) -> None:
        """Drop the default values from the instance, since its class has them, and share the set of names.

        A file has 30 properties, most of them unset: their dictionary would take 830 bytes instead of 150, and each set
        700. The manifest calls this once, after `declare`.
        """
        kind = type(self)
        given, defaults = self.__pydantic_fields_set__, defaults_of(kind)
        kept = {
            name: value
            for name, value in self.__dict__.items()
            if name in given or value is not defaults.get(name, _NO_DEFAULT)
        }
        object.__setattr__(self, "__dict__", with_shared_keys(kind, kept))
        add_defaults(kind)
        object.__setattr__(self, "__pydantic_fields_set__", _fields_sets.setdefault(frozenset(given), given))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Only in a declared resource: a property that is missing in another one was not valid.
            if "declared" in self.__dict__ and (defaults := defaults_of(type(self))) and name in defaults:
                return defaults[name]
            return super().__getattr__(name)

    def model_dump(self, **options: Any) -> dict[str, Any]:
        """As pydantic's: with the default values, unless ``options`` exclude them."""
        return super(SharedDefaults, self._with_defaults(options)).model_dump(**options)

    def model_dump_json(self, **options: Any) -> str:
        """As pydantic's: with the default values, unless ``options`` exclude them."""
        return super(SharedDefaults, self._with_defaults(options)).model_dump_json(**options)

    def _with_defaults(self, options: Mapping[str, Any]) -> Self:
        if options.get("exclude_unset") or options.get("exclude_defaults") or "declared" not in self.__dict__:
            return self
        whole = self.__copy__()
        in_order = {name: getattr(self, name) for name in type(self).model_fields}
        object.__setattr__(whole, "__dict__", in_order | self.__dict__)
        return whole

    def __copy__(self) -> Self:
        """Copy the properties and what the manifest knows, not what was derived from the properties or the host."""
        copied = super().__copy__()
        fields = type(self).model_fields
        for name in [each for each in copied.__dict__ if each not in fields and each != "declared"]:
            del copied.__dict__[name]
        return copied
