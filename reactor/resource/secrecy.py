"""The secrets this process has met, so that no text that leaves it shows one.

Whoever evaluates a value tainted by a secret remembers it here; every sink scrubs what it writes. That is a second
line of defence: properties known to be secret are not shown in the first place.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from reactor.resource.secret_forms import hex_forms, holds_short, plain_forms, values_of
from reactor.resource.secret_search import Index, escaped_spans, hex_spans, merged, with_each

MASK = "[secret]"


class _Known:
    """The secrets, and where to look them up. Forms are made when the first text after a new secret is scrubbed."""

    def __init__(self) -> None:
        self.values: set[str] = set()
        self.new: list[str] = []
        self.plain = Index()
        self.plain.add([MASK])  # what is masked stays
        self.hex = Index()
        self.names: set[str] = set()
        self.has_short = False
        self.lock = threading.Lock()

    def index_new(self) -> None:
        """Make what is new findable; once this returns, all that was remembered before is."""
        with self.lock:  # templates remember secrets in threads
            while self.new:
                self.plain.add(plain_forms(self.new[0]))
                self.hex.add(hex_forms(self.new[0]))
                del self.new[0]  # last: a thread that sees nothing new must find this one


_known = _Known()


def remember(value: Any) -> None:
    """Never again show ``value``, or what is in it: a text, number, list or map; texts also line by line.

    The keys of a map are no secrets: without words such as "user" and "password" nothing could be said about it.
    """
    if isinstance(value, (dict, list, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            remember(item)
        return
    if value is None or isinstance(value, bool):
        return
    _known.has_short |= holds_short(str(value))
    new = values_of(str(value)) - _known.values
    _known.new.extend(new)
    _known.values.update(new)


def can_mask_all() -> bool:
    """Whether no secret is too short, as a whole or in one of its lines."""
    return not _known.has_short


def show_names(refs: Iterable[str]) -> None:
    """Let `scrubbed` show ``refs`` as they are: by them resources are known, and found again.

    A manifest that makes one with a secret is refused. What is left is chance, and to mask a word that merely happens
    to be somebody's password as well would tell what it is.
    """
    _known.names.update(refs)


def forget_all() -> None:
    """Know no secrets: for tests."""
    global _known  # noqa: PLW0603
    _known = _Known()


def scrub(text: str) -> str:
    """``text`` with every secret in it masked: as it is, and in every form that docs/manifest-language.md names."""
    return with_each_secret(text, lambda _: MASK) if _known.values else text


def with_each_secret(text: str, make: Callable[[str], str]) -> str:
    """``text`` with what ``make`` gives for each secret in it, as it stands there, in its place."""
    if _known.new:
        _known.index_new()
    index = _known.plain
    spans = merged([*index.spans(text), *escaped_spans(index, text), *hex_spans(_known.hex, text)])
    return with_each(text, spans, make) if spans else text


def scrubbed(value: Any) -> Any:
    """A copy of a tree of maps, lists, texts, dataclasses and named tuples with every text scrubbed but refs.

    While there are no secrets, that is ``value`` itself.
    """
    if not _known.values:
        return value
    if isinstance(value, str) and not isinstance(value, Enum):  # members of enumerations are our own words
        return value if value in _known.names else scrub(value)
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
