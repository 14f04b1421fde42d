"""The topology says what the graph says, in integers."""

from __future__ import annotations

import subprocess
import sys

from graph_samples import things
from hypothesis import given
from hypothesis import strategies as st

from reactor.graph.graph import EdgeKind
from reactor.graph.topology import Topology


def test_edges_are_sorted_by_what_they_carry():
    topology = Topology.of(
        things(
            a={}, b={"require": "a"}, c={"subscribe": "a"}, d={"after": "a", "require": "b"}, e={"after": "d"}
        )
    )
    assert topology == Topology(
        size=5,
        successors=[(1, 2, 3), (3,), (), (4,), ()],
        strong=[(1, 2), (3,), (), (), ()],
        notify=[(2,), (), (), (), ()],
        strong_predecessors=[(), (0,), (0,), (1,), ()],
        indegree=[0, 1, 1, 2, 1],
    )


def test_an_automatic_edge_is_strong():
    topology = Topology.of_edges(2, [(0, 1, EdgeKind.AUTOMATIC)])
    assert topology.strong == [(1,), ()]
    assert topology.notify == [(), ()]


def test_equal_lists_are_one_object():
    topology = Topology.of_edges(3, [(0, 1, EdgeKind.SUBSCRIBE), (0, 2, EdgeKind.SUBSCRIBE)])
    assert topology.successors[0] is topology.strong[0] is topology.notify[0]


def test_no_vertices_make_an_empty_topology():
    assert Topology.of_edges(0, []) == Topology(0, [], [], [], [], [])


def test_networkx_is_not_imported_for_it():
    code = "import sys, reactor.graph.topology; sys.exit('networkx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


dags = st.dictionaries(
    st.tuples(st.integers(0, 11), st.integers(0, 11)).filter(lambda pair: pair[0] < pair[1]),
    st.sampled_from(list(EdgeKind)),
)


@given(dags)
def test_every_edge_is_found_from_both_ends_and_no_other(edges):
    topology = Topology.of_edges(12, [(*pair, kind) for pair, kind in edges.items()])
    weak = (EdgeKind.AFTER, EdgeKind.NOTIFY)
    strong = {pair for pair, kind in edges.items() if kind not in weak}
    telling = {pair for pair, kind in edges.items() if kind in (EdgeKind.SUBSCRIBE, EdgeKind.NOTIFY)}

    def pairs(adjacency):
        found = [(first, second) for first, seconds in enumerate(adjacency) for second in seconds]
        assert len(found) == len(set(found))
        return set(found)

    assert pairs(topology.successors) == set(edges)
    assert pairs(topology.strong) == strong
    assert pairs(topology.notify) == telling
    assert {(first, second) for second, first in pairs(topology.strong_predecessors)} == strong
    assert topology.indegree == [sum(second == number for _, second in edges) for number in range(12)]
