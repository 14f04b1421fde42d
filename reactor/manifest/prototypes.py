"""Makes the resources of a long list from the first that has the same properties: only what differs is validated.

What pydantic does for a resource takes most of the time of a load, and does the same for each item of a list whose values
come from its defaults. Where that is not certain, or anything is wrong, the item is bound as any other, which reports it.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as AbstractMapping
from functools import cache
from typing import Any, Self

from pydantic import BaseModel, ValidationError
from pydantic.fields import ModelPrivateAttr
from pydantic_core import SchemaValidator

from reactor.language.errors import ExpressionError
from reactor.language.expression import parse_template
from reactor.manifest.declaration import Declaration
from reactor.manifest.nodes import Mapping
from reactor.manifest.resource_factory import Bound, ResourceFactory
from reactor.manifest.resource_table import ResourceTable
from reactor.manifest.scalar_types import Shape, field_names
from reactor.manifest.source import Problems
from reactor.named_tuple import NamedTuple
from reactor.resource.base import Resource
from reactor.resource.class_defaults import copy_of
from reactor.resource.composite import Composite
from reactor.resource.declared import Declared

_SCALARS = (str, int, float, bool, type(None))
_LEAVES = frozenset(("str", "bool", "int", "float", "literal"))
_INNER = {
    "default": "schema",
    "nullable": "schema",
    "function-after": "schema",
    "function-before": "schema",
    "tuple": "items_schema",
}
"""The schemas around others whose results depend on the value only, and never change."""
_RULES = "_reject_conflicts"
"""The model validator of every kind. It calls `Resource.property_problems`."""
_PLAIN_POST_INITS = (BaseModel.model_post_init, Composite.model_post_init)
"""The one that does nothing, and the one that pydantic gives to a kind with private attributes, to set their defaults."""
_SPECIAL = frozenset(("alias", "control", "register_when_stable"))
"""Properties for which more is done than to validate them."""
_MOST = 100
"""The most prototypes of a list. A list that needs more has hardly two items alike."""

Validate = Callable[[Any], Any]


class _Value(NamedTuple):
    """The ``given`` value of a property, and its source text ``raw`` if it is not a string."""

    given: Any
    raw: str | None
    shape: Shape

    def is_given(self, value: Any, raw: str | None) -> bool:
        """Whether ``value`` is the given one, written alike."""
        return value.__class__ is self.given.__class__ and value == self.given and raw == self.raw

    def fitting(self, value: Any, raw: str | None) -> Any:
        """What the property gets of ``value``, which is not a string."""
        return value if value is None else self.shape.fit(value, raw or "")


_Slot = tuple[str, str, Validate | None, _Value]
"""A key of an item, and its property. Without the function to validate it, only the given value is known to be valid."""


class _Prototype(NamedTuple):
    """The properties of a valid resource, and the ``slots`` of those that its item gives, in the order of the item.

    ``private`` are the attributes of a new resource that are no properties; None if its kind has none.
    """

    properties: dict[str, Any]
    fields_set: set[str]
    private: AbstractMapping[str, Any] | None
    name: Validate
    slots: tuple[_Slot, ...]

    @classmethod
    def of(cls, body: Mapping, made: Bound) -> Self | None:
        """The prototype of what was ``made`` of an item with this ``body``; None if others can't be made from it."""
        model, validators = type(made.resource), _validators(type(made.resource))
        names = field_names(model)
        fields = [names.get(key) for key in made.values.plain]
        is_plain = made.deferred is None and not (made.warnings or made.values.secret)
        is_unique = None not in fields and len({*fields}) == len(fields)
        if "name" not in validators or not (is_plain and is_unique and _SPECIAL.isdisjoint(fields)):
            return None
        properties = made.resource.__dict__.copy()  # which shares the table of its keys
        is_known = properties.keys() <= {"declared", *model.model_fields}
        if not (
            is_known and all(_is_constant(properties[name]) for name in properties.keys() - {"declared"})
        ):
            return None
        shape = Shape(model=model)
        slots = (
            (key, names[key], validators.get(names[key]), _Value(value, body.raw(key), shape.inside(key)))
            for key, value in body.items()
        )
        private = {name: each.default for name, each in model.__private_attributes__.items()} or None
        fields_set = made.resource.__pydantic_fields_set__
        return cls(properties, fields_set, private, validators["name"], tuple(slots))

    def filled(self, name: str, body: Mapping) -> dict[str, Any] | None:
        """The properties of the item ``name``; None if that is not certain. Raises ValidationError and ExpressionError."""
        if "{" in name and parse_template(name) is not None:
            return None
        properties = self.properties.copy()
        properties["name"] = self.name(name)
        for (key, field, validate, slot), value in zip(self.slots, body.values(), strict=True):
            if value.__class__ is str:
                # One character is found ten times as fast as two.
                if "{" in value and ("{{" in value or "${" in value):
                    return None
            elif value.__class__ not in _SCALARS:
                return None
            if validate is None:
                if not slot.is_given(value, body.raw(key)):
                    return None
            elif value.__class__ is str:
                properties[field] = validate(value)
            else:
                properties[field] = validate(slot.fitting(value, body.raw(key)))
        return properties


