"""Functions on strings. They count characters, where Go counts bytes, so they never split a character."""

from __future__ import annotations

import re
from typing import Any, Final

from reactor.language.errors import Fault
from reactor.language.templates.budget import current_budget
from reactor.language.templates.calls import Functions, takes_strings
from reactor.language.templates.go.functions.lists import strings
from reactor.language.templates.literals import quote
from reactor.language.templates.values import string_of

_WORD_START: Final = re.compile(r"(?<![\w])\w")
_WORD_BREAK: Final = re.compile(
    r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Z])|[\s_-]+"
)
_ELLIPSIS: Final = "..."


def repeat(count: int, text: str) -> str:
    """Repeat the text ``count`` times."""
    if count < 0:
        raise Fault("strings: negative Repeat count")
    current_budget().charge_characters(count * len(text))
    return text * count


def indent(spaces: int, text: str) -> str:
    """Indent each line."""
    margin = repeat(spaces, " ")
    current_budget().charge_characters(len(text) + spaces * text.count("\n"))
    return margin + text.replace("\n", f"\n{margin}")


def nindent(spaces: int, text: str) -> str:
    """Return a line feed, and then the indented lines."""
    return "\n" + indent(spaces, text)


def replace(old: str, new: str, text: str) -> str:
    """Replace each ``old`` by ``new``."""
    current_budget().charge_characters(len(text) + text.count(old) * max(0, len(new) - len(old)))
    return text.replace(old, new)


def quoted(*values: Any) -> str:
    """Return the values, each in double quotes."""
    return " ".join(quote(string_of(value)) for value in values if value is not None)


def squoted(*values: Any) -> str:
    """Return the values, each in single quotes."""
    return " ".join(f"'{string_of(value)}'" for value in values if value is not None)


def cat(*values: Any) -> str:
    """Join the values with spaces."""
    return " ".join(string_of(value) for value in values if value is not None)


def join(separator: str, values: Any) -> str:
    """Join the items of a list with a separator."""
    parts = strings(values)
    current_budget().charge_characters(sum(map(len, parts)) + len(separator) * len(parts))
    return separator.join(parts)


def split_list(separator: str, text: str) -> list[str]:
    """Split at the separator; without a separator, into characters."""
    return text.split(separator) if separator else list(text)


def numbered(separator: str, text: str) -> dict[str, str]:
    """Split at the separator, into a map with the keys ``_0``, ``_1`` ..."""
    return {f"_{index}": part for index, part in enumerate(split_list(separator, text))}


def numbered_up_to(separator: str, count: int, text: str) -> dict[str, str]:
    """Split at the separator into at most ``count`` parts: a map with the keys ``_0``, ``_1`` ..."""
    if count == 0:
        return {}
    parts = text.split(separator, count - 1) if separator and count > 0 else split_list(separator, text)
    return {f"_{index}": part for index, part in enumerate(parts)}


def trunc(count: int, text: str) -> str:
    """Return the first ``count`` characters; the last ones if it is negative."""
    if count >= 0:
        return text[:count]
    return text[count:] if len(text) + count > 0 else text


def substr(start: int, end: int, text: str) -> str:
    """Return the characters from ``start`` up to ``end``, excluding ``end``."""
    if start < 0:
        return text[: max(0, end)]
    return text[start:] if end < 0 else text[start:end]


def abbrev(width: int, text: str) -> str:
    """Return the text, shortened to ``width`` with an ellipsis."""
    fits = width <= len(_ELLIPSIS) or len(text) <= width
    return text if fits else text[: width - len(_ELLIPSIS)] + _ELLIPSIS


def plural(one: str, many: str, count: int) -> str:
    """Return ``one`` if ``count`` is 1, else ``many``."""
    return one if count == 1 else many


def snakecase(text: str) -> str:
    """Return the words in lower case, joined with ``_``."""
    return _marked(text, "_")


