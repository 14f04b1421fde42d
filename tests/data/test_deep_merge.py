"""The laws of merging, for every tree."""

import copy

from hypothesis import given
from hypothesis import strategies as st

from reactor.data.layers import deep_merge, layered, layers, plain

SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
KEYS = st.sampled_from("abcd")
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
MAPS = st.dictionaries(KEYS, TREES, max_size=4)


@given(MAPS, MAPS)
def test_nothing_that_is_merged_is_changed(base, over):
    before = copy.deepcopy((base, over))
    deep_merge(base, over)
    assert (base, over) == before


@given(MAPS)
def test_an_empty_map_changes_nothing(tree):
    assert deep_merge(tree, {}) == tree
    assert deep_merge({}, tree) == tree


@given(MAPS, MAPS)
def test_no_key_is_lost_or_invented_and_their_order_is_kept(base, over):
    assert list(deep_merge(base, over)) == list(dict.fromkeys([*base, *over]))


@given(TREES, TREES)
def test_maps_grow_lists_grow_and_all_else_is_replaced(base, over):
    merged = deep_merge(base, over)
    if isinstance(base, dict) and isinstance(over, dict):
        for key in {**base, **over}:
            if key in base and key in over:
                assert merged[key] == deep_merge(base[key], over[key])
            else:
                assert merged[key] == {**base, **over}[key]
    elif isinstance(base, list) and isinstance(over, list):
        assert merged == base + over
    else:
        assert merged == over


@given(st.lists(st.lists(st.integers(), max_size=2), min_size=3, max_size=3))
def test_lists_of_several_layers_come_in_their_order(lists):
    first, second, third = ({"l": each} for each in lists)
    assert deep_merge(deep_merge(first, second), third) == deep_merge(first, deep_merge(second, third))


@given(MAPS, MAPS)
def test_layered_trees_merge_as_plain_ones_do(base, over):
    merged = deep_merge(layered(base, "base"), layered(over, "over"))
    assert plain(merged) == deep_merge(base, over)


@given(MAPS, MAPS)
def test_every_leaf_has_the_layer_it_came_from(base, over):
    merged = deep_merge(layered(base, "base"), layered(over, "over"))
    values = plain(merged)
    for path, layer in layers(merged):
        value = reached(values, path)
        if layer == "over" and not isinstance(path[-1], int):
            assert value == reached(over, path)
        elif layer == "base":
            assert value == reached(base, path)


def reached(tree, path):
    for key in path:
        tree = tree[key]
    return tree
