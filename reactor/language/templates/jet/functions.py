"""The builtin functions of Jet, without those that take names or load templates: the evaluator implements these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reactor.language.errors import Fault
from reactor.language.templates.budget import current_budget
from reactor.language.templates.calls import Functions, takes_strings
from reactor.language.templates.jet.operators import printed, type_for_error
from reactor.language.templates.values import OwnMap, html, javascript, json_text, url_query


def length(value: Any) -> int:
    """Return the number of items, or of bytes of a string."""
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, list | tuple | Mapping):
        return len(value)
    raise Fault(f"len(): invalid value type {type_for_error(value)}")


def repeat(text: str, count: int) -> str:
    """Repeat the text ``count`` times."""
    if count < 0:
        raise Fault("strings: negative Repeat count")
    current_budget().charge_characters(count * len(text))
    return text * count


def replace(text: str, old: str, new: str, count: int) -> str:
    """Replace the first ``count`` occurrences of ``old`` by ``new``; all when ``count`` is negative."""
    current_budget().charge_characters(len(text) + text.count(old) * max(0, len(new) - len(old)))
    return text.replace(old, new, count)


def ints(start: int, stop: int) -> list[int]:
    """Return the numbers from ``start`` to ``stop``, excluding ``stop``."""
    if stop <= start:
        raise Fault("invalid range for ints ranger: 'from' must be smaller than 'to'")
    current_budget().charge_items(stop - start)
    return list(range(start, stop))


def make_map(*pairs: Any) -> OwnMap:
    """Return a map of alternating keys and values."""
    if len(pairs) % 2:
        raise Fault("map(): incomplete key-value pair (even number of arguments required)")
    for key in pairs[::2]:
        if not isinstance(key, str):
            raise Fault(
                f"map(): can't use {printed(key)} as string key: {type_for_error(key)} is not a string"
            )
    return OwnMap(zip(pairs[::2], pairs[1::2], strict=True))


def _joined(*values: Any) -> str:
    return "".join(map(printed, values))


def _json(value: Any) -> str:
    return json_text(value)


FUNCTIONS: Functions = {
    "array": lambda *items: list(items),
    "hasPrefix": takes_strings(lambda text, start: text.startswith(start)),
    "hasSuffix": takes_strings(lambda text, end: text.endswith(end)),
    "html": takes_strings(html),
    "ints": ints,
    "json": _json,
    "len": length,
    "lower": takes_strings(lambda text: text.lower()),
    "map": make_map,
    "raw": _joined,
    "repeat": repeat,
    "replace": replace,
    "safeHtml": lambda *values: html(_joined(*values)),
    "safeJs": lambda *values: javascript(_joined(*values)),
    "slice": lambda *items: list(items),
    "split": takes_strings(lambda text, separator: text.split(separator) if separator else list(text)),
    "trimSpace": takes_strings(lambda text: text.strip()),
    "unsafe": _joined,
    "upper": takes_strings(lambda text: text.upper()),
    "url": takes_strings(url_query),
    "writeJson": lambda value: f"{json_text(value)}\n",
}
