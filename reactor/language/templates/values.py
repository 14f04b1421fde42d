"""The values of templates, of the types of JSON: None, bool, int, float, str, list and dict; and their strings.

Strings are formatted as in Go, and so are strings escaped for HTML, JavaScript, URLs and JSON. Nothing here reads an
attribute of a value, so no template can reach Python.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from reactor.language.json_codec import FOR_HTML, encode
from reactor.language.templates.budget import current_budget
from reactor.language.values import to_string


class OwnMap(dict[str, Any]):
    """A map that a template made, so the template may change it. Maps from outside can't be changed."""


def string_of(value: Any) -> str:
    """Return ``value`` as Go's fmt prints it, and charge it to the budget."""
    if isinstance(value, list | tuple | Mapping):
        current_budget().charge_value(value)
    return to_string(value)


def sorted_keys(mapping: Mapping[Any, Any]) -> list[Any]:
    """Return the keys in Go's order: strings by their characters, numbers by value."""
    keys = list(mapping)
    try:
        keys.sort()
    except TypeError:
        keys.sort(key=lambda key: (go_type(key), str(key)))
    return keys


def go_kind(value: Any) -> str:
    """Return Go's name of the kind of ``value``, for errors."""
    return go_type(value).partition("[")[0] or "slice"


def go_type(value: Any) -> str:
    """Return Go's name of the type of ``value``."""
    if value is None:
        return "nil"
    for kind, name in _TYPE_NAMES:
        if isinstance(value, kind):
            return name
    return "func" if callable(value) else "value that is not data"


_TYPE_NAMES: Final[Iterable[tuple[Any, str]]] = (
    (bool, "bool"),
    (str, "string"),
    (int, "int"),
    (float, "float64"),
    (Mapping, "map[string]interface {}"),
    (list | tuple, "[]interface {}"),
    (datetime, "time.Time"),
)


def sprint(values: Iterable[Any]) -> str:
    """Return the values as Go's Sprint prints them: with a space between two values if neither is a string."""
    parts: list[str] = []
    after_text = True
    for value in values:
        is_text = isinstance(value, str)
        if not (is_text or after_text):
            parts.append(" ")
        parts.append(string_of(value))
        after_text = is_text
    return "".join(parts)


_HTML: Final = str.maketrans(
    {"\0": "\ufffd", '"': "&#34;", "'": "&#39;", "&": "&amp;", "<": "&lt;", ">": "&gt;"}
)
_JS: Final = {
    "\\": "\\\\", "'": "\\'", '"': '\\"', "<": "\\u003C", ">": "\\u003E", "&": "\\u0026", "=": "\\u003D",
}  # fmt: skip


def html(text: str) -> str:
    """Escape ``text`` for HTML."""
    return text.translate(_HTML)


def javascript(text: str) -> str:
    """Escape ``text`` for a JavaScript string."""
    return "".join(map(_javascript, text))


def _javascript(character: str) -> str:
    if character in _JS:
        return _JS[character]
    return character if character.isprintable() else f"\\u{ord(character):04X}"


def url_query(text: str) -> str:
    """Escape ``text`` for the query of a URL."""
    return urllib.parse.quote_plus(text, errors="replace")


def json_text(value: Any, indent: int | None = None, *, raw: bool = False) -> str:
    """Return ``value`` as JSON with sorted keys, safe inside HTML unless ``raw``."""
    current_budget().charge_value(value)
    text = encode(value, indent)
    return text if raw else text.translate(FOR_HTML)
