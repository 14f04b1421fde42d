"""Parses a text that has changed a little: an editor has it parsed again after each key that is typed.

Only the item of a list or the section around the change is parsed. The offsets of what stands after it are shifted. A
part of a text that is indented deeper than its first line means the same alone; where that is not certain, or the
part has a problem, the whole text is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from reactor.manifest.nodes import Mapping, Sequence
from reactor.manifest.source import Problems, Source
from reactor.manifest.yaml_tree import parsed

_DASH = re.compile(r"( *)- +")
_INDENT = re.compile(r" *")
_BYTE_ORDER_MARK = "\ufeff"
_KEY_ALONE = re.compile(r"\?(?<!\S\?)(?=\s)")
"""The mark of a key that may have no value. The pattern begins with the character itself, which is found much faster."""
_LISTS = 2
"""The nested lists with items to parse alone: the resources by kind, and those of one kind."""


class Reparser:
    """The tree of the last valid text of one file. Each tree is that of the last call, changed in place."""

    def __init__(self) -> None:
        self._text = ""
        self._root: Mapping | None = None

    def parse(self, problems: Problems) -> Any:
        """Return what `reactor.manifest.yaml_tree.parse` returns. Adds errors to ``problems``."""
        source = problems.source
        if self._root is not None and (root := _changed(self._root, self._text, source)) is not None:
            self._root, self._text = root, source.text
            return root
        found = parsed(problems)
        is_certain = found.is_separable and not problems and not _is_uncertain(source.text)
        if is_certain and isinstance(found.root, Mapping):
            self._root, self._text = found.root, source.text
        return found.root


def _is_uncertain(text: str) -> bool:
    """Whether ``text`` has a mark of the byte order, or a key that may have no value: what follows has its offset."""
    return _BYTE_ORDER_MARK in text or _KEY_ALONE.search(text) is not None


class _Change(NamedTuple):
    """The text from ``start`` to ``end`` of the text before was replaced; the text became longer by ``by`` characters."""

    start: int
    end: int
    by: int


class _Part(NamedTuple):
    """The text of the entry ``key`` of ``holder``, from ``start``, the start of a line, to ``end``, at a ``depth``.

    All its other lines are indented deeper than ``indent``, or it is a section: then that is -1.
    """

    holder: Any
    key: Any
    start: int
    end: int
    indent: int
    depth: int

    def alone(self, text: str, file: str) -> Any:
        """Return the map or list with one entry that ``text`` is in its place; None if that is not certain."""
        if _is_uncertain(text) or not _is_block(text, self.indent):
            return None
        problems = Problems(Source(file, text))
        root, is_separable = parsed(problems, depth=self.depth)
        is_one = isinstance(root, type(self.holder)) and len(root) == 1
        if not (is_one and is_separable) or problems:
            return None
        at = root.at
        return root if isinstance(root, Sequence) or at == 0 or text[at - 1] == "\n" else None


def _changed(root: Mapping, before: str, source: Source) -> Mapping | None:
    """Return the tree of ``source``, made of ``root``, which is that of the text ``before``; None if it is not certain."""
    change = _difference(before, source.text)
    if not change.by and change.start == change.end:
        return root
    part = _part_around(root, change, before)
    if part is None:
        return None
    end = part.end + change.by
    text = source.text[part.start : end]
    if not (text.endswith("\n") or end == len(source.text)):
        return None
    new = part.alone(text, source.file)
    return None if new is None else _with_part(root, part, new, change.by)


def _with_part(root: Mapping, part: _Part, new: Any, by: int) -> Mapping | None:
    """Return ``root`` with the only entry of ``new`` in the place of ``part``. The text became longer by ``by``."""
    holder, key = part.holder, part.key
    if isinstance(holder, Mapping):
        (name,) = new
        if name != key and name in holder:
            return None  # a duplicate
    new.shift(0, part.start)
    root.shift(part.end, by)
    if isinstance(holder, Mapping):
        return root.replaced(key, new)
    holder.replace(key, new[0], new.value_at(0), new.raw(0))
    return root


def _difference(before: str, now: str) -> _Change:
    most = min(len(before), len(now))
    start = _longest(most, lambda length: before.startswith(now[:length]))
    end = _longest(most - start, lambda length: before.endswith(now[len(now) - length :]))
    return _Change(start, len(before) - end, len(now) - len(before))


def _longest(most: int, holds: Any) -> int:
    """Return the largest length up to ``most`` for which it ``holds``; it holds for all smaller ones."""
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        if holds(middle):
            least = middle
        else:
            most = middle - 1
    return least


def _part_around(root: Mapping, change: _Change, text: str) -> _Part | None:
    """Return the smallest part of the ``text`` before that has the whole change; None if there is none."""
    section = _last(root.key_offsets(), change.start)
    if section is None or root.at != next(iter(root.key_offsets()))[1]:
        return None  # a map in braces is no block
    for depth, (items, index) in reversed([*enumerate(_way(root[section], change.start), 1)]):
        part = _item(items, index, text, 2 * depth)  # between two lists, there is the map of one kind
        if part is not None and part.start + part.indent < change.start and change.end <= part.end:
            return part
    found = _section(root, section, text)
    return found if found is not None and change.end <= found.end else None


def _way(node: Any, at: int) -> Iterator[tuple[Sequence, int]]:
    """Yield the nested lists in a section, each with the index of the item that has the offset ``at``."""
    for _ in range(_LISTS):
        if not isinstance(node, Sequence):
            return
        index = _last(enumerate(map(node.value_at, range(len(node)))), at)
        if index is None:
            return
        yield node, index
        item = node[index]
        node = next(iter(item.values())) if isinstance(item, Mapping) and len(item) == 1 else None


def _last(places: Any, at: int) -> Any:
    """Return the last key whose offset is not after ``at``; None if there is none."""
    found = None
    for key, start in places:
        if start > at:
            break
        found = key
    return found


def _section(root: Mapping, key: str, text: str) -> _Part | None:
    """Return the section ``key``; None if it does not begin a line."""
    keys = [*root]
    start = root.key_at(key)
    end = len(text) if key == keys[-1] else root.key_at(keys[keys.index(key) + 1])
    is_block = all(at in (0, len(text)) or text[at - 1] == "\n" for at in (start, end))
    return _Part(root, key, start, end, -1, 1) if is_block else None


def _item(items: Sequence, index: int, text: str, depth: int) -> _Part | None:
    """Return an item of a list; None if it does not begin a line, or its end is not certain."""
    start = _line_of_item(items, index, text)
    if start is None:
        return None
    indent = text.index("-", start) - start
    if index + 1 < len(items):
        end = _line_of_item(items, index + 1, text)
        is_like = end is not None and text.index("-", end) - end == indent
        return _Part(items, index, start, end, indent, depth) if end is not None and is_like else None
    part = _Part(items, index, start, _end_of_block(text, start, indent), indent, depth)
    alone = part.alone(text[start : part.end], "")  # a quoted text may go on at any column
    return part if alone is not None and _is_alike(alone, items) else None


def _is_alike(alone: Sequence, items: Sequence) -> bool:
    """Whether the only item of ``alone`` is written as the last one of ``items``."""
    one, other, last = alone[0], items[-1], len(items) - 1
    is_same = one.is_like(other) if hasattr(one, "is_like") else one == other
    return bool(is_same) and alone.raw(0) == items.raw(last)


def _line_of_item(items: Sequence, index: int, text: str) -> int | None:
    """Return the start of the line of an item; None if there is more before it than its dash."""
    at = items.value_at(index)
    start = text.rfind("\n", 0, at) + 1
    return start if _DASH.fullmatch(text, start, at) else None


def _end_of_block(text: str, at: int, indent: int) -> int:
    """Return the start of the first line after the offset ``at`` that is not indented deeper than ``indent``."""
    while (at := text.find("\n", at) + 1) > 0:
        if not _is_inside(text, at, indent):
            return at
    return len(text)


def _is_inside(text: str, start: int, indent: int) -> bool:
    """Whether a line is indented deeper than ``indent``, or empty, or a comment."""
    found = _INDENT.match(text, start)
    at = found.end() if found else start
    return at - start > indent or text[at : at + 1] in ("", "\n", "#")


def _is_block(text: str, indent: int) -> bool:
    """Whether all lines but the first belong to what begins there."""
    at = 0
    while (at := text.find("\n", at) + 1) > 0:
        if not (_is_inside(text, at, indent) if indent >= 0 else _is_below_key(text, at)):
            return False
    return True


def _is_below_key(text: str, at: int) -> bool:
    """Whether a line belongs to a key at the left edge: a list may begin there, too."""
    return _is_inside(text, at, 0) or text.startswith(("- ", "-\n"), at)
