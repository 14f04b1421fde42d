"""The secrets this process has met, so that no text that leaves it shows one.

Whoever evaluates a value tainted by a secret remembers it here; every sink scrubs what it writes. That is a second
line of defence: properties known to be secret are not shown in the first place.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import re
from collections.abc import Iterable
from enum import Enum
from typing import Any
from urllib.parse import quote, quote_plus

SHORTEST = 4
"""Characters: to hide every ``a`` would make the output unreadable and hide nothing."""
MASK = "[secret]"

_known: set[str] = set()
_names: set[str] = set()
_pattern: re.Pattern[str] | None = None


def remember(value: Any) -> None:
    """Never again show ``value``, or what is in it: a text, number, list or map; texts also line by line.

    The keys of a map are no secrets: without words such as "user" and "password" nothing could be said about it.
    """
    global _pattern  # noqa: PLW0603 - made of the set beside it, whenever that has grown
    if isinstance(value, (dict, list, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            remember(item)
        return
    if value is None or isinstance(value, bool):
        return
    text = str(value)
    new = {part for part in (text, *map(str.strip, text.split("\n"))) if len(part) >= SHORTEST} - _known
    if new:
        _known.update(new)
        _pattern = None


def show_names(refs: Iterable[str]) -> None:
    """Let `scrubbed` show ``refs`` as they are: by them resources are known, and found again.

    A manifest that makes one with a secret is refused. What is left is chance, and to mask a word that merely happens
    to be somebody's password as well would tell what it is.
    """
    _names.update(refs)


def forget_all() -> None:
    """Know no secrets: for tests."""
    global _pattern  # noqa: PLW0603
    _known.clear()
    _names.clear()
    _pattern = None


def scrub(text: str) -> str:
    """``text`` with every secret in it masked: as it is, quoted for URLs or JSON, and in base64."""
    if not _known:
        return text
    global _pattern  # noqa: PLW0603
    if _pattern is None:
        forms = {MASK, *(form for secret in _known for form in _forms(secret))}  # what is masked stays
        _pattern = re.compile("|".join(map(re.escape, sorted(forms, key=len, reverse=True))))
    return _pattern.sub(MASK, text)


def scrubbed(value: Any) -> Any:
    """A copy of a tree of maps, lists, texts, dataclasses and named tuples with every text scrubbed but refs.

    While there are no secrets, that is ``value`` itself.
    """
    if not _known:
        return value
    if isinstance(value, str) and not isinstance(value, Enum):  # members of enumerations are our own words
        return value if value in _names else scrub(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: scrubbed(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return dataclasses.replace(value, **fields)
    if isinstance(value, dict):
        return {scrubbed(key): scrubbed(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        make = getattr(value, "_make", type(value))  # that of a named tuple
        return make(scrubbed(item) for item in value)
    return value


def scrubbed_record(record: dict[str, Any]) -> dict[str, Any]:
    """The same for a map whose keys are our own words, as is the kind of ``event`` that it may tell of."""
    return {key: value if key == "event" else scrubbed(value) for key, value in record.items()}


def _forms(secret: str) -> set[str]:
    return {
        secret,
        quote(secret, safe=""),
        quote(secret),
        quote_plus(secret),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        *_base64_forms(secret.encode(errors="surrogateescape")),
    }


def _base64_forms(secret: bytes) -> set[str]:
    """What every base64 text holds that encodes ``secret``, wherever in the encoded bytes it stands.

    Where it ends them, its last characters are in the form too, with the padding or without.
    """
    forms: set[str] = set()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for before in range(3):
            encoded = encode(b"\0" * before + secret)
            start, end = (before * 8 + 5) // 6, (before + len(secret)) * 8 // 6  # of what nothing else is in
            inside, at_the_end = encoded[start:end].decode(), encoded[start:].decode()
            forms.update((inside, at_the_end, at_the_end.rstrip("=")))
    return {form for form in forms if len(form) >= SHORTEST}
