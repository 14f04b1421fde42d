"""Runs one test: loads the manifest with the inputs of the test, and compares the result with what is expected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from reactor.errors import Place
from reactor.graph.globs import covers
from reactor.loading import load
from reactor.manifest.inputs import Inputs
from reactor.manifest.phrasing import shown
from reactor.manifest_tests.suite import Suite, Test
from reactor.resource.base import Resource
from reactor.resource.diagnostic import ManifestError
from reactor.resource.redaction import MASK, redacted
from reactor.suggestions import did_you_mean


class Difference(NamedTuple):
    """A difference between the result of a manifest and the expected one, and its place in the test."""

    message: str
    place: Place


def check(suite: Suite, test: Test) -> list[Difference]:
    """Return the differences between the result of the manifest and ``test``; none if the test passes."""
    given, common = test.expected, suite.inputs
    inputs = Inputs(
        facts=_merged(common.facts, given.facts),
        environ={**common.environ, **given.environ},
        data=_merged(common.data, given.data),
        parameters={**common.parameters, **given.parameters},
    )
    try:
        loaded = load(suite.manifests, inputs, suite.external)
    except ManifestError as error:
        return [*_problems(test, error)]
    missed = [_missed(test, each) for each in given.problems]
    managed = {ref: each for ref, each in loaded.graph.resources.items() if not _is_declined(each)}
    return [*missed, *_of_resources(test, managed), *_of_names(test, managed)]


def _is_declined(resource: Resource) -> bool:
    late = resource.declared.deferred
    return late is not None and late.is_declined


def _problems(test: Test, error: ManifestError) -> Iterator[Difference]:
    waiting = list(test.expected.problems)
    for found in error.diagnostics:
        matched = next((part for part in waiting if part in found.message), None)
        if matched is None and not any(part in found.message for part in test.expected.problems):
            where = f"{found.place}: " if found.place else ""
            yield Difference(f"an unexpected problem: {where}{found.message}", test.place)
        elif matched is not None:
            waiting.remove(matched)
    yield from (_missed(test, part) for part in waiting)


def _missed(test: Test, part: str) -> Difference:
    return Difference(f"no problem contains {shown(part)}", test.place_of("problems"))


def _of_resources(test: Test, managed: Mapping[str, Resource]) -> Iterator[Difference]:
    for ref, properties in test.expected.resources.items():
        place = test.place_of("resources", ref)
        if (resource := managed.get(ref)) is None:
            hint = did_you_mean(ref, managed)
            yield Difference(f"{ref} is not declared{f'; {hint}' if hint else ''}", place)
            continue
        values = _values_of(resource)
        for name, expected in (properties or {}).items():
            if name not in values:
                yield Difference(f"{ref} has no property {shown(name)}", place)
            elif not _equal(values[name], expected):
                yield Difference(f"{ref}: {name} is {shown(values[name])}, not {shown(expected)}", place)


def _values_of(resource: Resource) -> dict[str, Any]:
    values = resource.model_dump(mode="json", by_alias=True)
    values.update(dict.fromkeys(resource.secrets & values.keys(), MASK))
    return {key: redacted(value) for key, value in values.items()}


def _equal(value: Any, expected: Any) -> bool:
    """Whether a property is as expected. ``{contains: x}`` expects ``x`` somewhere in a string or list."""
    if isinstance(expected, dict) and expected.keys() == {"contains"} and isinstance(value, str | list):
        part = expected["contains"]
        return (str(part) if isinstance(value, str) else part) in value
    if isinstance(value, str) and isinstance(expected, int | float):
        return value == str(expected).lower()
    return bool(value == expected)


def _of_names(test: Test, managed: Mapping[str, Resource]) -> Iterator[Difference]:
    for pattern in test.expected.absent:
        for ref in managed:
            if covers(pattern, (ref,)):
                yield Difference(f"{ref} is declared", test.place_of("absent"))
    for pattern, wanted in test.expected.count.items():
        count = sum(covers(pattern, (ref,)) for ref in managed)
        if count != wanted:
            matches = "1 resource matches" if count == 1 else f"{count} resources match"
            yield Difference(f"{matches} {pattern}, not {wanted}", test.place_of("count", pattern))


def _merged(common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``common`` with ``own`` merged over it, map by map."""
    merged = dict(common)
    for key, value in own.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merged(merged[key], value) if both else value
    return merged
