"""Man pages: a terminal is too narrow for tables, so each row becomes a term and what is said of it."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform


class ForTerminals(SphinxPostTransform):
    """Makes definition lists of tables, the first cell of a row being the term, and words of dangling links."""

    default_priority = 700
    builders = ("man",)

    def run(self, **_options: Any) -> None:
        """Replace all of them in the document."""
        for table in list(self.document.findall(nodes.table)):
            head, *rows = ([*row.findall(nodes.entry)] for row in table.findall(nodes.row))
            titles = [cell.astext() for cell in head]
            items = [_item(titles, row) for row in rows]
            table.replace_self(nodes.definition_list("", *items))
        for link in list(self.document.findall(nodes.reference)):
            if not link.get("refuri", "").startswith("http"):
                link.replace_self(link.children)


def _item(titles: list[str], row: list[nodes.entry]) -> nodes.definition_list_item:
    """Where there are several columns, each has a line of its own that begins with its title."""
    first, *others = row
    said = nodes.paragraph()
    for title, cell in zip(titles[1:], others, strict=True):
        if cell.astext():
            said += [] if not said.children else [nodes.raw("", "\n.br\n", format="manpage")]
            said += nodes.Text(f"{title}: " if len(others) > 1 else "")
            said += _inline(cell)
    term = nodes.term("", "", *_inline(first))
    return nodes.definition_list_item("", term, nodes.definition("", said))


def _inline(cell: nodes.entry) -> list[nodes.Node]:
    """What is in a cell: in Markdown, that is one paragraph or nothing."""
    return list(cell[0].children) if cell.children else []
