"""A page of the built site as what tests ask of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser

LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "link": "href"}


@dataclass
class Page:
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    navigation: list[str] = field(default_factory=list)
    """The links of the sidebar."""
    ids: set[str] = field(default_factory=set)
    tables: dict[tuple[str, ...], list[tuple[str, ...]]] = field(default_factory=dict)
    """The texts of the rows, by those of the first one."""


def read_page(path):
    """The page in the file at ``path``."""
    reader = _Reader()
    reader.feed(path.read_text())
    return reader.page


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.page = Page()
        self._rows = []
        self._is_navigation = False

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.page.ids.update(filter(None, [given.get("id")]))
        self._note_address(tag, given)
        if tag == "div" and "class" in given:
            self._is_navigation = given["class"] == "sidebar-tree"
        elif tag == "table":
            self._rows = []
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows[-1].append("")

    def handle_data(self, data):
        if self._rows and self._rows[-1]:
            self._rows[-1][-1] += data

    def handle_endtag(self, tag):
        if tag == "table":
            head, *rows = (tuple(" ".join(cell.split()) for cell in row) for row in self._rows)
            self.page.tables[head] = rows
            self._rows = []

    def _note_address(self, tag, given: Mapping):
        if tag == "a" and "href" in given:
            self.page.links.append(given["href"])
            if self._is_navigation:
                self.page.navigation.append(given["href"])
        elif tag in LOADING and given.get("rel") != "canonical":
            self.page.loads += filter(None, [given.get(LOADING[tag])])
