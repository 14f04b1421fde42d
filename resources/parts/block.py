"""The kind `block`: lines of a file between two markers."""

from __future__ import annotations

import os.path
from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator

from reactor import PropertyProblem, ResourceError
from reactor.resources.file.property_types import Text
from reactor.resources.parts.document import Document, Edit, removed, replaced
from reactor.resources.parts.line import OneLine
from reactor.resources.parts.places import PlacedPart

MARK, NAME = "{mark}", "{name}"
_COMMENTS = {
    ".ini": ("; ", ""), ".xml": ("<!-- ", " -->"), ".html": ("<!-- ", " -->"), ".php": ("// ", ""),
    ".js": ("// ", ""), ".sql": ("-- ", ""), ".lua": ("-- ", ""), ".vim": ('" ', ""),
}  # fmt: skip
"""How a comment begins and ends, by the suffix of the file; ``#`` elsewhere."""


def _check_marker(marker: str) -> str:
    if MARK not in marker:
        raise ValueError(f"{MARK} is missing, which becomes BEGIN and END: write # {MARK} {NAME}")
    return marker


def _check_content(text: str) -> str:
    if "\r" in text.replace("\r\n", "\n") or "\0" in text:
        raise ValueError("it must not hold a NUL, or a carriage return that ends no line")
    return text


class Block(PlacedPart, kind="block"):
    """Manage some lines of a file, between a line that begins the block and one that ends it."""

    example = "peers --path /etc/hosts --content '10.0.0.2 peer'"

    name: OneLine
    content: Annotated[Text, AfterValidator(_check_content)] | None = None
    """The lines between the markers."""
    marker: Annotated[OneLine, AfterValidator(_check_marker)] | None = None
    """Both markers, where ``{mark}`` becomes BEGIN and END. By default, a comment: ``# {mark} reactor: {name}``."""

    @property
    def subject(self) -> str:
        """The property that identifies the part."""
        return "ensure" if self.ensure == "absent" else "content"

    @property
    def title(self) -> str:
        """The part, in words."""
        return f"the block {self.name!r}"

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        if self.ensure == "present" and self.content is None:
            yield PropertyProblem((), "content is required, unless ensure is absent", "add it: content: ...")
        if self.ensure == "absent" and self.content is not None:
            yield PropertyProblem(
                ("content",), "content is only valid with 'ensure: present'", "remove content"
            )
        begin, end = self._markers
        if not {begin, end}.isdisjoint(self._wanted):
            words = "the content has a line that is a marker of the block"
            yield PropertyProblem(("content",), words, "remove that line, or choose another marker")

    @property
    def _markers(self) -> tuple[bytes, bytes]:
        marker = self.marker
        if marker is None:
            before, after = _COMMENTS.get(os.path.splitext(self.path)[1], ("# ", ""))
            marker = f"{before}{MARK} reactor: {NAME}{after}"
        pair = (marker.replace(MARK, word).replace(NAME, self.name) for word in ("BEGIN", "END"))
        begin, end = pair
        return begin.encode(), end.encode()

    @property
    def _wanted(self) -> list[bytes]:
        """The lines of the content, without their ends."""
        lines = (self.content or "").replace("\r\n", "\n").split("\n")
        if not lines[-1]:
            lines.pop()
        return [line.encode() for line in lines]

    def edit(self, document: Document) -> Edit | None:
        """The document with the block added, replaced or removed; None if nothing must change. Raises ResourceError."""
        begin, end = self._markers
        place = self._find(document, begin, end)
        if self.ensure == "absent":
            if place is None:
                return None
            lines = removed(document.lines, range(place[0], place[1] + 1))
            return Edit(document.with_lines(lines), "removed the block")
        wanted = self._wanted
        if place is None:
            after = document.with_inserted(self.place_in(document), [begin, *wanted, end])
            return Edit(after, "added the block")
        first, last = place
        if document.contents[first + 1 : last] == wanted:
            return None
        lines = replaced(document.lines, first, last + 1, [begin, *wanted, end])
        return Edit(document.with_lines(lines), "changed the block")

    def _find(self, document: Document, begin: bytes, end: bytes) -> tuple[int, int] | None:
        """The indexes of the markers; None if there are none.

        Raises ResourceError if one is lost or doubled: what the block was is then not known.
        """
        if begin not in document.content_set and end not in document.content_set:
            return None
        begins = [number for number, each in enumerate(document.contents) if each == begin]
        ends = [number for number, each in enumerate(document.contents) if each == end]
        if len(begins) == len(ends) == 1 and begins[0] < ends[0]:
            return begins[0], ends[0]
        shown = begin.decode(), end.decode()
        places = " and ".join(
            f"{marker!r} {_where(numbers)}" for marker, numbers in zip(shown, (begins, ends), strict=True)
        )
        hint = "correct the markers by hand: exactly one of each, in this order, or none of them"
        raise ResourceError(f"{self.path} has {places}, so it is not known where the block is", hint)


def _where(numbers: list[int]) -> str:
    if not numbers:
        return "nowhere"
    return f"in line {' and '.join(str(number + 1) for number in numbers)}"
