"""The properties of a kind, for descriptions and options: names, types, defaults, meaning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

from pydantic.fields import FieldInfo

from reactor.manifest.scalar_types import Shape, field_names
from reactor.manifest.scalars import plain_value
from reactor.resource.attribute_docs import attribute_docs
from reactor.resource.base import Resource
from reactor.resource.property_types import parse_duration

_TEXT = frozenset((str,))


@dataclass(frozen=True)
class Property:
    """One property. ``names`` are all its names in a manifest, the usual one first; ``default`` is a JSON value.

    ``is_secret`` says that it is left out of the `repr` of the resource.
    """

    field: str
    names: tuple[str, ...]
    shape: Shape
    meaning: str
    required: bool
    default: Any
    is_duration: bool
    is_secret: bool

    @property
    def name(self) -> str:
        """Its usual name in a manifest."""
        return self.names[0]

    @property
    def is_flag(self) -> bool:
        """Whether it is a boolean."""
        return self.shape.scalars == {bool}

    @property
    def is_map(self) -> bool:
        """Whether it is a map or a model."""
        return self.shape.values is not None or self.shape.model is not None

    @property
    def takes_pairs(self) -> bool:
        """Whether an option for it takes ``KEY=VALUE``: for a map, or a list of maps with one key."""
        return self.is_map or (self.shape.items is not None and self.shape.items.values is not None)

    @property
    def type(self) -> str:
        """The type as text."""
        if self.shape.items is not None:
            return f"list of {_word(self.shape.items)}"
        return "duration" if self.is_duration else _word(self.shape)


def properties_of(model: type[Resource]) -> list[Property]:
    """The properties of a kind in order; first the properties that every kind has."""
    docs = attribute_docs(model)
    names: dict[str, list[str]] = {}
    shapes = Shape(model=model).fields
    for name in shapes:
        names.setdefault(field_names(model)[name], []).append(name)
    return [
        Property(
            field,
            tuple(names[field]),
            shapes[names[field][0]],
            " ".join(docs.get(field, "").replace("``", "`").split()),
            info.is_required(),
            _default(model, field, info),
            any(getattr(mark, "func", None) is parse_duration for mark in _marks(info)),
            not info.repr,
        )
        for field, info in model.model_fields.items()
    ]


def value_of(shape: Shape, text: str) -> tuple[Any, str | None]:
    """The value of ``text``, from a command line, for ``shape``; and ``text`` itself, or None if the value is a string.

    If only a string is valid, the value is always a string, also ``null`` or an empty one.
    """
    try:
        value = text if shape.scalars == _TEXT else plain_value(text)
    except ValueError:
        value = text
    return (text, None) if value is None or isinstance(value, str) else (value, text)


def _word(shape: Shape) -> str:
    if shape.choices:
        return " | ".join(shape.choices)
    words = {bool: "true | false", int: "integer", float: "number", str: "text"}
    possible = [word for scalar, word in words.items() if scalar in shape.scalars]
    if shape.values is not None or shape.model is not None:
        possible.append("map")
    return " or ".join(possible) or "value"


def _default(model: type[Resource], field: str, info: FieldInfo) -> Any:
    """The default as a JSON value; None if there is no default, or it is null."""
    if info.is_required() or info.default is None:
        return None
    builder = model.model_construct(**{field: info.get_default(call_default_factory=True)})
    return builder.model_dump(mode="json", include={field}, exclude_defaults=False)[field]


def _marks(info: FieldInfo) -> Iterator[Any]:
    """The metadata in the type of the field, also for a type ``... | None``."""
    yield from info.metadata
    for argument in get_args(info.annotation):
        yield from getattr(argument, "__metadata__", ())
