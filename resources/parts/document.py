"""The content of a file as lines of bytes. What is not edited keeps every byte."""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from reactor import ResourceError

LARGEST = 64 << 20
"""Bytes. A larger file is refused: it is held in memory while a part of it is edited."""
MOST_LINES = 1_000_000
"""Each line takes memory of its own."""
_BOM = b"\xef\xbb\xbf"
_WIDE = (b"\xff\xfe", b"\xfe\xff")


class Edit(NamedTuple):
    """A change of a part of a document: the document after it, and what was done, in words."""

    after: Document
    did: str


class Document:
    """The content of one file, and the forms that were made of it. A document never changes.

    A byte order mark is not part of the first line. A line ends at a newline; a carriage return before that belongs to
    the end of the line.
    """

    def __init__(self, lines: Sequence[bytes] | None = None, body: bytes = b"", bom: bytes = b"") -> None:
        self._given = lines
        self._body = body
        self.bom = bom
        self.token = object()
        """What remembers the document without keeping its content in memory."""
        self.parsed: dict[object, Any] = {}
        """What formats have made of the content, by format."""

    @classmethod
    def of(cls, data: bytes, path: str) -> Document:
        """The document with this content.

        Raises ResourceError for too many lines, and for UTF-16, where a line is not a line of bytes.
        """
        if data.startswith(_WIDE):
            words = f"{path} is UTF-16, and only files in UTF-8 or another extension of ASCII can be edited"
            raise ResourceError(words, "convert it with iconv, or manage the whole file with the kind file")
        if data.count(b"\n") > MOST_LINES:
            words = f"{path} has more than {MOST_LINES} lines"
            raise ResourceError(words, "manage the whole file with the kind file")
        bom = _BOM if data.startswith(_BOM) else b""
        return cls(body=data[len(bom) :], bom=bom)

    @cached_property
    def lines(self) -> Sequence[bytes]:
        """The lines with their ends."""
        return self._given if self._given is not None else io.BytesIO(self._body).readlines()

    @cached_property
    def body(self) -> bytes:
        """The content without the byte order mark."""
        return self._body if self._given is None else b"".join(self._given)

    @property
    def data(self) -> bytes:
        """The whole content."""
        return self.bom + self.body

    @cached_property
    def contents(self) -> list[bytes]:
        """The lines without their ends."""
        if b"\r" in self.body:
            return [content_of(line) for line in self.lines]
        found = self.body.split(b"\n")
        if not found[-1]:
            found.pop()
        return found

    @cached_property
    def content_set(self) -> frozenset[bytes]:
        """The different lines without their ends."""
        return frozenset(self.contents)

    @cached_property
    def texts(self) -> list[str]:
        """The lines without their ends, as strings. Bytes that are not UTF-8 become surrogates."""
        return [content.decode(errors="surrogateescape") for content in self.contents]

    @cached_property
    def text(self) -> str:
        """The whole content as a string, without the byte order mark. Bytes that are not UTF-8 become surrogates."""
        return self.body.decode(errors="surrogateescape")

    def with_lines(self, lines: Sequence[bytes]) -> Document:
        """The same file with other lines."""
        return Document(lines, bom=self.bom)

    def with_inserted(self, index: int, contents: Sequence[bytes]) -> Document:
        """The same file with new lines before ``index``. What was made of the old lines is used again."""
        found = self.with_lines(inserted(self.lines, index, contents))
        found.__dict__["contents"] = [*self.contents[:index], *contents, *self.contents[index:]]
        found.__dict__["content_set"] = self.content_set.union(contents)
        return found

    def with_text(self, text: str) -> Document:
        """The same file with another content."""
        return Document(body=text.encode(errors="surrogateescape"), bom=self.bom)


def content_of(line: bytes) -> bytes:
    """The line without its end."""
    if line.endswith(b"\r\n"):
        return line[:-2]
    return line[:-1] if line.endswith(b"\n") else line


def end_of(line: bytes) -> bytes:
    """The end of the line; empty for a last line without one."""
    return line[len(content_of(line)) :]


def inserted(lines: Sequence[bytes], index: int, contents: Sequence[bytes]) -> list[bytes]:
    """``lines`` with new ones before ``index``. They get the end of the line beside them.

    A file without a newline at its end stays without one.
    """
    end = _end_near(lines, index)
    new = [content + end for content in contents]
    before = list(lines[:index])
    if new and before and not end_of(before[-1]):
        before[-1] += end
        new[-1] = contents[-1]
    return [*before, *new, *lines[index:]]


def _end_near(lines: Sequence[bytes], index: int) -> bytes:
    for near in (index - 1, index, index - 2):
        if 0 <= near < len(lines) and (end := end_of(lines[near])):
            return end
    return b"\n"


def replaced(lines: Sequence[bytes], first: int, stop: int, contents: Sequence[bytes]) -> list[bytes]:
    """``lines`` with ``contents``, which are not empty, in place of those from ``first`` up to ``stop``.

    Lines that stay at their place keep their ends.
    """
    old = lines[first:stop]
    if len(old) == len(contents):
        new = [content + end_of(line) for content, line in zip(contents, old, strict=True)]
        return [*lines[:first], *new, *lines[stop:]]
    end = next(filter(None, map(end_of, old)), _end_near(lines, first))
    new = [content + end for content in contents]
    if new and stop == len(lines) and old and not end_of(old[-1]):
        new[-1] = contents[-1]
    return [*lines[:first], *new, *lines[stop:]]


def removed(lines: Sequence[bytes], numbers: Collection[int]) -> list[bytes]:
    """``lines`` without those at the indexes ``numbers``. A file without a newline at its end stays without one."""
    kept = [line for number, line in enumerate(lines) if number not in numbers]
    if kept and lines and len(lines) - 1 in numbers and not end_of(lines[-1]):
        kept[-1] = content_of(kept[-1])
    return kept
