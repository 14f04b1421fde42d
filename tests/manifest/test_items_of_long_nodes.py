"""What is kept of a tree so that nothing long is freed at once."""

import pytest

from reactor.manifest.nodes import items_of_long_nodes
from reactor.manifest.source import Problems, Source
from reactor.manifest.yaml_tree import parse

MANY = 150


def tree_of(text):
    return parse(Problems(Source("m.yaml", text)))


def test_the_items_of_a_long_list_of_resources_are_kept_and_not_the_list():
    items = "\n".join(f"      - /srv/{number}: {{content: x}}" for number in range(MANY))
    tree = tree_of(f"resources:\n  - file:\n{items}\n")
    (kind,) = tree["resources"]
    kept = items_of_long_nodes(tree)
    assert [id(each) for each in kept] == [id(each) for each in kind["file"]]


def test_the_values_of_a_long_map_are_kept():
    tree = tree_of("data:\n" + "\n".join(f"  k{number}: {{a: 1}}" for number in range(MANY)))
    assert [id(each) for each in items_of_long_nodes(tree)] == [id(each) for each in tree["data"].values()]


@pytest.mark.parametrize("text", ["", "x", "[1, 2]", "a: [{b: c}]", "data: !x {}"])
def test_nothing_is_kept_of_a_short_tree(text):
    assert items_of_long_nodes(tree_of(text)) == []


def test_scalars_are_freed_with_their_list():
    assert items_of_long_nodes(tree_of(f"data: {{a: {[*range(MANY)]}}}")) == []
