"""Converts columns between characters and the units of the editor."""

from __future__ import annotations

from lsprotocol import types

from reactor.lsp.references import Span

_WIDTHS = {
    types.PositionEncodingKind.Utf8: lambda text: len(text.encode(errors="surrogatepass")),
    types.PositionEncodingKind.Utf16: lambda text: len(text.encode("utf-16-le", "surrogatepass")) // 2,
    types.PositionEncodingKind.Utf32: len,
}


class Units:
    """The units in which an editor counts the columns of ``lines``."""

    def __init__(self, lines: list[str], encoding: types.PositionEncodingKind | str | None) -> None:
        self._lines = lines
        self._width = _WIDTHS[types.PositionEncodingKind(encoding or types.PositionEncodingKind.Utf16)]

    def column(self, position: types.Position) -> int:
        """Return the column of a position in characters."""
        line = self._line(position.line)
        if line.isascii():
            return min(position.character, len(line))
        column = 0
        while column < len(line) and self._width(line[: column + 1]) <= position.character:
            column += 1
        return column

    def range(self, span: Span) -> types.Range:
        """Return a part of a line as a range."""
        start, end = self._position(span.line, span.start), self._position(span.line, span.end)
        return types.Range(start, end)

    def _position(self, number: int, column: int) -> types.Position:
        before = self._line(number)[:column]
        return types.Position(number, len(before) if before.isascii() else self._width(before))

    def _line(self, number: int) -> str:
        return self._lines[number] if number < len(self._lines) else ""
