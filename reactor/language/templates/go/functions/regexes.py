"""Functions on regular expressions, with RE2: it has Go's syntax, and takes linear time for any pattern."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from reactor.language.regex import compile_pattern
from reactor.language.templates.budget import current_budget
from reactor.language.templates.calls import Functions

_REFERENCE: Final = re.compile(r"\$(?:\$|(\w+)|\{(\w+)\})")
_META: Final = frozenset(r"\.+*?()|[]{}^$")


def searched(pattern: str, text: str) -> Any:
    """Return the first match in ``text``, or None."""
    current_budget().check_time()
    return compile_pattern(pattern).search(text)


def _matches(pattern: str, text: str) -> Iterator[Any]:
    """The matches in ``text``, each a step: a long text has millions."""
    budget = current_budget()
    budget.check_time()
    for found in compile_pattern(pattern).finditer(text):
        budget.step()
        yield found


def match(pattern: str, text: str) -> bool:
    """Whether ``text`` contains a match."""
    return searched(pattern, text) is not None


def find(pattern: str, text: str) -> str:
    """Return the first match, or an empty string."""
    found = searched(pattern, text)
    return found[0] if found else ""


def find_all(pattern: str, text: str, count: int) -> list[str]:
    """Return at most ``count`` matches; all when ``count`` is negative."""
    found = [one[0] for one in _matches(pattern, text)]
    return found if count < 0 else found[:count]


def split(pattern: str, text: str, count: int) -> list[str]:
    """Return at most ``count`` parts between matches; all when ``count`` is negative."""
    if count == 0:
        return []
    parts: list[str] = []
    start = end = 0
    for found in _matches(pattern, text):
        if len(parts) + 1 == count:
            break
        end = found.start()
        if found.end() > 0:
            parts.append(text[start:end])
        start = found.end()
    return parts if parts and end == len(text) else [*parts, text[start:]]


def replace_all(pattern: str, text: str, replacement: str) -> str:
    """Replace each match; ``$1`` and ``${name}`` in ``replacement`` are groups."""

    def expand(found: Any) -> str:
        return _REFERENCE.sub(lambda reference: _group(found, reference), replacement)

    return replaced(pattern, text, expand)


def replace_literal(pattern: str, text: str, replacement: str) -> str:
    """Replace each match by ``replacement``, which is not expanded."""
    return replaced(pattern, text, lambda _found: replacement)


def replaced(pattern: str, text: str, expand: Callable[[Any], str]) -> str:
    """Return ``text`` with each match of ``pattern`` replaced by what ``expand`` makes of it."""

    def counted(found: Any) -> str:
        replaced = expand(found)
        budget.step()
        budget.charge_characters(len(replaced))
        return replaced

    budget = current_budget()
    budget.charge_characters(len(text))
    return str(compile_pattern(pattern).sub(counted, text))


def _group(found: Any, reference: re.Match[str]) -> str:
    name = reference[1] or reference[2]
    if name is None:
        return "$"
    try:
        return found[int(name) if name.isdigit() else name] or ""
    except (IndexError, KeyError):
        return ""


def quote_meta(text: str) -> str:
    """Return a pattern that matches only ``text`` itself."""
    return "".join(f"\\{character}" if character in _META else character for character in text)


_TWICE: Final[Functions] = {
    "regexFind": find,
    "regexFindAll": find_all,
    "regexMatch": match,
    "regexReplaceAll": replace_all,
    "regexReplaceAllLiteral": replace_literal,
    "regexSplit": split,
}
FUNCTIONS: Functions = {
    **_TWICE,
    **{f"mustR{name[1:]}": function for name, function in _TWICE.items()},
    "regexQuoteMeta": quote_meta,
}
