"""A file of tests: its outline, and the reader that reports problems with their places."""

from __future__ import annotations

import os.path
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

from pydantic import Field, ValidationError

from reactor.errors import Place
from reactor.manifest.declaration import Declaration
from reactor.manifest.nodes import Mapping
from reactor.manifest.phrasing import shown
from reactor.manifest.source import Problems, read_source
from reactor.manifest.validation import Inspector
from reactor.manifest.values import ValueReader
from reactor.manifest.yaml_tree import parse
from reactor.resource.diagnostic import Diagnostic, ManifestError
from reactor.resource.property_types import Model, OneOrMany, Reference

Names = OneOrMany[Reference]
"""Names or globs of resources. Without a kind, they would match nothing, and so be absent always."""


class Inputs(Model):
    """The values that a manifest is loaded with."""

    facts: dict[str, Any] = Field(default_factory=dict)
    """All facts about the host: a test knows no others."""
    data: dict[str, Any] = Field(default_factory=dict)
    """Overrides the data of the manifest."""
    environ: dict[str, str] = Field(default_factory=dict)
    """All of Environ."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """The parameters of the manifest, if it is that of a role."""


class Expectations(Inputs):
    """One test: its inputs, merged over the inputs of the file, and the expected result."""

    resources: dict[str, dict[str, Any] | None] = Field(default_factory=dict)
    """By ``kind#name``: a resource that the manifest must declare, and the properties that it must have."""
    absent: Names = ()
    """Names or globs of resources that the manifest must not declare, or whose condition excludes them."""
    count: dict[Reference, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    """How many resources match a name or glob: ``{"user#*": 50}``."""
    problems: OneOrMany[str] = ()
    """Parts of the messages of the problems that the manifest must have. Without any, it must be valid."""


class TestFile(Inputs):
    """A file of tests."""

    manifest: Annotated[OneOrMany[str], Field(min_length=1)]
    """The manifest, relative to this file, or several that are loaded as one."""
    external: OneOrMany[str] = ()
    """Resources of other manifests that may be referred to, as with ``--external``."""
    tests: Annotated[dict[str, Expectations], Field(min_length=1)]
    """The tests by name."""


class Test(NamedTuple):
    """One test with its place in the file."""

    name: str
    place: Place
    expected: Expectations
    places: dict[tuple[str, str], Place]
    """Those of its sections, with an empty name, and of the names in them."""

    def place_of(self, section: str, name: str = "") -> Place:
        """Return the place of a name in a section, or the nearest one that is known."""
        return self.places.get((section, name)) or self.places.get((section, "")) or self.place


class Suite(NamedTuple):
    """The tests of one file. ``manifests`` are paths."""

    file: str
    manifests: tuple[str, ...]
    inputs: Inputs
    external: tuple[str, ...]
    tests: tuple[Test, ...]


def read_suite(file: str) -> Suite:
    """Read a file of tests. Raises ManifestError with all of its problems."""
    source = read_source(file, "the tests")
    if isinstance(source, Diagnostic):
        raise ManifestError([source])
    problems = Problems(source)
    root = parse(problems)
    if not isinstance(root, Mapping):
        if not problems:
            message = f"a file of tests is a map with the keys 'manifest' and 'tests', not {shown(root)}"
            problems.add("R0105", message, 0, "start with 'manifest: site.yaml'")
        raise ManifestError(problems.sorted())
    values = ValueReader(problems).read(root, TestFile)
    try:
        found = TestFile.model_validate(values.plain)
    except ValidationError as error:
        Inspector(problems, TestFile, Declaration(root.at, root), "a file of tests").report(error, values)
    if problems:
        raise ManifestError(problems.sorted())
    directory = os.path.dirname(file)
    manifests = tuple(os.path.join(directory, name) for name in found.manifest)
    place, node = source.lines.place, root["tests"]
    tests = (
        Test(name, place(node.key_at(name)), expected, _places(node[name], place))
        for name, expected in found.tests.items()
    )
    return Suite(file, manifests, found, found.external, tuple(tests))


def _places(node: Mapping, place: Callable[[int], Place]) -> dict[tuple[str, str], Place]:
    found = {}
    for section in node:
        found[section, ""] = place(node.key_at(section))
        if isinstance(inner := node[section], Mapping):
            found |= {(section, name): place(inner.key_at(name)) for name in inner}
    return found
