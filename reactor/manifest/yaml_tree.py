"""Builds the tree of a manifest's values from the parser's events.

libyaml parses. Its events become `Mapping` and `Sequence` directly, because PyYAML's own way, with a graph of nodes
and a constructor for each, takes ten times as long. Without libyaml, PyYAML's slow parser produces the events.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from reactor.manifest.nodes import INVALID, Invalid, Mapping, Sequence
from reactor.manifest.parser_workarounds import (
    with_whole_characters,
    with_yaml11_breaks,
    without_filling,
    without_yaml11_breaks,
)
from reactor.manifest.scalars import SPECIAL_STARTS, plain_value, shown_tag, tagged_value
from reactor.manifest.source import Problems
from reactor.named_tuple import NamedTuple
from reactor.suggestions import did_you_mean

MAX_DEPTH = 64
MAX_EXPANDED = 1_000_000
_PIECE = 64 * 1024
"""Characters that the parser copies at once."""

_LONG = 64 * 1024
"""Characters of a text for which it pays to look for plain items."""

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_MERGE = "<<"
_FLATTEN = "no manifest needs that: flatten it"
_COLLECTION_TAGS = {
    MappingStartEvent: ("!", "tag:yaml.org,2002:map"),
    SequenceStartEvent: ("!", "tag:yaml.org,2002:seq"),
}


class _Stream:
    """A long text as the parser reads it: piece by piece. A copy of all at once would keep repairs waiting."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read(self, size: int) -> str:
        """The next ``size`` characters; fewer at the end."""
        self._at += size
        return self._text[self._at - size : self._at]


class _LimitError(Exception):
    """The document exceeds a limit, so none of it is used."""

    def __init__(self, message: str, at: int, hint: str) -> None:
        super().__init__(message)
        self.message, self.at, self.hint = message, at, hint


class _Anchor(NamedTuple):
    """The value that an alias refers to.

    ``size`` is its number of values with aliases expanded, ``height`` its depth.
    """

    value: Any
    raw: str | None = None
    size: int = 1
    height: int = 0
    is_open: bool = True


def parse(problems: Problems, loader: Callable[[Any], Any] = LOADER) -> Any:
    """Return the root value of the source of ``problems``, or None when nothing of it can be used.

    Adds errors to ``problems``. Parsing continues after a duplicate key, an unknown tag or an undefined alias.
    ``loader`` is a PyYAML loader class; only tests of the slow parser pass another one than `LOADER`.
    """
    return parsed(problems, loader).root


class Parsed(NamedTuple):
    """The root value of a text. It ``is_separable`` if no value stands in two places of the tree."""

    root: Any
    is_separable: bool


def parsed(problems: Problems, loader: Callable[[Any], Any] = LOADER, depth: int = 1) -> Parsed:
    """Do the same as `parse` for a text whose root is at the ``depth`` of a tree, and say more of the result."""
    if len(problems.source.text) > _LONG:
        from reactor.manifest.shortened_text import root_of  # noqa: PLC0415 - most manifests are short

        root = root_of(problems, lambda others: _separable_root(others, loader, depth))
        if root is not None:
            return Parsed(root, is_separable=True)
    return _parsed_whole(problems, loader, depth)


def _separable_root(problems: Problems, loader: Callable[[Any], Any], depth: int) -> Any:
    found = _parsed_whole(problems, loader, depth)
    return found.root if found.is_separable and not problems else None


def _parsed_whole(problems: Problems, loader: Callable[[Any], Any], depth: int) -> Parsed:
    text = with_whole_characters(without_yaml11_breaks(problems.source.text))
    parser = loader(text if len(text) <= _PIECE else _Stream(text))
    following = parser.get_event if text is problems.source.text else partial(_restored, parser.get_event)
    try:
        builder = _Builder(following, problems)
        return Parsed(builder.document(depth), builder.is_separable)
    except yaml.YAMLError as error:
        from reactor.manifest.syntax_errors import report_syntax  # noqa: PLC0415 - few manifests have any

        report_syntax(error, problems)
    except _LimitError as error:
        problems.add("R0113", error.message, error.at, error.hint)
    finally:
        parser.dispose()
    return Parsed(None, is_separable=False)


