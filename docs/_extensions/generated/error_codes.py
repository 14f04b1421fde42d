"""What the codes of errors mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from generated.markdown import Generated
from reactor.error_codes import AREAS, Explanation, catalogue


class ErrorCodes(Generated):
    """Every code with its explanation, area by area."""

    def markdown(self) -> Iterable[str]:
        """A section for each area, and in it one for each code."""
        for prefix, area in AREAS.items():
            yield from (f"## {area}", "")
            for code, each in catalogue().items():
                if code.startswith(prefix):
                    yield from _section(each)


def _section(found: Explanation) -> Iterator[str]:
    yield from (f"({found.code})=", f"### {found.code}: {found.title}", "", _literal(found.meaning), "")
    yield from ("```text", found.example.rstrip("\n"), "```", "")
    yield from (f"Fix: {_literal(found.fix)}", "")


def _literal(text: str) -> str:
    """The text with nothing in it that Markdown takes for its own."""
    return "".join(f"\\{each}" if each in "\\`*_{}[]<>#|$" else each for each in text)
