"""The scalar types of properties. They show which properties are strings, and so get ``0644`` as written.

The shape of a type is read from its annotation, once per kind. Values of unknown shape are not changed.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Collection
from collections.abc import Mapping as AbstractMapping
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import AliasChoices, BaseModel
from pydantic.fields import FieldInfo

from reactor.named_tuple import NamedTuple
from reactor.resource.health import TakenBy

_SCALARS = (str, int, float, bool)


class Shape(NamedTuple):
    """``scalars`` are the types that a scalar may have, empty if unknown; ``choices`` its only valid values, if any.

    ``items`` is the shape of a list's items, ``values`` that of the values of a map with any keys. ``model`` is the
    class of a map with fields. ``later`` returns the shape of a type that is imported only when needed.
    """

    scalars: frozenset[type] = frozenset()
    choices: tuple[str, ...] = ()
    items: Shape | None = None
    values: Shape | None = None
    model: type[BaseModel] | None = None
    later: Callable[[], Shape] | None = None

    @property
    def fields(self) -> dict[str, Shape]:
        """The shape of each field of the model, by every name that the field accepts."""
        return _fields(self.model) if self.model else {}

    def inside(self, key: str | int) -> Shape:
        """Return the shape of the entry or item ``key`` of a map or list."""
        if isinstance(key, int):
            return self.items or UNKNOWN
        inner = self.fields.get(key) or self.values or UNKNOWN
        return inner.later() if inner.later else inner

    def fit(self, value: Any, raw: str) -> Any:
        """Return ``value``, or its source text ``raw`` where the type requires a string."""
        if not self.scalars or type(value) in self.scalars:
            return value
        return value if type(value) is int and float in self.scalars else raw


UNKNOWN = Shape()


@cache
def field_names(model: type[BaseModel]) -> dict[str, str]:
    """Return the name of the field for each accepted name: a field may have aliases."""
    return {
        name: field_name
        for field_name, info in model.model_fields.items()
        for name in (*_names(field_name, info), field_name)
    }


@cache
def _fields(model: type[BaseModel]) -> dict[str, Shape]:
    return {
        name: _field_shape(info)
        for field_name, info in model.model_fields.items()
        for name in _names(field_name, info)
    }


def _field_shape(info: FieldInfo) -> Shape:
    mark = next((each for each in info.metadata if isinstance(each, TakenBy)), None)
    return _shape(info.annotation) if mark is None else Shape(later=lambda: _shape(mark.type))


def _names(field_name: str, info: FieldInfo) -> tuple[str, ...]:
    alias = info.validation_alias
    if isinstance(alias, AliasChoices):
        return tuple(choice for choice in alias.choices if isinstance(choice, str))
    return (alias,) if isinstance(alias, str) else (field_name,)


def other_name(shape: Shape, name: str) -> str | None:
    """Return another name of the field that is called ``name`` in the model of ``shape``; None if there is none."""
    names = field_names(shape.model) if shape.model else {}
    others = (other for other in shape.fields if other != name and names[other] == names.get(name))
    return next(others, None)


def _shape(annotation: Any) -> Shape:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _shape(arguments[0])
    if origin in (Union, types.UnionType):
        return _union([_shape(argument) for argument in arguments if argument is not type(None)])
    if origin is Literal:
        return _choice_shape(arguments)
    if isinstance(annotation, type):
        return _class_shape(annotation)
    if isinstance(origin, type) and arguments:
        return _container_shape(origin, arguments)
    return UNKNOWN


def _class_shape(annotation: type) -> Shape:
    if issubclass(annotation, BaseModel):
        return Shape(model=annotation)
    if issubclass(annotation, Enum):
        return _choice_shape([member.value for member in annotation])
    return Shape(scalars=frozenset(scalar for scalar in _SCALARS if annotation is scalar))


def _choice_shape(choices: Collection[Any]) -> Shape:
    return Shape(frozenset(type(choice) for choice in choices), tuple(str(choice) for choice in choices))


def _container_shape(origin: type, arguments: tuple[Any, ...]) -> Shape:
    if issubclass(origin, AbstractMapping):
        return Shape(values=_shape(arguments[-1]))
    return Shape(items=_shape(arguments[0]))


def _union(shapes: list[Shape]) -> Shape:
    return Shape(
        scalars=frozenset().union(*(shape.scalars for shape in shapes)),
        choices=tuple(choice for shape in shapes for choice in shape.choices),
        items=next((shape.items for shape in shapes if shape.items), None),
        values=next((shape.values for shape in shapes if shape.values), None),
        model=next((shape.model for shape in shapes if shape.model), None),
    )
