"""Escapes strings for HTML, JavaScript, URLs and JSON, as Go does."""

from __future__ import annotations

import urllib.parse
from typing import Any, Final

from reactor.language.json_codec import encode
from reactor.language.templates.budget import current_budget

_HTML: Final = str.maketrans(
    {"\0": "\ufffd", '"': "&#34;", "'": "&#39;", "&": "&amp;", "<": "&lt;", ">": "&gt;"}
)
_JS: Final = {
    "\\": "\\\\", "'": "\\'", '"': '\\"', "<": "\\u003C", ">": "\\u003E", "&": "\\u0026", "=": "\\u003D",
}  # fmt: skip
_JSON: Final = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


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
    return text if raw else text.translate(_JSON)
