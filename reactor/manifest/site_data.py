"""The data of a site: a file whose data override those of the manifest, with its own overrides and checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reactor.data.problem import DataProblem
from reactor.data.resolve import DATA, Layer
from reactor.data.validation import check, ignored, secret_paths, unknown
from reactor.manifest.data_sections import (
    add_problem,
    annotations_of,
    resolve_sections,
    sections_of,
    useless_overrides,
    warning,
)
from reactor.manifest.inputs import Inputs
from reactor.manifest.source import Problems, read_source
from reactor.resource.diagnostic import Diagnostic, ManifestError


class SiteData:
    """The resolved data of the file at ``path``, as a ``layer``. Errors are added to ``problems``.

    Raises ManifestError when the file can't be read.
    """

    def __init__(self, path: str, inputs: Inputs, *, strict: bool) -> None:
        source = read_source(path, "the data")
        if isinstance(source, Diagnostic):
            raise ManifestError([source])
        self.problems = Problems(source)
        self._root = sections_of(self.problems)
        found = annotations_of(self._root, source.text)
        self._annotations = found.by_key
        resolved = resolve_sections(self._root, self.problems, inputs, strict=strict)
        notes = (
            *resolved.warnings,
            *unknown(found.by_key),
            *ignored(found.ignored),
            *useless_overrides(self._root),
            *_without_data(self._root),
        )
        self.warnings = [warning(each, source) for each in notes]
        self.is_whole = not self.problems
        origins = {
            leaf: path if origin == DATA else f"{path} {origin}" for leaf, origin in resolved.layers.items()
        }
        self.layer = Layer(path, resolved.values, secret_paths(self._annotations), origins)

    def check(self, values: Mapping[str, Any], secrets: frozenset[tuple[str, ...]]) -> None:
        """Check the merged data against the annotations of this file."""
        if not self.problems:
            for problem in check(values, self._annotations, secrets):
                add_problem(problem, self._root, self.problems)


def _without_data(root: Mapping[str, Any]) -> Iterator[DataProblem]:
    """Yield a warning if no key of the file is one that is read."""
    if root and root.keys().isdisjoint((DATA, "overrides")):
        message = "this file has neither 'data' nor 'overrides', so it changes nothing"
        yield DataProblem("R0115", (), message, "put its keys below 'data:', or pass it as --data-file")