class Prototypes:
    """The prototypes of one list of ``model``, by the keys that its items give."""

    def __init__(
        self, model: type[Resource], problems: Problems, table: ResourceTable, factory: ResourceFactory
    ) -> None:
        self._model = model
        self._prefix = f"{model.kind}#"
        self._problems = problems
        self._table = table
        self._factory = factory
        self._prototypes: dict[tuple[str, ...], _Prototype | None] = {}

    def learn(self, body: Mapping | None, made: Bound) -> None:
        """Use what was ``made`` of an item for the items with the same keys."""
        keys = tuple(body or ())
        if keys not in self._prototypes and len(self._prototypes) < _MOST:
            self._prototypes[keys] = _Prototype.of(body or Mapping(0), made)

    def add(self, name: str, declaration: Declaration) -> bool:
        """Add the resource of the item ``name``, and return True, if it is certain that it is valid. Else do nothing."""
        body = declaration.body
        prototype = self._prototypes.get(tuple(body) if body is not None else ())
        if prototype is None:
            return False
        try:
            properties = prototype.filled(name, Mapping(0) if body is None else body)
        except (ValidationError, ExpressionError):
            return False
        if properties is None:
            return False
        claimed = self._prefix + name
        ref = claimed if properties["name"] == name else self._prefix + properties["name"]
        properties["declared"] = Declared(ref, self._factory.form, declaration.at)
        resource = copy_of(self._model, properties, prototype.fields_set, prototype.private)
        if any(resource.property_problems()) or any(resource.warnings()):
            return False
        if not self._table.take(claimed, declaration.at, self._problems):
            return False
        self._factory.direct.append(len(self._table.resources))
        self._table.add(resource, declaration)
        return True


@cache
def _validators(model: type[Resource]) -> dict[str, Validate]:
    """The validators of the properties of ``model`` whose values depend on nothing else; empty if it has rules of its own."""
    decorators = model.__pydantic_decorators__
    own = [name for name in decorators.model_validators if name != _RULES]
    if (
        own
        or decorators.field_validators
        or decorators.validators
        or decorators.root_validators
        or not all(map(_is_always_new, model.__private_attributes__.values()))
        or model.__pydantic_custom_init__
        or model.model_post_init not in _PLAIN_POST_INITS
        or getattr(model, _RULES) is not getattr(Resource, _RULES)
    ):
        return {}
    schema: Any = model.__pydantic_core_schema__
    config = None
    while isinstance(schema, dict) and schema.get("type") != "model-fields":
        config = schema.get("config", config)
        schema = schema.get("schema")
    fields = schema["fields"] if isinstance(schema, dict) else {}
    return {
        name: SchemaValidator(field["schema"], config).validate_python
        for name, field in fields.items()
        if _is_independent(field["schema"])
    }


def _is_independent(schema: Any) -> bool:
    """Whether the result depends on the value only, and never changes."""
    kind = schema.get("type")
    if kind in _LEAVES:
        return True
    function = schema.get("function")
    if function is not None and function.get("type") != "no-info":
        return False
    inner = schema.get(_INNER.get(kind, ""))
    return all(map(_is_independent, inner if isinstance(inner, list) else [inner])) if inner else False


def _is_always_new(attribute: ModelPrivateAttr) -> bool:
    """Whether a private attribute has the same value in each new resource."""
    return attribute.default_factory is None and _is_constant(attribute.default)


def _is_constant(value: Any) -> bool:
    """Whether resources can share ``value``."""
    if isinstance(value, BaseModel):
        return bool(value.model_config.get("frozen")) and all(map(_is_constant, vars(value).values()))
    return all(map(_is_constant, value)) if value.__class__ is tuple else value.__class__ in _SCALARS
