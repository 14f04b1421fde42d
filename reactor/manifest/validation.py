"""Reports pydantic's errors in plain words, at the right places of the manifest."""

from __future__ import annotations

import re
import shlex
from collections.abc import Container, Iterable
from contextlib import suppress
from typing import Any

from pydantic import BaseModel, ValidationError

from reactor.manifest.declaration import Declaration, Spot
from reactor.manifest.phrasing import NAMES, hint_for_choice, hint_home, listed, shown
from reactor.manifest.scalar_types import Shape, field_names, other_name
from reactor.manifest.source import Problems
from reactor.manifest.values import Values
from reactor.named_tuple import NamedTuple
from reactor.resource.base import Resource
from reactor.resource.class_defaults import remove_defaults, unchecked
from reactor.resource.common_properties import Meta
from reactor.resource.diagnostic import InvalidPropertiesError, PropertyPath, PropertyProblem
from reactor.suggestions import did_you_mean

_WANTED = {
    **dict.fromkeys(("string_type", "string_unicode"), "a string"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float", "int_parsing_size"), "an integer"),
    **dict.fromkeys(("float_type", "float_parsing", "finite_number"), "a number"),
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "frozen_set_type"), "a list"),
    **dict.fromkeys(("dict_type", "mapping_type", "model_type", "model_attributes_type"), "a map"),
}
_YAML_1_1_FLAGS = frozenset(("yes", "no", "on", "off"))


class Finding(NamedTuple):
    """An error that was reported: it is at the value of the property ``path``, or at its key."""

    code: str
    message: str
    path: PropertyPath
    hint: str | None
    is_at_key: bool


def report_again(
    findings: Iterable[Finding], problems: Problems, model: type[BaseModel], declaration: Declaration
) -> None:
    """Report what an `Inspector` has found in an equal declaration, which may be at another place."""
    for code, message, path, hint, is_at_key in findings:
        spot = declaration.find(model, path)
        problems.add(code, message, spot.key_at if is_at_key else spot.at, hint)


