"""Loads one entry without a manifest, by the same rules, except references to other resources.

The entry is the only resource here: resources that it requires or subscribes to are in its session.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from reactor.loading import LoadedManifest, load_tree
from reactor.manifest.inputs import Inputs
from reactor.manifest.nodes import Mapping, Sequence
from reactor.manifest.source import Problems
from reactor.resource.base import Resource
from reactor.resource.diagnostic import Diagnostic, ManifestError
from reactor.resource.property_types import References

_REFERENCES: TypeAdapter[tuple[str, ...]] = TypeAdapter(References)
_ON_OTHERS = ("require", "subscribe")


class Entry(NamedTuple):
    """A loaded entry: ``resource``, and ``program``, which has more resources if the entry applies a manifest."""

    resource: Resource
    program: LoadedManifest
    require: tuple[str, ...]
    subscribe: tuple[str, ...]


def load_entry(problems: Problems, kind: str, body: Mapping, inputs: Inputs) -> Entry:
    """Load the resource of ``kind`` with the properties in ``body``, including its name. Raises ManifestError."""
    _refuse_bytes(problems, body)
    own = Mapping(body.at)
    for key, value in body.items():
        if key not in _ON_OTHERS:
            own.put(key, value, body.key_at(key), body.value_at(key), body.raw(key))
    require, subscribe = (_references(problems, body, key) for key in _ON_OTHERS)
    program = load_tree(problems, _manifest(kind, own), inputs)
    resource = next(each for each in program.graph.resources.values() if each.kind == kind)
    return Entry(resource, program, require, subscribe)


def unknown(problems: Problems, body: Mapping, name: str, hint: str | None) -> ManifestError:
    """The error for a reference in ``body`` to a resource that is not in the session."""
    at = next(body.value_at(key) for key in _ON_OTHERS if name in str(body.get(key, "")))
    problems.add("R0202", f"this session has no resource {name}", at, hint)
    return ManifestError(problems.sorted())


def _refuse_bytes(problems: Problems, body: Mapping) -> None:
    """Report values that are not UTF-8. A command line or JSON may have them; manifests can't: kinds rely on it."""
    try:
        json.dumps(body, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError as error:
        message = "it is not valid UTF-8"
        problems.add("R0102", message, body.at, "names and values must be UTF-8, as in a manifest")
        raise ManifestError(problems.sorted()) from error


def _references(problems: Problems, body: Mapping, key: str) -> tuple[str, ...]:
    try:
        return _REFERENCES.validate_python(body.get(key) or ())
    except ValidationError as error:
        for details in error.errors():
            problems.add(
                "R0111", f"{key}: {details['msg'].removeprefix('Value error, ')}", body.value_at(key)
            )
        return ()


def _manifest(kind: str, body: Mapping) -> Mapping:
    entry = Mapping(body.at)
    entry.put(kind, body, body.at, body.at, None)
    entries = Sequence(body.at)
    entries.put(entry, body.at, None)
    manifest = Mapping(body.at)
    manifest.put("resources", entries, body.at, body.at, None)
    return manifest


def in_one_line(error: ManifestError) -> str:
    """All problems in one line."""
    return "; ".join(map(_sentence, error.diagnostics))


def _sentence(problem: Diagnostic) -> str:
    return f"{problem.message} ({problem.hint})" if problem.hint else problem.message
