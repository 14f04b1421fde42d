"""``parameters``: the values that a role takes, their types, and the check of what a caller gives."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping as AbstractMapping
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import Field, FiniteFloat, ValidationError

from reactor.language.errors import FunctionError
from reactor.language.regex import compile_pattern
from reactor.language.secrets import SecretText, paths_of_secrets
from reactor.language.unknown import holds_unknown, opened
from reactor.manifest.declaration import Declaration
from reactor.manifest.document import PARAMETERS
from reactor.manifest.expression_context import ExpressionContext
from reactor.manifest.nodes import INVALID, Mapping
from reactor.manifest.phrasing import listed, shown
from reactor.manifest.source import Problems
from reactor.manifest.validation import Inspector
from reactor.manifest.values import ValueReader, checked_map
from reactor.resource.diagnostic import PropertyPath
from reactor.resource.property_types import Flag, Model
from reactor.resource.redaction import register_secret

ROOT = "Parameters"
Type = Literal["string", "integer", "number", "boolean", "list", "map", "any"]
_PYTHON: AbstractMapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "list": (list,),
    "map": (dict,),
    "any": (object,),
}
_RULES_OF: AbstractMapping[str, tuple[Type, ...]] = {
    "of": ("list", "map"),
    "minimum": ("integer", "number"),
    "maximum": ("integer", "number"),
    "pattern": ("string",),
}
"""The rules that look at values of some types only, and these types."""
_CALLED = {"boolean": "true or false", "integer": "an integer", "any": "a value"}


class Parameter(Model):
    """One parameter of a role."""

    type: Type = "any"
    """The type of its value."""
    items: Annotated[Type | None, Field(alias="of")] = None
    """The type of each element of a list or map."""
    default: Any = None
    """The value if the caller gives none; a parameter without a default is required. It may use Data and Facts."""
    choices: Annotated[list[Any] | None, Field(min_length=1)] = None
    """The only values that are allowed."""
    minimum: int | FiniteFloat | None = None
    """The smallest number that is allowed."""
    maximum: int | FiniteFloat | None = None
    """The largest number that is allowed."""
    pattern: str | None = None
    """A regular expression that must match the whole string."""
    secret: Flag = False
    """Whether the value is a secret, whatever the caller says."""
    description: str | None = None
    """What it is for."""


class Fault(NamedTuple):
    """A problem of a value, and its place within it."""

    path: PropertyPath
    message: str
    hint: str | None = None


class Declared(NamedTuple):
    """A parameter, the offset of its name, and whether it has a default."""

    parameter: Parameter
    at: int
    has_default: bool


class Bound(NamedTuple):
    """The values of all parameters, and the paths in them that are secret."""

    values: dict[str, Any]
    secrets: frozenset[tuple[str, ...]]


def read_parameters(
    root: Mapping, problems: Problems, expression_context: ExpressionContext
) -> dict[str, Declared]:
    """Return the parameters that the manifest ``root`` declares. Reports invalid ones, and leaves them out."""
    section = checked_map(PARAMETERS, root, problems, "write 'port: {type: integer}' below it", code="R0120")
    if section is None:
        return {}
    found: dict[str, Declared] = {}
    reader = ValueReader(problems, expression_context.scope)
    for name, node in section.items():
        at = section.key_at(name)
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            hint = "use letters, digits and _, so that expressions can have Parameters.NAME"
            problems.add("R0120", f"{shown(name)} can't be the name of a parameter", at, hint)
        elif isinstance(node, str):
            word = Mapping(section.value_at(name))
            word.put("type", node, section.value_at(name), section.value_at(name), None)
            _add(found, name, word, at, reader, problems)
        elif isinstance(node, Mapping):
            _add(found, name, node, at, reader, problems)
        elif node is not INVALID:
            message = f"the parameter {name} must have a type, or a map of properties, not {shown(node)}"
            problems.add("R0120", message, at, f"the types are {listed(get_args(Type), 'and')}")
    return found


def _add(  # noqa: PLR0917 - all of one declaration
    found: dict[str, Declared], name: str, node: Mapping, at: int, reader: ValueReader, problems: Problems
) -> None:
    """Add the parameter that ``node`` declares, or report what is wrong with it."""
    values = reader.read(node, Parameter)
    if values.invalid:
        return
    try:
        parameter = Parameter.model_validate(values.plain)
        if parameter.pattern is not None:
            compile_pattern(parameter.pattern)
    except ValidationError as error:
        inspector = Inspector(problems, Parameter, Declaration(node.at, node), f"the parameter {name}")
        inspector.report(error, values)
        return
    except FunctionError as error:
        problems.add("R0120", f"pattern: {error.message}", node.value_at("pattern"), error.hint)
        return
    if not _has_fitting_rules(parameter, name, node, problems):
        return
    has_default = "default" in node
    if has_default and parameter.default is not None:
        for fault in _faults(parameter, parameter.default, f"the default of {name}", ()):
            problems.add("R0121", fault.message, node.value_at("default"), fault.hint)
    found[name] = Declared(parameter, at, has_default)


def _has_fitting_rules(parameter: Parameter, name: str, node: Mapping, problems: Problems) -> bool:
    """Return whether the rules fit the type. Report each that no value can keep, or that no value can break."""
    found: list[tuple[str, int, str]] = []
    for rule, types in _RULES_OF.items():
        if rule in node and parameter.type not in (*types, "any"):
            message = f"{rule} goes with the type {listed(types)}, and {name} is of type {parameter.type}"
            found.append((message, node.value_at(rule), "remove it, or change the type"))
    for choice in parameter.choices or ():
        if not _is_a(choice, parameter.type):
            fault = _wrong_type(f"each of the choices of {name}", (), parameter.type, choice)
            found.append(
                (fault.message, node.value_at("choices"), fault.hint or "remove it, or change the type")
            )
    low, high = parameter.minimum, parameter.maximum
    if low is not None and high is not None and low > high:
        found.append(
            (
                f"no value of {name} is at least {low} and at most {high}",
                node.value_at("minimum"),
                "swap the two",
            )
        )
    for message, at, hint in found:
        problems.add("R0120", message, at, hint)
    return not found


def bind(
    declared: AbstractMapping[str, Declared], given: AbstractMapping[str, Any]
) -> tuple[Bound, list[Fault]]:
    """Return the values of all parameters, and the problems of the ``given`` ones."""
    values: dict[str, Any] = {}
    faults: list[Fault] = []
    secret: set[tuple[str, ...]] = set()
    for name, each in declared.items():
        parameter = each.parameter
        value = values[name] = given.get(name, parameter.default)
        if holds_unknown(value):
            continue  # once it is known, the manifest is loaded again
        if name in given:
            faults += _faults(parameter, value, name, (name,))
        if parameter.secret and value is not None:
            register_secret(value)
            secret.add((name,))
    secret.update(paths_of_secrets(values))
    return Bound(opened(values), frozenset(secret)), faults


def missing(declared: AbstractMapping[str, Declared], given: AbstractMapping[str, Any]) -> list[str]:
    """Return the names of the parameters that have no default and no given value."""
    return [name for name, each in declared.items() if not each.has_default and name not in given]


def _faults(parameter: Parameter, value: Any, label: str, path: PropertyPath) -> list[Fault]:
    if not _is_a(value, parameter.type):
        return [_wrong_type(label, path, parameter.type, value)]
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    of = parameter.items or "any"
    found = [
        _wrong_type(f"{label}{_step(key)}", (*path, key), of, each)
        for key, each in pairs
        if not _is_a(each, of)
    ]
    if parameter.choices is not None and value not in parameter.choices:
        choices = listed([shown(each) for each in parameter.choices])
        found.append(Fault(path, f"{label} must be {choices}, not {_shown(value)}"))
    if isinstance(value, int | float) and not isinstance(value, bool):
        if parameter.minimum is not None and value < parameter.minimum:
            found.append(Fault(path, f"{label} must be at least {parameter.minimum}, not {_shown(value)}"))
        if parameter.maximum is not None and value > parameter.maximum:
            found.append(Fault(path, f"{label} must be at most {parameter.maximum}, not {_shown(value)}"))
    if (
        parameter.pattern is not None
        and isinstance(value, str)
        and not compile_pattern(parameter.pattern).fullmatch(value)
    ):
        found.append(Fault(path, f"{label} must match {parameter.pattern}, not {_shown(value)}"))
    return found


def _wrong_type(label: str, path: PropertyPath, wanted: str, value: Any) -> Fault:
    hint = None
    if wanted == "string" and isinstance(value, int | float):
        hint = "put it in quotes"
    elif wanted in ("integer", "number") and isinstance(value, str) and re.fullmatch(r"-?[0-9.]+", value):
        hint = "write it without quotes"
    called = _CALLED.get(wanted, f"a {wanted}")
    if wanted == "number" and isinstance(value, float):
        called = "a finite number"
    return Fault(path, f"{label} must be {called}, not {_shown(value)}", hint)


def _shown(value: Any) -> str:
    return "[secret]" if isinstance(value, SecretText) else shown(value)


def _step(key: Any) -> str:
    return f"[{key}]" if isinstance(key, int) else f".{key}"


def _is_a(value: Any, wanted: str) -> bool:
    if isinstance(value, bool):
        return wanted in ("boolean", "any")
    if isinstance(value, float) and not math.isfinite(value):
        return wanted == "any"
    return isinstance(value, _PYTHON[wanted])
