"""Files that hold values and nothing else: facts, and data from beside a manifest. YAML 1.2 or JSON."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from reactor.manifest.parser_workarounds import has_half_a_character
from reactor.manifest.source import Problems, Source, read_source
from reactor.manifest.yaml_tree import MAX_DEPTH, parse
from reactor.resource.diagnostic import Diagnostic, ManifestError


class Annotated(NamedTuple):
    """Values, the paths in them that are annotated ``@secret``, and what is said there and can't hold."""

    values: dict[str, Any]
    secrets: frozenset[tuple[str, ...]] = frozenset()
    warnings: tuple[str, ...] = ()


def read_values(path: str) -> dict[str, Any]:
    """The map in the file at ``path``. Raises ManifestError with all that is wrong with it."""
    return parse_values(_text(path), path)


def read_annotated(path: str) -> Annotated:
    """The same, with its annotations."""
    from reactor.manifest.data_sections import secrets_among  # noqa: PLC0415 - facts have none

    text = _text(path)
    problems, root = _parsed(text, path)
    return Annotated(_plain(root), *secrets_among(root, problems.source))


def parse_values(text: str, file: str) -> dict[str, Any]:
    """The map that ``text`` holds; none is an empty map. Raises ManifestError; ``file`` is the name it shows."""
    values: dict[str, Any] = _plain(_parsed(text, file)[1])
    return values


def _text(path: str) -> str:
    source = read_source(path, "the file")
    if isinstance(source, Diagnostic):
        raise ManifestError([source])
    return source.text


def _parsed(text: str, file: str) -> tuple[Problems, dict[str, Any]]:
    """The map with the positions it has, where it is YAML.

    JSON is not quite a part of YAML (a tab may indent it), so what starts like JSON is tried as such first.
    """
    problems = Problems(Source(file, text))
    root = _json(text) if text.lstrip()[:1] in ("{", "[") else None
    if root is None:
        root = parse(problems)
    if root is not None and not problems and not isinstance(root, dict):
        problems.add("R0105", "a map is wanted here", 0, "write 'key: value' lines")
    if problems:
        raise ManifestError(problems.sorted())
    return problems, root or {}


def _json(text: str) -> Any:
    """The value of a JSON text; None if it is no good one: the YAML parser says why, and where."""
    try:
        value = json.loads(text, object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError):
        return None
    return value if _is_shallow(value, MAX_DEPTH) and not has_half_a_character(text) else None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def _is_shallow(value: Any, levels: int) -> bool:
    if not isinstance(value, (dict, list)):
        return True
    return levels > 0 and all(
        _is_shallow(inner, levels - 1) for inner in (value.values() if isinstance(value, dict) else value)
    )


def _plain(value: Any) -> Any:
    """The value without the positions that the tree of a manifest carries."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value