class Inspector:
    """Reports the errors in the values of one model. Messages call the resource ``subject``.

    ``findings`` are the errors that were reported.
    """

    def __init__(
        self, problems: Problems, model: type[BaseModel], declaration: Declaration, subject: str
    ) -> None:
        self._problems = problems
        self._model = model
        self._declaration = declaration
        self._subject = subject
        self._doubtful: set[str] = set()
        self._wants: dict[Spot, tuple[list[str], Any, PropertyPath]] = {}
        self._missing: dict[PropertyPath, list[str]] = {}
        self._is_nameless = False
        self.findings: list[Finding] = []

    def report(self, error: ValidationError, values: Values) -> None:
        """Report every problem of ``error``, and the conflicts between properties.

        Pydantic does not look for conflicts once a field is invalid.
        """
        self._mark_doubtful(*values.invalid)
        conflicts: list[PropertyProblem] = []
        found = _details_of(error)
        self._is_nameless = any(each["loc"] == ("name",) for each in found)
        # Report missing properties last, and the name: it may have been found already, under another name.
        for details in sorted(found, key=lambda each: each["type"] == "missing" or each["loc"] == ("name",)):
            cause = details.get("ctx", {}).get("error")
            if isinstance(cause, InvalidPropertiesError):
                conflicts += (each._replace(path=(*details["loc"], *each.path)) for each in cause.problems)
            elif details["loc"] == ("name",) and self._is_doubtful("name"):
                continue
            elif values.invalid.isdisjoint(details["loc"][:1]):
                self._report_field(details["type"], details["loc"], details)
        self._report_wants()
        self._report_missing()
        for problem in self._untested_conflicts(values) if self._doubtful else conflicts:
            if not (problem.path and self._is_doubtful(problem.path[0])):
                self._add("R0112", problem.message, problem.path, problem.hint)

    def report_present(self, error: ValidationError, values: Values) -> set[str]:
        """Report the problems of the properties that are there, of a map that need not have all. Return their names."""
        self._mark_doubtful(*values.invalid)
        names = {name: self._field(name) for name in values.plain}
        wrong: set[str] = set()
        for details in _details_of(error):
            path = details["loc"]
            found = {name for name, field in names.items() if path and self._field(path[0]) == field}
            if found and (details["type"] != "missing" or len(path) > 1):
                self._report_field(details["type"], path, details)
                wrong |= found
        self._report_wants()
        self._report_missing()
        return wrong

    def _report_field(self, kind: str, path: PropertyPath, details: Any) -> None:
        if kind == "missing":
            if not (len(path) == 1 and self._is_doubtful(path[0])):
                self._missing.setdefault(path[:-1], []).append(str(path[-1]))
        elif kind == "extra_forbidden":
            self._report_unknown(path, details["input"])
        elif details["input"] is None or kind in _WANTED:
            spot = self._declaration.find(self._model, path)
            wanted = self._wants.setdefault(spot, ([], details["input"], path))[0]
            wanted.append(_WANTED.get(kind, "a value"))
        elif kind in ("literal_error", "enum"):
            self._report_choice(path, details["ctx"]["expected"], details["input"])
        else:
            label = self._declaration.find(self._model, path).label
            self._add("R0111", f"{label or self._subject}: {_cleaned(details['msg'])}", path)
        self._mark_doubtful(*path[:1])

    def _report_missing(self) -> None:
        """Report one message per map, also if it lacks several properties."""
        for path, missing in self._missing.items():
            label = self._declaration.find(self._model, path).label
            names = listed((repr(f"{label}.{name}" if label else name) for name in missing), "and")
            hint = listed((self._addition((*path, name)) for name in missing), "and")
            word = "property" if len(missing) == 1 else "properties"
            self._add("R0108", f"{self._subject} requires the {word} {names}", path, f"add {hint}")

    def _addition(self, path: PropertyPath) -> str:
        choices = self._shape_at(path).choices
        return f"'{path[-1]}: ...'" + (f" with {listed(choices)}" if choices else "")

    def _report_unknown(self, path: PropertyPath, value: Any) -> None:
        word, shape = str(path[-1]), self._shape_at(path[:-1])
        if other := other_name(shape, word):
            self._add("R0112", f"{other} and {word} are the same property", path, "keep one of them")
            return
        known = sorted(shape.fields)
        suggestion = hint_home(word, known) or _hint_on_meta(word, known) or did_you_mean(word, known)
        if len(path) == 1:
            self._mark_doubtful(*(name for name in known if suggestion and repr(name) in suggestion))
            if self._is_nameless and word in NAMES and not self._is_doubtful("path"):
                name = value if isinstance(value, str) and value.isprintable() else "NAME"
                suggestion = f"it is the name of the resource: write '- {name}:' below '{self._subject}:', and the properties below that"
                self._mark_doubtful("name")
        hint = suggestion or self._hint_on_known(known, is_top=len(path) == 1)
        subject = self._declaration.find(self._model, path[:-1]).label or self._subject
        self._add("R0106", f"{subject} has no property {shown(word)}", path, hint, is_at_key=True)

    def _hint_on_known(self, known: list[str], *, is_top: bool) -> str | None:
        """What may be there instead of an unknown word. What every kind has is not listed: it would hide the rest."""
        if not known:
            return None
        if not (is_top and issubclass(self._model, Resource)):
            return f"it takes {listed(known, 'and')}"
        own = [name for name in known if self._field(name) not in Resource.model_fields]
        return f"it takes {listed(own, 'and')}, and what every kind has" if own else None

    def _report_choice(self, path: PropertyPath, expected: str, found: Any) -> None:
        spot = self._declaration.find(self._model, path)
        hint = hint_for_choice(str(found), re.findall(r"'([^']*)'", expected))
        self._add("R0110", f"{spot.label} must be {expected}, not {spot.raw or shown(found)}", path, hint)

    def _report_wants(self) -> None:
        """Report one message per value, also if the value matches none of several types."""
        for spot, (wanted, found, path) in self._wants.items():
            if found is None:
                self._add("R0109", f"{spot.label} has no value", path, "give it one, or remove the line")
                continue
            hint = _hint_on_flag(str(found)) if "true or false" in wanted else None
            types, given = " or ".join(dict.fromkeys(wanted)), spot.raw or shown(found)
            if types == "a list" and isinstance(found, (str, int, float)):
                hint = _hint_on_list(str(found), given, is_command=path[-1] == "command")
            elif types == "a string" and path[-1] == "command" and isinstance(found, list):
                hint = f"write one text: {shlex.join(map(str, found))}"
            self._add("R0109", f"{spot.label} must be {types}, not {given}", path, hint)

    def _add(
        self, code: str, message: str, path: PropertyPath, hint: str | None = None, *, is_at_key: bool = False
    ) -> None:
        self.findings.append(finding := Finding(code, message, path, hint, is_at_key))
        report_again((finding,), self._problems, self._model, self._declaration)

    def _untested_conflicts(self, values: Values) -> list[PropertyProblem]:
        """Return the conflicts among valid properties. Stops at a rule that reads an invalid property."""
        if not issubclass(self._model, Resource):
            return []
        names = field_names(self._model)
        known = {names[key]: value for key, value in values.plain.items() if key in names}
        assumed = self._assumed()
        resource = unchecked(self._model, known | assumed, self._doubtful - assumed.keys())
        remove_defaults(self._model)
        found: list[PropertyProblem] = []
        with suppress(AttributeError, LookupError, TypeError, ValueError):
            for problem in resource.property_problems():
                found.append(problem)  # noqa: PERF402 - keeps the problems found before an exception
        return found

    def _assumed(self) -> dict[str, str]:
        """The first choice for each missing property that has choices, as if it had been given."""
        choices = {name: self._shape_at((name,)).choices for name in self._missing.get((), ())}
        return {self._field(name): found[0] for name, found in choices.items() if found}

    def _shape_at(self, path: PropertyPath) -> Shape:
        shape = Shape(model=self._model)
        for step in path:
            shape = shape.inside(step)
        return shape

    def _mark_doubtful(self, *names: str | int) -> None:
        fields = field_names(self._model)
        self._doubtful.update([fields.get(name, name) for name in map(str, names)])

    def _is_doubtful(self, name: str | int) -> bool:
        return self._field(name) in self._doubtful

    def _field(self, name: str | int) -> str:
        return field_names(self._model).get(str(name), str(name))


