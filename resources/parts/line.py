"""The kind `line`: one line of a file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import AfterValidator

from reactor import PropertyProblem
from reactor.resources.file.property_types import Text
from reactor.resources.parts.document import Document, Edit, removed
from reactor.resources.parts.places import Pattern, PlacedPart, compiled, matching


def _check_line(text: str) -> str:
    if any(character in text for character in "\n\r\0"):
        raise ValueError("it must be one line")
    return text


OneLine = Annotated[Text, AfterValidator(_check_line)]
"""A string without the end of a line."""


class Line(PlacedPart, kind="line"):
    """Manage one line of a file. All other lines stay as they are."""

    example = "'127.0.0.1 localhost' --path /etc/hosts"

    line: OneLine | None = None
    """The line, without its end. By default, it is the name."""
    match: Pattern | None = None
    """A regular expression that finds the line to replace; with ``ensure: absent``, the lines to remove."""
    replace: Literal["last", "first", "all"] = "last"
    """Which line is replaced if ``match`` finds several."""

    @property
    def subject(self) -> str:
        """The property that identifies the part."""
        return "ensure" if self.ensure == "absent" else "line"

    @property
    def title(self) -> str:
        """The part, in words."""
        if self.ensure == "absent" and self.match is not None:
            return f"the lines that match {self.match!r}"
        return f"the line {self._text!r}"

    @property
    def _text(self) -> str:
        return self.name if self.line is None else self.line

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        if not (self.ensure == "absent" and self.match is not None):
            yield from self._problems_of_text()
        if self.ensure == "absent":
            yield from self._problems_of_absent()
        elif self.match is not None and compiled(self.match).search(self._text.encode()) is None:
            words = f"match does not match the line {self._text!r}, so every run would add it again"
            yield PropertyProblem(("match",), words, "let it match both the old line and the new one")
        if self.replace != "last" and self.match is None:
            yield PropertyProblem(
                ("replace",), "replace is only valid with match", "add match, or remove replace"
            )

    def _problems_of_text(self) -> Iterable[PropertyProblem]:
        text = self._text
        if not text:
            yield PropertyProblem(("line",), "the line is empty", "write the line that is wanted")
        if any(character in text for character in "\n\r\0"):
            words = "the name is the line, and must be one line"
            yield PropertyProblem(("line",), words, "set line, or use the kind block for several lines")

    def _problems_of_absent(self) -> Iterable[PropertyProblem]:
        if self.line is not None and self.match is not None:
            words = "with 'ensure: absent', 'line' and 'match' are mutually exclusive"
            yield PropertyProblem(("line",), words, "name the line to remove, or the pattern")
        for name in ("insert_after", "insert_before"):
            if getattr(self, name) is not None:
                words = f"{name} is only valid with 'ensure: present'"
                yield PropertyProblem((name,), words, f"remove {name}")
        if self.replace != "last":
            words = "replace is only valid with 'ensure: present': all lines that match are removed"
            yield PropertyProblem(("replace",), words, "remove replace")

    def edit(self, document: Document) -> Edit | None:
        """The document with the line added, replaced or removed; None if nothing must change."""
        wanted = self._text.encode()
        if self.ensure == "absent":
            return self._removal(document, wanted)
        if self.match is None:
            return None if wanted in document.content_set else self._addition(document, wanted)
        found = matching(document, self.match)
        if not found:
            return self._addition(document, wanted)
        chosen = {"last": found[-1:], "first": found[:1], "all": found}[self.replace]
        wrong = [number for number in chosen if document.contents[number] != wanted]
        return self._replacement(document, wrong, wanted) if wrong else None

    def _addition(self, document: Document, wanted: bytes) -> Edit:
        return Edit(document.with_inserted(self.place_in(document), [wanted]), "added the line")

    def _replacement(self, document: Document, numbers: list[int], wanted: bytes) -> Edit:
        lines = list(document.lines)
        for number in numbers:
            lines[number] = wanted + lines[number][len(document.contents[number]) :]
        return Edit(document.with_lines(lines), f"replaced {_lines(numbers)}")

    def _removal(self, document: Document, wanted: bytes) -> Edit | None:
        if self.match is not None:
            numbers = matching(document, self.match)
        elif wanted in document.content_set:
            numbers = [number for number, each in enumerate(document.contents) if each == wanted]
        else:
            return None
        if not numbers:
            return None
        return Edit(document.with_lines(removed(document.lines, set(numbers))), f"removed {_lines(numbers)}")


def _lines(numbers: list[int]) -> str:
    return f"line {numbers[0] + 1}" if len(numbers) == 1 else f"{len(numbers)} lines"
