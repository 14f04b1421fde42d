"""Finds which items of a long list were edited, by the hashes of their source lines.

Most edits of a long manifest change the properties of a few items. Then only these need to be parsed and bound again.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from itertools import pairwise
from typing import Self

from reactor.named_tuple import NamedTuple

_MOST = 100
"""The most edited items: a whole load of more takes little longer."""


class Edit(NamedTuple):
    """The ``edited`` items, by index; the text of a manifest with these items only; the lines of all items now."""

    edited: list[int]
    text: str
    lines: ItemLines


class ItemLines(NamedTuple):
    """The source lines of the items of the only list of a manifest, which is written with dashes, one for each resource.

    The manifest has no expressions, anchors and merged maps, so what an item means is in its lines.

    ``indent`` is the column of the dashes, ``begin`` the offset of the line of the first item. ``around`` is the hash of
    what comes before and after the list, ``hashes`` are those of the lines of each item, ``counts`` their numbers.
    """

    indent: int
    begin: int
    around: int
    hashes: array[int]
    counts: array[int]

    @classmethod
    def of(cls, text: str, offsets: Sequence[int]) -> Self | None:
        """The lines in ``text`` of the items whose names are at these ``offsets``, in order.

        None if they are not the items of one such list.
        """
        if not offsets:
            return None
        begin = text.rfind("\n", 0, offsets[0]) + 1
        indent = offsets[0] - begin - len("- ")
        if text[begin : offsets[0]] != " " * indent + "- ":
            return None
        starts, end = _starts(text, begin, indent)
        if [start + indent + len("- ") for start in starts] != [*offsets]:
            return None
        return cls._at(text, indent, starts, end)

    @classmethod
    def _at(cls, text: str, indent: int, starts: list[int], end: int) -> Self:
        hashes, counts = array("q"), array("I")
        for first, last in pairwise((*starts, end)):
            lines = text[first:last]
            hashes.append(hash(lines))
            counts.append(lines.count("\n"))
        return cls(indent, starts[0], hash((text[: starts[0]], text[end:])), hashes, counts)

    def edit(self, text: str) -> Edit | None:
        """Which items were edited, if ``text`` is the manifest after an edit that keeps the place of each item. Else None.

        An edited item may have other lines, as many as before, and its name must be compared.
        """
        starts, end = _starts(text, self.begin, self.indent)
        if len(starts) != len(self.hashes) or starts[0] != self.begin:
            return None
        now = self._at(text, self.indent, starts, end)
        if now.around != self.around or now.counts != self.counts:
            return None
        edited = [index for index, one in enumerate(self.hashes) if one != now.hashes[index]]
        if len(edited) > _MOST:
            return None
        ends = [*starts[1:], end]
        parts = [text[starts[index] : ends[index]] for index in edited]
        return Edit(edited, "".join((text[: self.begin], *parts, text[end:])), now)


def _starts(text: str, begin: int, indent: int) -> tuple[list[int], int]:
    """The offsets from ``begin`` on at which lines begin an item, and where the list ends.

    Every line of an item but its first is indented deeper than the dashes, unless it is empty or a comment: so what is
    parsed alone is parsed as in its list.
    """
    dashes = " " * indent + "- "
    starts: list[int] = []
    for found in re.compile(rf"^ {{0,{indent}}}[^ \n#]", re.MULTILINE).finditer(text, begin):
        if not text.startswith(dashes, found.start()):
            return starts, found.start()
        starts.append(found.start())
    return starts, len(text)