def _details_of(error: ValidationError) -> list[Any]:
    """What pydantic says is wrong. It counts only the valid items of a list: one with others is not too short."""
    found = error.errors(include_url=False)
    holders = {each["loc"][:depth] for each in found for depth in range(len(each["loc"]))}
    return [each for each in found if each["type"] != "too_short" or each["loc"] not in holders]


def _hint_on_meta(word: str, known: Container[str]) -> str | None:
    """Return where ``word`` belongs if it is a setting for the engine, and ``known`` are the properties of a kind."""
    return f"write meta: {{{word}: ...}}" if "meta" in known and word in Meta.model_fields else None


def _hint_on_flag(text: str) -> str | None:
    """How to write a string as true or false."""
    if text.lower() in _YAML_1_1_FLAGS:
        return f"in YAML 1.2 {text} is a string: write true or false"
    return f"remove the quotes: {text.lower()}" if text.lower() in ("true", "false") else None


def _hint_on_list(text: str, given: str, *, is_command: bool) -> str:
    """How to write ``text`` as a list: a command has blanks between its words, anything else commas."""
    words = text.split() if is_command else [each.strip() for each in text.split(",")]
    if len(words) > 1 and all(words):
        return f"write each {'word ' if is_command else ''}by itself: [{', '.join(words)}]"
    return f"put it in brackets: [{given}]"


def _cleaned(message: str) -> str:
    """Return the message of our own validators unchanged, and pydantic's reworded."""
    text = message.removeprefix("Value error, ").removeprefix("Assertion failed, ")
    text = text.replace(" after validation, not ", ", not ")
    return re.sub(r"^(Input|String|Value|Tuple|List|Dictionary) should", "it must", text)
