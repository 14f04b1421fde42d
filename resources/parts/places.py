"""Patterns that pick lines, and the place of a new line."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any

from pydantic import AfterValidator

from reactor.resources.parts.document import Document

END, START = "EOF", "BOF"
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


def _check(pattern: str) -> str:
    compiled(pattern)
    return pattern


Pattern = Annotated[str, AfterValidator(_check)]
"""A regular expression of RE2, which is searched for in each line without its end."""


def matching(document: Document, pattern: str) -> list[int]:
    """The indexes of the lines that the pattern matches."""
    search = compiled(pattern).search
    return [number for number, content in enumerate(document.contents) if search(content) is not None]


def place_of_new(document: Document, insert_after: str | None, insert_before: str | None) -> int:
    """The index for a new line, which is never inside a block.

    After the last line that ``insert_after`` matches, or before the first that ``insert_before`` matches; at the end
    of the file if there is none.
    """
    if insert_before == START:
        return 0
    if insert_after not in (None, END) and (found := matching(document, insert_after or "")):
        return behind_block(document, found[-1] + 1)
    if insert_before is not None and (found := matching(document, insert_before)):
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
