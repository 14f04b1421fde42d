"""Turns the options of a command line into the tree of a manifest with one entry, so that the same rules apply to both.

The source of that tree is the command line itself, so an error points at the option.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import NamedTuple

from reactor.ensure.properties import Property, value_of
from reactor.manifest.nodes import Mapping, Sequence
from reactor.manifest.scalar_types import UNKNOWN, Shape
from reactor.manifest.source import COMMAND_LINE, Source


class Given(NamedTuple):
    """An option, its value, and the key of its property."""

    key: str
    option: str
    text: str


class CommandLine:
    """Builds the text of a command line, word by word, and the ``body`` of the entry that it describes."""

    def __init__(self, words: Iterable[str], name: str, ensure: str | None) -> None:
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
        """The command line as the user would type it."""
        return Source(COMMAND_LINE, " ".join(self._words))

    def assume(self, key: str, text: str) -> None:
        """Set a property that is not on the command line. Errors about it point at the name of the resource."""
        if key not in self.body:
            self.body.put(key, text, self.body.at, self.body.at, None)

    def set(self, option: str, wanted: Property, given: str | bool | tuple[str, ...]) -> None:
        """Set a property of the kind to the value of an option."""
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
                items.put(self._pair(at, text, shape), at, None)
            else:
                value, raw = value_of(shape, text)
                items.put(value, at, raw)

    def put_group(self, key: str, options: Iterable[Given]) -> None:
        """Set a property to a map with one key for each of these options."""
        group = self._group(options)
        self.body.put(key, group, group.at, group.at, None)

    def put_groups(self, key: str, groups: Iterable[Iterable[Given]]) -> None:
        """Set a property to a list of maps, one for each group of options."""
        items = Sequence(self._length)
        for options in groups:
            group = self._group(options)
            items.put(group, group.at, None)
        self.body.put(key, items, items.at, items.at, None)

    def _group(self, options: Iterable[Given]) -> Mapping:
        group = Mapping(self._length)
        for given in options:
            self._put(group, given.key, given.option, given.text, UNKNOWN)
        return group

    def _put_map(self, key: str, option: str, given: Iterable[str], shape: Shape) -> None:
        whole = Mapping(self._length)
        for text in given:
            whole.merge(self._pair(self._write(option, shlex.quote(text)), text, shape))
        self.body.put(key, whole, whole.at, whole.at, None)

    def _pair(self, at: int, text: str, shape: Shape) -> Mapping:
        """``KEY=VALUE`` as a map with one key."""
        key, _, value_text = text.partition("=")
        value, raw = value_of(shape.inside(key), value_text)
        pair = Mapping(at)
        pair.put(key, value, at, at, raw)
        return pair

    def _put(self, target: Mapping, key: str, option: str, text: str, shape: Shape) -> None:
        at = self._write(option, shlex.quote(text))
        value, raw = value_of(shape, text)
        target.put(key, value, at, at, raw)

    def _write(self, *words: str) -> int:
        """Add words to the line; return the position at which the last word begins."""
        for word in words:
            at = self._length + 1
            self._words.append(word)
            self._length = at + len(word)
        return at
