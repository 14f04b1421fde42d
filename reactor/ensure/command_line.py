"""From words of a command line to the tree of a manifest with one entry, so that both are read by the same rules.

The source of that tree is the command line itself: an error points at the word it is about.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from reactor.ensure.properties import Property, item_shape, value_of
from reactor.manifest.nodes import Mapping, Sequence
from reactor.manifest.shapes import UNKNOWN, Shape
from reactor.manifest.source import Source

FILE = "command line"
"""What stands for the file in places. Relative paths start at the current directory."""


class CommandLine:
    """A command line that is written down word by word, and the ``body`` of the entry it stands for."""

    def __init__(self, words: Iterable[str], name: str, ensure: str | None = None) -> None:
        self._words = list(words)
        self._length = len(" ".join(self._words))
        at = self._write(shlex.quote(name))
        self.body = Mapping(at)
        self.body.put("name", name, at, at, None)
        if ensure is not None:
            at = self._write(shlex.quote(ensure))
            self.body.put("ensure", ensure, at, at, None)

    @property
    def source(self) -> Source:
        """The line as it would be typed."""
        return Source(FILE, " ".join(self._words))

    def assume(self, key: str, text: str) -> None:
        """Set a property that nobody has typed; what is wrong with it is wrong with the name."""
        if key not in self.body:
            self.body.put(key, text, self.body.at, self.body.at, None)

    def set(self, option: str, wanted: Property, given: str | bool | tuple[str, ...]) -> None:
        """Set a property of the kind to what an option was given."""
        key = wanted.name
        if isinstance(given, bool):
            at = self._write(option)
            self.body.put(key, given, at, at, str(given).lower())
        elif isinstance(given, str):
            self._put(self.body, key, option, given, wanted.shape)
        elif wanted.shape.items is not None:
            self.put_list(key, option, given, wanted.shape.items)
        else:
            self._put_map(key, option, given, wanted.shape)

    def put_list(self, key: str, option: str, given: Iterable[str], shape: Shape = UNKNOWN) -> None:
        """Set a property to a list, one item for each time the option was given."""
        items: Sequence | None = None
        for text in given:
            at = self._write(option, shlex.quote(text))
            if items is None:
                items = Sequence(at)
                self.body.put(key, items, at, at, None)
            if shape.values is not None:
                items.put(self._pair(at, text, shape.values), at, None)
            else:
                items.put(value_of(shape, text), at, text)

    def put_group(self, key: str, *options: tuple[str, str, str]) -> None:
        """Set a property to a map of options that go together: the name in the map, the option, and its value."""
        group = Mapping(self._length)
        for name, option, text in options:
            self._put(group, name, option, text, UNKNOWN)
        self.body.put(key, group, group.at, group.at, None)

    def put_groups(self, key: str, groups: Iterable[Iterable[tuple[str, str, str]]]) -> None:
        """Set a property to a list of such maps."""
        items = Sequence(self._length)
        for options in groups:
            group = Mapping(self._length)
            for name, option, text in options:
                self._put(group, name, option, text, UNKNOWN)
            items.put(group, group.at, None)
        self.body.put(key, items, items.at, items.at, None)

    def _put_map(self, key: str, option: str, given: Iterable[str], shape: Shape) -> None:
        map_at = self._length
        whole = Mapping(map_at)
        for text in given:
            at = self._write(option, shlex.quote(text))
            name, _, value = text.partition("=")
            inner = item_shape(shape) if shape.model is None else shape.inside(name)
            whole.put(name, value_of(inner, value), at, at, value)
        self.body.put(key, whole, map_at, map_at, None)

    def _pair(self, at: int, text: str, shape: Shape) -> Mapping:
        name, _, value = text.partition("=")
        pair = Mapping(at)
        pair.put(name, value_of(shape, value), at, at, value)
        return pair

    def _put(self, target: Mapping, key: str, option: str, text: str, shape: Shape) -> None:
        at = self._write(option, shlex.quote(text))
        value = value_of(shape, text)
        target.put(key, value, at, at, None if isinstance(value, str) else text)

    def _write(self, *words: str) -> int:
        """Add words to the line; return where the last begins."""
        for word in words:
            at = self._length + 1
            self._words.append(word)
            self._length = at + len(word)
        return at
