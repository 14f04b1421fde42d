"""Which items of a list were edited, by their source lines."""

import pytest

from reactor.manifest.item_lines import ItemLines

HEAD = "resources:\n  - file:\n      - defaults: {ensure: present}\n"
TAIL = "ordering: graph\n"
ITEMS = [
    "      - /a:\n          content: a\n",
    "      - /b:\n",
    "      - /c: {content: c}\n\n      # d is next\n",
]
TEXT = HEAD + "".join(ITEMS) + TAIL


def lines_of(text: str) -> ItemLines | None:
    return ItemLines.of(text, [text.index(name) for name in ("/a", "/b", "/c")])


def edited(old: str, new: str) -> tuple[list[int], str] | None:
    lines = lines_of(TEXT)
    assert lines is not None
    found = lines.edit(TEXT.replace(old, new))
    return None if found is None else (found.edited, found.text)


def test_an_edited_item_is_found_and_stands_alone_between_head_and_tail():
    assert edited("content: a", "content: x y") == ([0], HEAD + ITEMS[0].replace("a\n", "x y\n") + TAIL)


def test_several_edited_items_are_found():
    assert edited("content: ", "content: x") == (
        [0, 2],
        HEAD + (ITEMS[0] + ITEMS[2]).replace("content: ", "content: x") + TAIL,
    )


def test_without_an_edit_none_is_found():
    assert edited("nothing", "") == ([], HEAD + TAIL)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("content: a", "content:\n            a"),
        ("      - /b:\n", ""),
        ("      - /b:\n", "      - /b:\n      - /x:\n"),
        ("ensure: present", "ensure: absent"),
        ("ordering: graph", "ordering: manifest"),
        ("          content: a", "content: a"),
        ("          content: a", "\tcontent: a"),
        ("          content: a", "      - content: a"),
        ("          content: a", "---"),
    ],
    ids=[
        "another line",
        "an item less",
        "an item more",
        "its defaults",
        "what follows the list",
        "a line at the edge",
        "a tab",
        "a second item in its lines",
        "the end of the document",
    ],
)
def test_anything_else_needs_a_whole_load(old: str, new: str):
    assert TEXT.replace(old, new) != TEXT
    assert edited(old, new) is None


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("      - /b", "        - /b"),
        TEXT.replace("- /a", "-  /a"),
        TEXT.replace("      - /b:\n", "  - file:\n      - /b:\n"),
        TEXT.replace("/c: {", "/c: {x: '\n      - y', "),
    ],
    ids=["another column", "more spaces", "a second list", "a line that looks like an item"],
)
def test_other_lists_have_no_item_lines(text: str):
    assert lines_of(text) is None