def kebabcase(text: str) -> str:
    """Return the words in lower case, joined with ``-``."""
    return _marked(text, "-")


def _marked(text: str, mark: str) -> str:
    return mark.join(filter(None, _WORD_BREAK.sub(" ", text).split(" "))).lower()


def camelcase(text: str) -> str:
    """Join the words, each capitalized."""
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[\s_-]+", text))


def abbrev_both(left: int, right: int, text: str) -> str:
    """Return at most ``right`` characters from ``left`` on, with an ellipsis at each end that was cut off."""
    dots = len(_ELLIPSIS)
    if right < 2 * dots - 2 or (left > 0 and right < 2 * dots + 1) or right >= len(text):
        return text
    left = min(max(left, 0), len(text))
    if len(text) - left < right - dots:
        left = len(text) - (right - dots)
    if left <= dots + 1:
        return abbrev(right, text)
    if left + right - dots < len(text):
        return _ELLIPSIS + abbrev(right - dots, text[left:])
    return _ELLIPSIS + text[len(text) - (right - dots) :]


def initials(text: str) -> str:
    """Return the first letter of each word."""
    return "".join(word[0] for word in text.split())


def wrap(width: int, text: str) -> str:
    """Wrap lines at ``width`` characters, at spaces. A longer word gets its own line."""
    return _wrapped(width, "\n", text, cuts_words=False)


def wrap_with(width: int, separator: str, text: str) -> str:
    """Wrap lines, with ``separator`` between them. Longer words are cut."""
    return _wrapped(width, separator, text, cuts_words=True)


def _wrapped(width: int, separator: str, text: str, *, cuts_words: bool) -> str:
    width = max(width, 1)
    current_budget().charge_characters(len(text) + (len(text) // width + text.count(" ")) * len(separator))
    lines, start = [], 0
    while len(text) - start > width:
        if text[start] == " ":
            start += 1
            continue
        end = text.rfind(" ", start, start + width + 1)
        if end == -1 and cuts_words:
            lines.append(text[start : start + width])
            start += width
            continue
        if end == -1 and (end := text.find(" ", start + width)) == -1:
            break
        lines.append(text[start:end])
        start = end + 1
    return separator.join([*lines, text[start:]])


FUNCTIONS: Functions = {
    "abbrev": abbrev,
    "abbrevboth": abbrev_both,
    "camelcase": camelcase,
    "cat": cat,
    "contains": takes_strings(lambda part, text: part in text),
    "hasPrefix": takes_strings(lambda start, text: text.startswith(start)),
    "hasSuffix": takes_strings(lambda end, text: text.endswith(end)),
    "indent": indent,
    "initials": initials,
    "join": join,
    "kebabcase": kebabcase,
    "lower": takes_strings(lambda text: text.lower()),
    "nindent": nindent,
    "nospace": takes_strings(lambda text: "".join(text.split())),
    "plural": plural,
    "quote": quoted,
    "repeat": repeat,
    "replace": replace,
    "snakecase": snakecase,
    "split": numbered,
    "splitList": split_list,
    "splitn": numbered_up_to,
    "squote": squoted,
    "substr": substr,
    "swapcase": takes_strings(lambda text: text.swapcase()),
    "title": takes_strings(lambda text: _WORD_START.sub(lambda found: found[0].upper(), text)),
    "toString": string_of,
    "trim": takes_strings(lambda text: text.strip()),
    "trimAll": takes_strings(lambda characters, text: text.strip(characters)),
    "trimPrefix": takes_strings(lambda start, text: text.removeprefix(start)),
    "trimSuffix": takes_strings(lambda end, text: text.removesuffix(end)),
    "trimall": takes_strings(lambda characters, text: text.strip(characters)),
    "trunc": trunc,
    "untitle": takes_strings(lambda text: _WORD_START.sub(lambda found: found[0].lower(), text)),
    "upper": takes_strings(lambda text: text.upper()),
    "wrap": wrap,
    "wrapWith": wrap_with,
}
