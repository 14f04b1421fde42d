"""Markdown made of the code, and the directive that puts it into a page."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from docutils import nodes


class Generated(SphinxDirective):
    """A directive without content: what `markdown` returns is read as if it stood in the page."""

    @abstractmethod
    def markdown(self) -> Iterable[str]:
        """The lines."""

    def run(self) -> list[nodes.Node]:
        """The nodes of these lines."""
        self.env.note_reread()  # the page is only as old as the code
        return self.parse_text_to_nodes("\n".join(self.markdown()), allow_section_headings=True)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |" for cells in lines]


def code(word: str) -> str:
    """A word as code."""
    return f"`{word}`"


def listed(words: Sequence[str], last: str = "or") -> str:
    """``a, b or c``."""
    return f" {last} ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)
