"""The sections `data`, `hierarchy` and `overrides` of a manifest, resolved to the data its expressions see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reactor.data.annotations import Path, find_annotations
from reactor.data.problem import DataProblem
from reactor.data.resolve import Layer, Resolved, resolve
from reactor.manifest.document import check_data
from reactor.manifest.evaluation import offset_in_source
from reactor.manifest.inputs import Inputs
from reactor.manifest.nodes import BROKEN, Mapping, Sequence
from reactor.manifest.source import Problems, Source
from reactor.manifest.tree import parse
from reactor.manifest.wording import shown
from reactor.resource.diagnostic import ManifestError
from reactor.resource.secrecy import remember

_SECTIONS = ("data", "hierarchy", "overrides")


def data_of(root: Mapping, problems: Problems, inputs: Inputs, over: tuple[Layer, ...]) -> Resolved:
    """The data of the manifest with ``over`` on top. What is secret in it is remembered as such."""
    if not any(section in root for section in _SECTIONS):
        root = Mapping(root.at)
    text = problems.source.text
    marked = find_annotations(text, dict(_keys(root.get("data"), ()))) if "@" in text else {}
    resolved = resolve(root, inputs.facts, over=over, annotations=marked)
    for problem in resolved.problems:
        if problem.path[0] == "hierarchy" and problem.start is None and problems:
            continue  # whoever read the outline has said so
        problems.add(problem.message, _offset(root, problem, problems), problem.hint)
    for path in resolved.secrets:
        remember(_value(resolved.values, path))
    return resolved


def data_document(source: Source, inputs: Inputs, over: tuple[Layer, ...] = ()) -> Resolved:
    """The data of a file with these sections; its other keys, those of a manifest, are no matter.

    Raises ManifestError.
    """
    problems = Problems(source)
    root = parse(problems)
    if not isinstance(root, Mapping):
        if root is not None and root is not BROKEN:
            problems.add(f"a map with the key 'data' is wanted here, not {shown(root)}", 0)
        root = Mapping(0)
    check_data(root, problems)
    resolved = data_of(root, problems, inputs, over)
    if problems:
        raise ManifestError(problems.sorted())
    return resolved


def _keys(node: Any, path: Path) -> Iterator[tuple[Path, int]]:
    """Every key of maps within maps, with its offset."""
    if isinstance(node, Mapping):
        for key, at in node.key_offsets():
            yield (*path, key), at
            yield from _keys(node[key], (*path, key))


def _offset(root: Mapping, problem: DataProblem, problems: Problems) -> int:
    if problem.comment_at is not None:
        return problem.comment_at
    node: Any = root
    at = root.at
    for step in problem.path:
        if isinstance(node, Mapping) and step in node:
            at = node.value_at(str(step))
        elif isinstance(node, Sequence) and isinstance(step, int):
            at = node.value_at(step)
        else:
            return at
        node = node[step]
    if problem.start is None or problem.end is None or not isinstance(node, str):
        return at
    return offset_in_source(problems.source, at, node, problem.start, problem.end)


def _value(values: Any, path: Path) -> Any:
    for key in path:
        if not isinstance(values, dict) or key not in values:
            return None
        values = values[key]
    return values
