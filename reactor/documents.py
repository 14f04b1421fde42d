"""Files that contain only values: facts, and data files for a manifest. YAML 1.2 or JSON."""

from __future__ import annotations

import json
from typing import Any

from reactor.manifest.parser_workarounds import has_half_a_character
from reactor.manifest.source import Problems, Source, read_source
from reactor.manifest.yaml_tree import MAX_DEPTH, parse
from reactor.named_tuple import NamedTuple
from reactor.resource.diagnostic import Diagnostic, ManifestError


class Annotated(NamedTuple):
    """The values of a file, the paths in them annotated ``@secret``, and warnings about other annotations."""

    values: dict[str, Any]
    secrets: frozenset[tuple[str, ...]] = frozenset()
    warnings: tuple[str, ...] = ()


def read_values(path: str) -> dict[str, Any]:
    """Return the map in the file at ``path``. Raises ManifestError with all errors in it."""
    return parse_values(_text(path), path)


def read_annotated(path: str) -> Annotated:
    """Return the map in the file at ``path``, with its annotations. Raises ManifestError."""
    from reactor.manifest.data_sections import secrets_among  # noqa: PLC0415 - facts have none

    text = _text(path)
    problems, root = _parsed(text, path)
    return Annotated(_plain(root), *secrets_among(root, problems.source))


def parse_values(text: str, file: str) -> dict[str, Any]:
    """Return the map in ``text``; an empty text is an empty map. Raises ManifestError, which names ``file``."""
    values: dict[str, Any] = _plain(_parsed(text, file)[1])
    return values


def _text(path: str) -> str:
    source = read_source(path, "the file")
    if isinstance(source, Diagnostic):
        raise ManifestError([source])
    return source.text


def _parsed(text: str, file: str) -> tuple[Problems, dict[str, Any]]:
    """Return the map in ``text``, with positions if it is YAML.

    JSON is not quite a subset of YAML (tabs may indent it), so text that starts like JSON is first parsed as JSON.
    """
    problems = Problems(Source(file, text))
    root = _json(text) if text.lstrip()[:1] in ("{", "[") else None
    if root is None:
        root = parse(problems)
    if root is not None and not problems and not isinstance(root, dict):
        from reactor.manifest.foreign_documents import hint_for_code  # noqa: PLC0415 - only for an error

        hint = hint_for_code(file, text) or "write 'key: value' lines"
        problems.add("R0105", "a map is expected here", 0, hint)
    if problems:
        raise ManifestError(problems.sorted())
    return problems, root or {}


def _json(text: str) -> Any:
    """Return the value of a JSON text; None if it is invalid: then the YAML parser reports the error and its place."""
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
    """Return ``value`` as plain maps and lists, without positions."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value