def _restored(following: Callable[[], Any]) -> Any:
    """Return the next event, with the replaced characters restored."""
    event = following()
    if event.__class__ is ScalarEvent:
        event.value = without_filling(with_yaml11_breaks(event.value))
    return event


class _Builder:
    """Builds the tree in one pass over the events of a document, by recursive descent."""

    def __init__(self, following: Callable[[], Any], problems: Problems) -> None:
        self._next = following
        self._problems = problems
        self._anchors: dict[str, _Anchor] = {}
        self._keys: dict[str, str] = {}
        """Each key once: most maps have the same. Python 3.12 keeps what it interns for ever."""
        self._count = 0
        self._expanded = 0
        self._deepest = 0
        self._has_merges = False

    @property
    def is_separable(self) -> bool:
        return not (self._anchors or self._has_merges)

    def document(self, depth: int) -> Any:
        self._next()
        if self._next().__class__ is StreamEndEvent:
            return None
        root, _ = self._node(self._next(), depth)
        self._next()
        event = self._next()
        at = event.start_mark.index
        if event.__class__ is DocumentStartEvent:
            hint = "a manifest is one document: remove the '---' or split the file"
            self._problems.add("R0105", "a second YAML document starts here", at, hint)
        return root

    def _node(self, event: Any, depth: int) -> tuple[Any, str | None]:
        """Return the value that starts with ``event``, and the source text of a scalar that is not a string."""
        if event.anchor is None:
            return self._scalar(event) if event.__class__ is ScalarEvent else self._collection(event, depth)
        return self._alias(event, depth) if event.__class__ is AliasEvent else self._anchored(event, depth)

    def _collection(self, event: Any, depth: int) -> tuple[Any, str | None]:
        at = event.start_mark.index
        if depth > MAX_DEPTH:
            raise _LimitError(f"nested deeper than {MAX_DEPTH} levels", at, _FLATTEN)
        if depth > self._deepest:  # noqa: PLR1730 - max() costs five times as much, 50,000 times
            self._deepest = depth
        if event.__class__ is MappingStartEvent:
            value: Any = self._mapping(at, depth)
        else:
            value = self._sequence(at, depth)
        if event.tag is not None and event.tag not in _COLLECTION_TAGS[event.__class__]:
            return self._unusable(f"unknown tag {shown_tag(event.tag)}", at, "remove the tag"), None
        return value, None

    def _mapping(self, at: int, depth: int) -> Mapping | Invalid:
        node = Mapping(at)
        merges: list[tuple[int, int, Any]] = []
        usable = True
        following = self._next
        while (event := following()).__class__ is not MappingEndEvent:
            key_at = event.start_mark.index
            key = self._key(event, depth)
            is_merge = key == _MERGE and event.__class__ is ScalarEvent and event.implicit[0]
            event = following()
            value, raw = self._node(event, depth + 1)
            if key is None:
                usable = False
            elif is_merge:
                merges.append((key_at, event.start_mark.index, value))
            elif key in node:
                self._report_duplicate(key, key_at, node.key_at(key))
            else:
                node.put(key, value, key_at, event.start_mark.index, raw)
        self._count += len(node)
        if merges:
            usable = self._merge(node, merges) and usable
        return node if usable else INVALID

    def _sequence(self, at: int, depth: int) -> Sequence:
        node = Sequence(at)
        while (event := self._next()).__class__ is not SequenceEndEvent:
            value, raw = self._node(event, depth + 1)
            node.put(value, event.start_mark.index, raw)
        self._count += len(node)
        return node

    def _key(self, event: Any, depth: int) -> str | None:
        """Return the key that starts with ``event``, as written: ``1.10`` and ``true`` are ordinary keys."""
        if event.__class__ is ScalarEvent and event.anchor is None and event.tag is None:
            key: str = event.value
            return self._keys.setdefault(key, key)
        value, raw = self._node(event, depth + 1)
        if isinstance(value, (Mapping, Sequence)):
            self._report_complex_key(event.start_mark.index)
            return None
        return None if value is INVALID else raw or str(value)

    def _scalar(self, event: Any) -> tuple[Any, str | None]:
        text = event.value
        is_plain = event.implicit[0]
        if event.tag is None and not (is_plain and text[:1] in SPECIAL_STARTS):
            return text, None
        try:
            value = plain_value(text) if is_plain else tagged_value(event.tag, text)
        except ValueError as error:
            from reactor.manifest.foreign_documents import hint_for_encrypted  # noqa: PLC0415 - only for an error

            hint = hint_for_encrypted(text) or "quote the string, or remove the tag"
            return self._unusable(str(error), event.start_mark.index, hint), None
        return value, (None if value.__class__ is str else text)

    def _anchored(self, event: Any, depth: int) -> tuple[Any, str | None]:
        count, deepest = self._count, self._deepest
        self._deepest = depth
        opened = self._anchors[event.anchor] = _Anchor(INVALID)
        is_scalar = event.__class__ is ScalarEvent
        value, raw = self._scalar(event) if is_scalar else self._collection(event, depth)
        if self._anchors[event.anchor] is opened:
            size = 1 + self._count - count
            self._anchors[event.anchor] = _Anchor(value, raw, size, self._deepest - depth, is_open=False)
        self._deepest = max(deepest, self._deepest)
        return value, raw

    def _alias(self, event: Any, depth: int) -> tuple[Any, str | None]:
        name, at = event.anchor, event.start_mark.index
        anchor = self._anchors.get(name)
        if anchor is None:
            hint = (
                did_you_mean(name, self._anchors)
                or f"name a value with &{name} before this place, or quote the string"
            )
            return self._unusable(f"no anchor named {name!r} comes before this alias", at, hint), None
        if anchor.is_open:
            return self._unusable(
                "the alias stands inside the value it names", at, "write the value out"
            ), None
        self._count += anchor.size - 1
        self._expanded += anchor.size
        self._deepest = max(self._deepest, depth + anchor.height)
        if self._expanded > MAX_EXPANDED:
            message = f"the aliases stand for more than {MAX_EXPANDED:,} values"
            raise _LimitError(message, at, "write out what is needed, and no more")
        if self._deepest > MAX_DEPTH:
            raise _LimitError(f"the aliases nest deeper than {MAX_DEPTH} levels", at, _FLATTEN)
        return anchor.value, anchor.raw

    def _merge(self, node: Mapping, merges: list[tuple[int, int, Any]]) -> bool:
        """Merge the maps under ``<<`` into ``node``. The map's own keys have priority, then the first maps."""
        self._has_merges = True
        (first_at, at, value), *others = merges
        for again_at, _, _ in others:
            self._report_duplicate(_MERGE, again_at, first_at)
        sources = value if isinstance(value, Sequence) else [value]
        for source in sources:
            if isinstance(source, Mapping):
                node.merge(source)
            elif source is not INVALID:
                self._problems.add(
                    "R0103",
                    "'<<' must be a map or a list of maps",
                    at,
                    "name the map with an alias: <<: *name",
                )
                return False
        return INVALID not in sources

    def _unusable(self, message: str, at: int, hint: str) -> Invalid:
        self._problems.add("R0103", message, at, hint)
        return INVALID

    def _report_duplicate(self, key: str, at: int, first_at: int) -> None:
        hint = "keep one of the two"
        self._problems.add("R0104", f"duplicate key {key!r}", at, hint, [("first given here", first_at)])

    def _report_complex_key(self, at: int) -> None:
        if self._problems.source.text[at - 1 : at + 1] == "{{":
            from reactor.manifest.syntax_errors import BRACES  # noqa: PLC0415 - few manifests have any

            self._problems.add("R0103", BRACES, at - 1, "put quotes around it")
        else:
            hint = "quote it if it is a string"
            if self._problems.source.text.startswith("[", at):
                hint += "; for a resource of each name, write '\"{{ item }}\": {for_each: [...], ...}'"
            self._problems.add("R0103", "a key must be a string, not a map or a list", at, hint)
