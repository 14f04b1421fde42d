"""Resolves the sections `data`, `hierarchy` and `overrides` of a manifest, with their annotations, to its data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

from reactor.data.annotations import Found, Path, find_annotations, has_annotations
from reactor.data.problem import DataProblem
from reactor.data.resolve import Layer, Resolved, resolve
from reactor.data.validation import Annotations, ignored, secret_paths, value_at
from reactor.language.secrets import SecretText
from reactor.manifest.document import DATA_SECTIONS, check_data
from reactor.manifest.evaluation import offset_in_source
from reactor.manifest.inputs import Inputs
from reactor.manifest.nodes import INVALID, Mapping, Sequence
from reactor.manifest.phrasing import shown
from reactor.manifest.source import Problems, Source
from reactor.manifest.yaml_tree import parse
from reactor.resource.redaction import register_secret


def annotations_of(root: Mapping, text: str) -> Found:
    """Return the annotations in ``text``, the source of ``root``, by the keys of the data that they belong to."""
    if not has_annotations(text):
        return Found({}, [])
    data = root.get("data")
    others: dict[int, list[Path]] = {at: [] for _, at in root.key_offsets()}
    for at, path in (*_places_in_lists(data, ()), *_places_in_overrides(root.get("overrides"))):
        others.setdefault(at, []).append(path)
    return find_annotations(text, dict(_keys(data, ())), others)


def annotations_of_values(values: Any, text: str) -> Found:
    """Return the annotations in the source of plain ``values``, where only ``@secret`` is valid."""
    others: dict[int, list[Path]] = {}
    for at, path in _places_of_secrets(values):
        others.setdefault(at, []).append(path)
    return find_annotations(text, {}, others)


def _places_of_secrets(node: Any) -> Iterator[tuple[int, Path]]:
    """Yield every offset below ``node`` where ``@secret`` is valid, with the path that it makes secret."""
    yield from ((at, path) for path, at in _keys(node, ()))
    yield from _places_in_lists(node, ())


def _keys(node: Any, path: Path) -> Iterator[tuple[Path, int]]:
    """Yield the path of every key of nested maps, with its offset."""
    if isinstance(node, Mapping):
        for key, at in node.key_offsets():
            yield (*path, key), at
            yield from _keys(node[key], (*path, key))


def _places_in_overrides(overrides: Any) -> Iterator[tuple[int, Path]]:
    for key, at in overrides.key_offsets() if isinstance(overrides, Mapping) else ():
        override = overrides[key]
        yield from ((at, (top,)) for top in override) if isinstance(override, Mapping) else ()
        yield from _places_of_secrets(override)


def _places_in_lists(node: Any, path: Path) -> Iterator[tuple[int, Path]]:
    """Yield the offset of every key and item within lists, with the path of the list.

    A secret item makes its list secret.
    """
    if isinstance(node, Mapping):
        for key in node:
            yield from _places_in_lists(node[key], (*path, key))
    elif isinstance(node, Sequence):
        yield from ((at, path) for at in _offsets_within(node))


def _offsets_within(node: Any) -> Iterator[int]:
    if isinstance(node, Mapping):
        for key, at in node.key_offsets():
            yield at
            yield from _offsets_within(node[key])
    elif isinstance(node, Sequence):
        for index, item in enumerate(node):
            yield node.value_at(index)
            yield from _offsets_within(item)


_NONE: Annotations = MappingProxyType({})


def data_of(
    root: Mapping, problems: Problems, inputs: Inputs, over: tuple[Layer, ...], *, strict: bool
) -> Resolved:
    """Return the data of the manifest, with the layers ``over`` merged on top, and register its secrets.

    When ``strict``, a missing fact is an error, unless the expression has a default.
    """
    if not any(section in root for section in DATA_SECTIONS):
        root = Mapping(root.at)
    annotations = annotations_of(root, problems.source.text)
    resolved = resolve_sections(root, problems, inputs, over, annotations.by_key, strict=strict)
    for path in resolved.secrets:
        register_secret(_unmarked(value_at(resolved.values, path)))
    notes = (*ignored(annotations.ignored), *useless_overrides(root), *(_unreachable(root) if strict else ()))
    return resolved._replace(warnings=[*resolved.warnings, *notes])


def resolve_sections(
    root: Mapping,
    problems: Problems,
    inputs: Inputs,
    over: tuple[Layer, ...] = (),
    annotations: Annotations = _NONE,
    *,
    strict: bool,
) -> Resolved:
    """Resolve the sections of ``root`` on this host, with the layers ``over`` merged on top.

    Adds errors to ``problems``. Values that are invalid, or whose expressions fail, become null.
    """
    document = {key: _usable(root[key]) for key in DATA_SECTIONS if key in root} if problems else root
    resolved = resolve(
        document, inputs.facts, over=over, annotations=annotations, strict=strict, moment=inputs.moment
    )
    for problem in resolved.problems:
        if value_at(root, problem.path) is not INVALID:
            add_problem(problem, root, problems)
    placed = [
        each if each.start is None else each._replace(comment_at=_offset(root, each, problems))
        for each in resolved.warnings
    ]
    is_whole = not resolved.problems and not any(_is_broken(root.get(section)) for section in DATA_SECTIONS)
    return resolved._replace(warnings=placed, is_whole=is_whole)


def useless_overrides(root: Mapping) -> Iterator[DataProblem]:
    """Yield a warning for each override that is not a map, so can't be merged.

    As in CCM, a data file may contain some.
    """
    overrides = root.get("overrides")
    if not isinstance(overrides, Mapping):
        return
    for key, at in overrides.key_offsets():
        if not isinstance(overrides[key], Mapping | None):
            message = f"the override {key} is skipped: it is not a map"
            hint = "write 'key: value' below it"
            yield DataProblem("R0115", ("overrides", key), message, hint, comment_at=at)


def _unreachable(root: Mapping) -> Iterator[DataProblem]:
    """Yield a warning for each override that no entry of the order can lead to, whatever the facts are."""
    overrides, hierarchy = root.get("overrides"), root.get("hierarchy")
    order = hierarchy.get("order") if isinstance(hierarchy, Mapping) else ["default"]
    if not isinstance(overrides, Mapping) or not isinstance(order, list):
        return
    ends = [_fixed_ends(entry) for entry in order if isinstance(entry, str)]
    for key, at in overrides.key_offsets():
        if isinstance(overrides[key], Mapping) and not any(
            key == first if last is None else _is_between(key, first, last) for first, last in ends
        ):
            message = f"the override {key} is never used: no entry of hierarchy.order leads to it"
            hint = "correct its name, or add it to the order: hierarchy: {order: [...]}"
            yield DataProblem("R0115", ("overrides", key), message, hint, comment_at=at)


def _fixed_ends(entry: str) -> tuple[str, str | None]:
    """What the key of an entry of the order begins and ends with; without expressions, the key and None."""
    start = re.search(r"\{\{|\$\{", entry)
    return (entry, None) if start is None else (entry[: start.start()], entry.rpartition("}")[2])


def _is_between(key: str, first: str, last: str) -> bool:
    return len(key) > len(first) + len(last) and key.startswith(first) and key.endswith(last)


def secrets_among(values: dict[str, Any], source: Source) -> tuple[frozenset[Path], tuple[str, ...]]:
    """Return the paths in ``values``, plain data from ``source``, that are annotated ``@secret``.

    The second result is warnings about the other annotations, which have no effect there.
    """
    found = annotations_of_values(values, source.text)
    return secret_paths(found.by_key), tuple(warning(each, source) for each in ignored(found.ignored))


def add_problem(problem: DataProblem, root: Mapping, problems: Problems) -> None:
    """Add a problem with the data of ``root``, at its place."""
    if problem.path[0] == "hierarchy" and problem.start is None and problems:
        return  # document.py has reported it
    problems.add(problem.code, problem.message, _offset(root, problem, problems), problem.hint)


def warning(problem: DataProblem, source: Source) -> str:
    """Return the message of a warning, with its place."""
    return f"{source.lines.place(problem.comment_at or 0)}: {problem.message}{f'; {problem.hint}' if problem.hint else ''}"


def sections_of(problems: Problems) -> Mapping:
    """Return the data sections of a data file. Its other keys, such as those of a manifest, are ignored."""
    root = parse(problems)
    if not isinstance(root, Mapping):
        if root is not None and root is not INVALID:
            message = f"a map with the key 'data' is expected here, not {shown(root)}"
            problems.add("R0105", message, 0, "begin with 'data:', and write the values below it, indented")
        root = Mapping(0)
    check_data(root, problems)
    return root


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


def _usable(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _usable(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_usable(item) for item in node]
    return None if node is INVALID else node


def _unmarked(value: Any) -> Any:
    """Return ``value`` without strings made from secrets: the secret parts of these are registered already."""
    if isinstance(value, (dict, list)):
        return [_unmarked(item) for item in (value.values() if isinstance(value, dict) else value)]
    return None if isinstance(value, SecretText) else value


def _is_broken(node: Any) -> bool:
    if isinstance(node, dict):
        return any(map(_is_broken, node.values()))
    return any(map(_is_broken, node)) if isinstance(node, list) else node is INVALID
