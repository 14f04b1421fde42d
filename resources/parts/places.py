"""Patterns that pick lines, and parts that are put beside a line."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Annotated, Any

from reactor import PropertyProblem, readable_text
from reactor.resources.parts.document import Document
from reactor.resources.parts.part import Part

_END_OF_FILE, _START_OF_FILE = "EOF", "BOF"
_MEMORY = 8 << 20
_BEGIN, _END = b"BEGIN", b"END"


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> Any:
    """The pattern for lines of bytes, compiled with RE2: linear time, whatever is in the file. Raises ValueError."""
    import re2  # noqa: PLC0415 - few parts have a pattern, and the import takes milliseconds

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        return re2.compile(pattern.encode(), options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        reason = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise ValueError(
            f"{pattern!r} is not a regular expression of RE2, which has no look-around: {reason}"
        ) from error


Pattern = Annotated[str, readable_text(compiled)]
"""A regular expression of RE2, which is searched for in each line without its end."""


def matching(document: Document, pattern: str) -> list[int]:
    """The indexes of the lines that the pattern matches."""
    search = compiled(pattern).search
    return [number for number, content in enumerate(document.contents) if search(content) is not None]


class PlacedPart(Part):
    """A part whose place in the file can be chosen."""

    insert_after: Pattern | None = None
    """Where a new one goes: after the last line that this regular expression finds, or ``EOF``, the default."""
    insert_before: Pattern | None = None
    """Where a new one goes: before the first line that this regular expression finds, or ``BOF``."""

    @property
    def waits_for_others(self) -> bool:
        """Whether it goes beside another line."""
        return self.insert_after not in (None, _END_OF_FILE) or self.insert_before not in (
            None,
            _START_OF_FILE,
        )

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        if self.insert_after is not None and self.insert_before is not None:
            words = "'insert_after' and 'insert_before' are mutually exclusive"
            yield PropertyProblem(("insert_before",), words, "remove one of them")

    def place_in(self, document: Document) -> int:
        """The index for its first line when it is new, which is never inside a block; by default the end of the file."""
        if self.insert_before == _START_OF_FILE:
            return 0
        if self.insert_after not in (None, _END_OF_FILE) and (
            found := matching(document, self.insert_after or "")
        ):
            return behind_block(document, found[-1] + 1)
        if self.insert_before is not None and (found := matching(document, self.insert_before)):
            return behind_block(document, found[0])
        return len(document.lines)


def behind_block(document: Document, place: int) -> int:
    """``place``, or the one behind the block that it is in: a block begins with BEGIN and ends with an equal END."""
    if _BEGIN not in document.body:
        return place
    for number, content in enumerate(document.contents[:place]):
        if _BEGIN in content and (end := content.replace(_BEGIN, _END, 1)) in document.content_set:
            last = document.contents.index(end)
            if number < place <= last:
                return behind_block(document, last + 1)
    return place
