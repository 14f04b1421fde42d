"""The JSON Schema of manifests, for editors: both forms, and every kind.

It accepts every manifest that `reactor.manifest.manifest.read_manifests` accepts, and rejects the errors that a schema
can express. It can't express rules between properties.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, get_args

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from reactor.manifest.document import CcmOptions, Hierarchy, Settings
from reactor.manifest.kind_lookup import INSTALLED, Kinds
from reactor.manifest.loops import FOR_EACH, SUBITEMS
from reactor.manifest.parameters import Parameter, Type
from reactor.manifest.scalar_types import Shape, field_names
from reactor.resource.base import Resource

_REF = "#/$defs/"
_MAP_OR_NOTHING = {"type": ["object", "null"]}
_NOTHING = {"type": "null"}
_EXPRESSION: Final = {"type": "string", "pattern": r"\{\{|\$\{"}
"""The schema of an expression, which is allowed in place of a value of any type."""

_COLLECTION: Final = {"anyOf": [{"type": ["array", "object"]}, _EXPRESSION]}
_LOOP: Final = {FOR_EACH: _COLLECTION, SUBITEMS: _COLLECTION}
"""The schemas of the keys that make a declaration a loop."""


def json_schema(kinds: Kinds = INSTALLED) -> dict[str, Any]:
    """Return the schema of a manifest that uses ``kinds``. Imports all of them."""
    models = {name: kinds.find(name) for name in kinds.names()}
    wanted: list[type[BaseModel]] = [*models.values(), Settings, Hierarchy, CcmOptions, Parameter]
    refs, generated = models_json_schema(
        [(model, "validation") for model in wanted], schema_generator=_Generator
    )
    definitions: dict[str, Any] = generated["$defs"]
    entry: dict[str, Any] = {}
    for kind, model in models.items():
        ref = refs[model, "validation"]["$ref"]
        entry[kind] = _add_kind(kind, model, ref, definitions)
    definitions["entry"] = _closed(entry, minProperties=1, maxProperties=1)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "reactor manifest",
        "$defs": definitions,
        "anyOf": [_native_form(models), _ccm_form(definitions)],
    }


class _Generator(GenerateJsonSchema):
    """Generates the schema of the input of a model: the input may have more types than the fields."""

    def str_schema(self, schema: core_schema.StringSchema) -> JsonSchemaValue:
        """Return the schema of any scalar: an unquoted ``0644`` becomes a string as written."""
        return {**super().str_schema(schema), "type": ["string", "number", "boolean"]}

    def int_schema(self, schema: core_schema.IntSchema) -> JsonSchemaValue:
        """Return the schema of an integer, its digits as a string, or an expression."""
        text = {"type": "string", "pattern": rf"^\s*[-+]?\d+\s*$|{_EXPRESSION['pattern']}"}
        return {"anyOf": [super().int_schema(schema), text]}

    def bool_schema(self, schema: core_schema.BoolSchema) -> JsonSchemaValue:
        """Return the schema of a bool or an expression."""
        return {"anyOf": [super().bool_schema(schema), _EXPRESSION]}

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> JsonSchemaValue:
        """Return the schema of a value that a function converts: also any scalar.

        The schema of a model is not changed.
        """
        result = super().function_before_schema(schema)
        return result if "properties" in result else {"anyOf": [result, {"type": ["string", "number"]}]}


def _add_kind(kind: str, model: type[Resource], ref: str, definitions: dict[str, Any]) -> dict[str, Any]:
    """Add the definitions of a kind, and return the schema of the value of the kind in an entry."""
    named = definitions[ref.removeprefix(_REF)]
    properties = named["properties"]
    fields = field_names(model)
    for name in Shape(model=model).fields.keys() - properties.keys():
        properties[name] = next(each for key, each in properties.items() if fields[key] == fields[name])
    if model.providers:
        properties["provider"] = {"enum": [*model.providers, None]}
    for name, each in properties.items():
        properties[name] = {"anyOf": [each, _EXPRESSION]}
    properties.update(_LOOP)
    # In a list the name is a key, and defaults may provide missing properties.
    unnamed = {name: each for name, each in properties.items() if name != "name"}
    definitions[f"{kind} properties"] = _closed(unnamed)
    never = {"name", "alias", *_LOOP}
    definitions[f"{kind} defaults"] = _closed(
        {name: each for name, each in properties.items() if name not in never}
    )
    body = {"anyOf": [{"$ref": f"{_REF}{kind} properties"}, _NOTHING]}
    item = {**_closed({}, minProperties=1, maxProperties=1), "additionalProperties": body}
    return {"description": named.get("description", ""), "anyOf": [{"$ref": ref}, _list(item)]}


def _native_form(kinds: Iterable[str]) -> dict[str, Any]:
    assertion = _closed({"assert": {"type": "string"}, "message": {"type": "string"}}, required=["assert"])
    defaults = {kind: {"anyOf": [{"$ref": f"{_REF}{kind} defaults"}, _NOTHING]} for kind in kinds}
    parameter = {"anyOf": [{"enum": [*get_args(Type)]}, {"$ref": f"{_REF}{Parameter.__name__}"}]}
    sections = {
        **_data_sections(),
        "assertions": {"anyOf": [_list(assertion), _NOTHING]},
        "defaults": {"anyOf": [_closed(defaults), _NOTHING]},
        "parameters": {**_MAP_OR_NOTHING, "additionalProperties": parameter},
        "outputs": _MAP_OR_NOTHING,
        "shares": _MAP_OR_NOTHING,
    }
    return _closed({**sections, "resources": _list({"$ref": f"{_REF}entry"})}, required=["resources"])


def _ccm_form(definitions: dict[str, Any]) -> dict[str, Any]:
    options = {**definitions[CcmOptions.__name__]["properties"]}
    options["resources"] = {**_list({"$ref": f"{_REF}entry"}), "minItems": 1}
    block = _closed(options)
    block["oneOf"] = [{"required": ["resources"]}, {"required": ["resources_jet_file"]}]
    return _closed({**_data_sections(), "ccm": block}, required=["ccm"])


def _data_sections() -> dict[str, Any]:
    return {
        "$schema": {"type": "string"},
        "data": _MAP_OR_NOTHING,
        "hierarchy": {"anyOf": [{"$ref": f"{_REF}{Hierarchy.__name__}"}, _NOTHING]},
        "overrides": {**_MAP_OR_NOTHING, "additionalProperties": _MAP_OR_NOTHING},
        "notify": {**_MAP_OR_NOTHING, "additionalProperties": {"type": "object"}},
        "secrets": {**_MAP_OR_NOTHING, "additionalProperties": {"type": "object"}},
        "settings": {"anyOf": [{"$ref": f"{_REF}{Settings.__name__}"}, _NOTHING]},
    }


def _closed(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}
