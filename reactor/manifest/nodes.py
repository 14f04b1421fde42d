"""The nodes of a manifest's tree: maps and lists that know the positions of their values.

A position is the offset of a character in the text. `reactor.manifest.source` converts it to a line and column when
needed. Scalars are plain Python values. So the map or list that contains them stores their positions, and the source
text of scalars that are not strings: ``0644``, ``1.10``, ``true``.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Mapping as AbstractMapping
from typing import Any, Final, Generic, Self, TypeVar

Key = TypeVar("Key", str, int)


class Invalid:
    """The type of `INVALID`."""

    def __repr__(self) -> str:
        return "INVALID"


INVALID: Final = Invalid()
"""Replaces an invalid value whose problem was already reported."""


class _Node(Generic[Key]):
    """The common part of maps and lists: the source texts of their scalars, by key or index."""

    __slots__ = ()  # the layouts of dict and list leave no room for those of a second base
    _marks: array[int]
    """The offset of the map or list, followed by those of what is in it: 4 bytes each, instead of an object."""
    _raw: dict[Key, str] | None

    @property
    def at(self) -> int:
        """The offset of the map or list."""
        return self._marks[0]

    def raw(self, key: Key) -> str | None:
        """Return the value at ``key`` as written, if it is a scalar but not a string."""
        return self._raw.get(key) if self._raw else None

    @property
    def raws(self) -> AbstractMapping[Key, str]:
        """The source texts of the scalars that are not strings."""
        return self._raw or {}

    def is_like(self, other: Any) -> bool:
        """Whether ``other`` is written alike, wherever it is: 1, 1.0 and true are equal, and not alike."""
        return (
            isinstance(other, type(self))
            and self == other
            and self.raws == other.raws
            and all(value.is_like(other[key]) for key, value in self._entries() if value.__class__ in _NODES)  # type: ignore[index]
        )

    def has_offsets_of(self, other: Self) -> bool:
        """Whether all offsets are those of ``other``, which is written alike."""
        return bool(self._marks == other._marks) and all(
            value.has_offsets_of(other[key])  # type: ignore[index]
            for key, value in self._entries()
            if value.__class__ in _NODES
        )

    def move(self, moved: Callable[[int], int]) -> None:
        """Give everything the offset that is ``moved`` from its own."""
        self._marks = array("I", map(moved, self._marks))  # type: ignore[misc]
        for _, value in self._entries():
            if value.__class__ in _NODES:
                value.move(moved)

    def shift(self, first: int, by: int) -> None:
        """Add ``by`` to the offsets from ``first`` on, here and in all values: the text before these has changed."""
        marks: array[int] = self._marks
        if marks[0] >= first:
            self.shift_all(by)
            return
        if marks[-1] >= first:
            self._marks = array("I", [at + by if at >= first else at for at in marks])  # type: ignore[misc]
        ends = [*self._starts(marks)[1:], first + 1]
        for end, (_, value) in zip(ends, self._entries(), strict=False):
            if end > first and value.__class__ in _NODES:
                value.shift(first, by)

    def shift_all(self, by: int) -> None:
        """Add ``by`` to all offsets."""
        self.move(by.__add__)

    def _starts(self, marks: array[int]) -> array[int]:
        """The offsets in ``marks`` at which the entries begin."""
        raise NotImplementedError

    def _entries(self) -> Iterable[tuple[Key, Any]]:
        """The values, each with its key or index."""
        raise NotImplementedError


class Mapping(_Node[str], dict[str, Any]):
    """A YAML map. Keys are always strings."""

    __slots__ = ("_marks", "_raw")

    def __init__(self, at: int) -> None:  # without that of the base, which does nothing more
        self._marks = array("I", (at,))  # followed by the offsets of key and value of each entry
        self._raw: dict[str, str] | None = None

    def put(self, key: str, value: Any, key_at: int, value_at: int, raw: str | None) -> None:
        """Add an entry. ``raw`` is the source text of a scalar that is not a string."""
        self[key] = value
        self._marks.append(key_at)
        self._marks.append(value_at)
        if raw is not None:
            if self._raw is None:
                self._raw = {}
            self._raw[key] = raw

    def merge(self, other: Mapping) -> None:
        """Add the entries of ``other`` whose keys are missing in this map, with their positions."""
        for index, (key, value) in enumerate(other.items()):
            if key not in self:
                key_at, value_at = other._marks[2 * index + 1 : 2 * index + 3]
                self.put(key, value, key_at, value_at, other.raw(key))

    def replaced(self, old: str, new: Mapping) -> Mapping:
        """Return this map, which is no map in braces, with the only entry of ``new`` in the place of the entry ``old``."""
        found = Mapping(self.at)
        for key, key_at in self.key_offsets():
            if key == old:
                found.merge(new)
            else:
                found.put(key, self[key], key_at, self.value_at(key), self.raw(key))
        found._marks[0] = found._marks[1]
        return found

    def key_at(self, key: str) -> int:
        """Return the offset of ``key``. Raises KeyError when it is missing."""
        if len(self) == 1 and key in self:
            return self._marks[1]  # an item of a list
        return self._marks[2 * self._index(key) + 1]

    def key_offsets(self) -> Iterator[tuple[str, int]]:
        """Yield every key and its offset."""
        return zip(self, self._marks[1::2], strict=True)

    def value_at(self, key: str) -> int:
        """Return the offset of the value of ``key``. Raises KeyError when it is missing."""
        return self._marks[2 * self._index(key) + 2]

    def _entries(self) -> Iterable[tuple[str, Any]]:
        return self.items()

    def _starts(self, marks: array[int]) -> array[int]:
        return marks[1::2]

    def _index(self, key: str) -> int:
        try:
            return list(self).index(key)
        except ValueError:
            raise KeyError(key) from None


class Sequence(_Node[int], list[Any]):
    """A YAML list."""

    __slots__ = ("_marks", "_raw")

    def __init__(self, at: int) -> None:  # without that of the base, which does nothing more
        self._marks = array("I", (at,))
        self._raw: dict[int, str] | None = None

    def put(self, value: Any, value_at: int, raw: str | None) -> None:
        """Add an item. ``raw`` is the source text of a scalar that is not a string."""
        if raw is not None:
            if self._raw is None:
                self._raw = {}
            self._raw[len(self)] = raw
        self.append(value)
        self._marks.append(value_at)

    def replace(self, index: int, value: Any, value_at: int, raw: str | None) -> None:
        """Put another item in the place of the one at ``index``."""
        self[index] = value
        self._marks[index + 1] = value_at
        raws = {each: text for each, text in self.raws.items() if each != index}
        self._raw = ({**raws, index: raw} if raw is not None else raws) or None

    def insert_after(self, more: AbstractMapping[int, tuple[list[Any], array[int]]]) -> None:
        """Insert items, which are no scalars, with their offsets, each list after the item of that index."""
        items, marks, raws = [*self], self._marks, self.raws
        self.clear()
        self._marks, self._raw = marks[:1], None
        for index, item in enumerate(items):
            self.put(item, marks[index + 1], raws.get(index))
            if index in more:
                inserted, offsets = more[index]
                self.extend(inserted)
                self._marks.extend(offsets)

    def value_at(self, index: int) -> int:
        """Return the offset of the item. Raises IndexError when there is none."""
        return self._marks[index + 1]

    def _entries(self) -> Iterable[tuple[int, Any]]:
        return enumerate(self)

    def _starts(self, marks: array[int]) -> array[int]:
        return marks[1:]


_NODES: Final = (Mapping, Sequence)
_LEVELS: Final = 4
"""A list of resources of one kind is three levels below the root: in the list of kinds, and in the map of its kind."""
_LONG: Final = 100


def as_written(node: Any) -> Any:
    """Return plain maps and lists. A number that is written in another form than usual, as 0644, is its text."""
    if isinstance(node, Mapping):
        return {key: _scalar(value, node.raw(key)) for key, value in node.items()}
    if isinstance(node, Sequence):
        return [_scalar(value, node.raw(index)) for index, value in enumerate(node)]
    return node


def _scalar(value: Any, raw: str | None) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return raw if is_number and raw is not None and raw != str(value) else as_written(value)


def items_of_long_nodes(tree: Any) -> list[Any]:
    """The maps and lists in the long ones near the root of ``tree``: while these are kept, it is freed in no time."""
    found: list[Any] = []
    level = [tree] if tree.__class__ in _NODES else []
    for _ in range(_LEVELS):
        below: list[Any] = []
        for node in level:
            values = node.values() if node.__class__ is Mapping else node
            items = [value for value in values if value.__class__ in _NODES]
            (found if len(items) > _LONG else below).extend(items)
        level = below
    return found
