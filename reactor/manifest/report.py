"""Formats diagnostics for people: the message and place, the lines around it with a caret, a hint."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress

from reactor.errors import Place
from reactor.manifest.source import COMMAND_LINE, MAX_BYTES, with_line_feeds
from reactor.number_format import counted
from reactor.resource.diagnostic import Diagnostic
from reactor.resource.redaction import redact
from reactor.suggestions import folded_list

_WIDTH = 100
_BEFORE_CARET = 60
_TAB = "    "
_STYLES = {
    "place": "\x1b[1m",
    "error": "\x1b[1;31m",
    "note": "\x1b[1;36m",
    "hint": "\x1b[1;32m",
    "dim": "\x1b[2m",
}
_RESET = "\x1b[0m"


def render(
    diagnostics: Iterable[Diagnostic],
    *,
    color: bool,
    texts: Mapping[str, str] | None = None,
    width: int | None = None,
) -> str:
    """Format all diagnostics in the given order, and a last line with their number.

    The files are read again for the excerpts; one that is gone, shorter or too large has no excerpt. ``texts`` has the
    contents of sources that are not files, by their names. Long lists in hints are wrapped at ``width``.
    """
    found = list(diagnostics)
    report = _Report(color=color, width=width)
    for name, text in (texts or {}).items():
        report.know(name, text)
    blocks = ["\n".join(report.diagnostic(each)) for each in found]
    return "\n\n".join([*blocks, report.count(found)]) + "\n"


def excerpts(*, color: bool) -> Callable[[Place], Iterator[str]]:
    """Return what yields the line of a place between its neighbours, and a caret; each file is read once."""
    return _Report(color=color, width=None).excerpt


class _Report:
    """One report: its colours and width, and a cache of the lines of the files."""

    def __init__(self, *, color: bool, width: int | None) -> None:
        self._color = color
        self._width = width
        self._files: dict[str, list[str]] = {}

    def know(self, name: str, text: str) -> None:
        self._files[name] = with_line_feeds(text).split("\n")

    def diagnostic(self, diagnostic: Diagnostic) -> Iterator[str]:
        yield from self._finding(f"error[{diagnostic.code}]", diagnostic.message, diagnostic.place)
        if diagnostic.hint:
            hint = folded_list("hint: ", _printable(diagnostic.hint), self._width)
            yield f"{self._paint('hint:', 'hint')}{hint.removeprefix('hint:')}"
        for message, place in diagnostic.notes:
            yield from self._finding("note", message, place)

    def count(self, diagnostics: list[Diagnostic]) -> str:
        files = {each.place.file for each in diagnostics if each.place} - {COMMAND_LINE}
        errors = counted(len(diagnostics), "error")
        return self._paint(f"{errors} in {counted(len(files), 'file')}" if files else errors, "place")

    def _finding(self, word: str, message: str, place: Place | None) -> Iterator[str]:
        where = f"{self._paint(_printable(str(place)) + ':', 'place')} " if place else ""
        yield f"{where}{self._paint(f'{word}:', word.partition('[')[0])} {_printable(message)}"
        if place:
            yield from self.excerpt(place)

    def excerpt(self, place: Place) -> Iterator[str]:
        """Yield the line of ``place`` between its neighbours, and a caret below its column."""
        lines = self._lines(place.file)
        if place.line > len(lines):
            return
        marked, column = _without_secrets(lines[place.line - 1], place.column)
        start = _window_start(marked, column)
        digits = len(str(place.line + 1))
        for number in range(max(1, place.line - 1), min(len(lines), place.line + 1) + 1):
            line = marked if number == place.line else redact(lines[number - 1])
            text = _window(line, start)
            yield f"{self._paint(f'{number:{digits + 2}} |', 'dim')} {text}".rstrip()
            if number == place.line:
                before = marked[start : column - 1].ljust(column - 1 - start)
                indent = " " * (_columns(before) + (start > 0))
                yield f"{self._paint(' ' * (digits + 2) + ' |', 'dim')} {indent}{self._paint('^', 'error')}"

    def _lines(self, file: str) -> list[str]:
        if file not in self._files:
            lines = with_line_feeds(_content(file).decode("utf-8-sig", errors="replace")).split("\n")
            self._files[file] = lines if lines[-1] else lines[:-1]
        return self._files[file]

    def _paint(self, text: str, style: str) -> str:
        return f"{_STYLES[style]}{text}{_RESET}" if self._color else text


def _content(file: str) -> bytes:
    """The bytes of a regular file that is small enough for a manifest; none of another one.

    A pipe can't be read again, and to open a named pipe would wait for a writer.
    """
    with suppress(OSError, ValueError):
        if os.path.isfile(file):
            with open(file, "rb") as stream:
                content = stream.read(MAX_BYTES + 1)
            return content if len(content) <= MAX_BYTES else b""
    return b""


def _without_secrets(line: str, column: int) -> tuple[str, int]:
    """Mask the secrets of a line, and adjust the column. Must be called before the line is shortened."""
    before, after = redact(line[: column - 1]), redact(line[column - 1 :])
    return redact(before + after), column - len(line[: column - 1]) + len(before)


def _window_start(line: str, column: int) -> int:
    """Return the index of the first shown character of a line: the caret must be visible."""
    return max(0, column - 1 - _BEFORE_CARET) if len(line) > _WIDTH else 0


def _window(line: str, start: int) -> str:
    text = _printable(line[start : start + _WIDTH])
    return f"{'…' if start else ''}{text}{'…' if len(line) > start + _WIDTH else ''}"


def _printable(text: str) -> str:
    """Return the text with tabs widened, and with control and invisible characters escaped."""
    return text if text.isascii() and text.isprintable() else "".join(map(_cell, text))


def _cell(char: str) -> str:
    if char == "\t":
        return _TAB
    if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
        return char.encode("unicode_escape", "surrogatepass").decode("ascii")
    return char


def _columns(text: str) -> int:
    """Return how many columns of a terminal the printable form of ``text`` takes."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    combining = sum(unicodedata.category(char) in ("Mn", "Me") for char in text)
    return len(_printable(text)) + wide - combining
