"""A picture leaves out edges that follow from others, and nothing that is lost by it."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactor.graph.export.picture import LARGEST, reduced
from reactor.graph.graph import EdgeKind

AFTER, NOTIFY, AUTOMATIC, REQUIRE, SUBSCRIBE = EdgeKind


@pytest.mark.parametrize(
    ("edges", "kept"),
    [
        ({(0, 1): REQUIRE, (1, 2): REQUIRE, (0, 2): REQUIRE}, {(0, 1), (1, 2)}),
        ({(0, 1): REQUIRE, (1, 2): AUTOMATIC, (0, 2): REQUIRE}, {(0, 1), (1, 2)}),
        ({(0, 1): REQUIRE, (1, 2): REQUIRE, (0, 2): SUBSCRIBE}, {(0, 1), (1, 2), (0, 2)}),
        ({(0, 1): AFTER, (1, 2): REQUIRE, (0, 2): REQUIRE}, {(0, 1), (1, 2), (0, 2)}),
        ({(0, 1): AFTER, (1, 2): REQUIRE, (0, 2): AFTER}, {(0, 1), (1, 2)}),
        ({(2, 1): REQUIRE, (1, 0): REQUIRE, (2, 0): REQUIRE}, {(2, 1), (1, 0)}),
        ({}, set()),
    ],
)
def test_edges_that_follow_from_others_are_left_out(edges, kept):
    assert set(pairs(reduced(adjacency(3, edges)))) == kept


def adjacency(size, edges):
    successors = [{} for _ in range(size)]
    for (first, second), kind in edges.items():
        successors[first][second] = kind
    return successors


def pairs(edges):
    return {(first, second): kind for first, seconds in enumerate(edges) for second, kind in seconds.items()}


def closure(edges):
    graph = nx.DiGraph(list(edges))
    return {(first, second) for first in graph for second in nx.descendants(graph, first)}


def strong(edges):
    return [pair for pair, kind in edges.items() if kind is not AFTER]


dags = st.dictionaries(
    st.tuples(st.integers(0, 11), st.integers(0, 11)).filter(lambda pair: pair[0] < pair[1]),
    st.sampled_from(list(EdgeKind)),
    max_size=40,
)


@given(dags, st.permutations(range(12)))
def test_a_user_who_goes_first_and_who_needs_whom_can_still_be_read(edges, numbers):
    edges = {(numbers[first], numbers[second]): kind for (first, second), kind in edges.items()}
    kept = pairs(reduced(adjacency(12, edges)))
    assert kept.items() <= edges.items()
    assert closure(kept) == closure(edges)
    assert closure(strong(kept)) == closure(strong(edges))
    assert {pair for pair in edges if edges[pair] is SUBSCRIBE} <= set(kept)


@given(dags)
def test_a_graph_of_one_kind_keeps_no_edge_that_networkx_would_drop(edges):
    kept = pairs(reduced(adjacency(12, dict.fromkeys(edges, REQUIRE))))
    assert set(kept) == set(nx.transitive_reduction(nx.DiGraph(list(edges))).edges)


def test_a_large_graph_is_left_as_it_is():
    edges = adjacency(LARGEST + 1, {(0, 1): REQUIRE, (1, 2): REQUIRE, (0, 2): REQUIRE})
    assert reduced(edges) == edges
