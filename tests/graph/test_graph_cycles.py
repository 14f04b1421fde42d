"""A cycle is reported as short as it is, one edge a line, each with its reason and its place."""

from __future__ import annotations

import networkx as nx
import pytest
from graph_samples import Thing, built, place
from hypothesis import given
from hypothesis import strategies as st


def things(*requirements):
    """``("a b")``: thing#a requires thing#b. Several after one name are one resource."""
    wanted = {name: [] for line in requirements for name in line.split()}
    for line in requirements:
        name, *others = line.split()
        wanted[name] += [f"thing#{other}" for other in others]
    return [Thing(name=name, require=references) for name, references in wanted.items()]


def test_each_edge_of_a_cycle_is_a_note_with_reason_and_place():
    _, [problem] = built(
        Thing(name="a", require="thing#c"),
        Thing(name="b", subscribe="thing#a"),
        Thing(name="c", after=["thing#b"]),
    )
    assert problem.message == "these 3 resources form a dependency cycle, so none can go first"
    assert problem.notes == (
        ("thing#a requires thing#c (require in thing#a)", place(0, ("require", 0))),
        ("thing#c comes after thing#b (after in thing#c)", place(2, ("after", 0))),
        ("thing#b subscribes to thing#a (subscribe in thing#b)", place(1, ("subscribe", 0))),
    )
    assert problem.place == place(0, ("require", 0))
    assert problem.hint == "remove one of these references"


def test_an_edge_of_the_manifests_order_says_so_and_the_hint_knows_it():
    _, [problem] = built(Thing(name="a", require="thing#b"), Thing(name="b"), ordering="manifest")
    assert problem.notes == (
        ("thing#a requires thing#b (require in thing#a)", place(0, ("require", 0))),
        ("thing#b comes after thing#a (the order of the manifest)", place(1, ())),
    )
    assert "ordering: graph" in problem.hint


def test_a_long_stretch_of_the_manifests_order_is_one_note():
    between = [Thing(name=f"b{number}") for number in range(50)]
    _, [problem] = built(Thing(name="a", require="thing#c"), *between, Thing(name="c"), ordering="manifest")
    assert problem.message == "these 2 resources form a dependency cycle, so none can go first"
    assert problem.notes == (
        ("thing#a requires thing#c (require in thing#a)", place(0, ("require", 0))),
        ("thing#c comes after thing#a (the order of the manifest)", place(51, ())),
    )


@pytest.mark.parametrize(
    ("requirements", "lengths"),
    [
        (["a b", "b a"], [2]),
        (["a b", "b c", "c d", "d a", "b d"], [3]),  # a-b-d within a-b-c-d
        (["a b", "b a", "b c", "c d", "d c"], [2, 2]),  # two knots on one string
        (["a b", "b c", "c a", "x y", "y x"], [3, 2]),
        (["a b c", "b d", "c d"], []),  # a diamond
        (["before a", "a b", "b c", "c a", "c behind"], [3]),
    ],
)
def test_the_shortest_cycle_of_every_knot_is_reported(requirements, lengths):
    _, problems = built(*things(*requirements))
    assert [len(problem.notes) for problem in problems] == lengths


def test_a_cycle_gets_no_automatic_edges_as_well():
    graph, problems = built(
        Thing(name="a", require="thing#b", providing=("/a",)),
        Thing(name="b", require="thing#a", using=("/a",)),
    )
    assert len(problems) == 1
    assert {kind for _, _, kind in graph.dag.edges(data="kind")} == {"require"}


pairs = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] != pair[1]), max_size=30
)


@given(pairs)
def test_cycles_are_reported_exactly_when_networkx_finds_one_and_are_as_short(edges):
    wanted = [[f"thing#{first}" for first, second in edges if second == number] for number in range(10)]
    graph, problems = built(*(Thing(name=str(number), require=names) for number, names in enumerate(wanted)))
    knots = [knot for knot in nx.strongly_connected_components(graph.dag) if len(knot) > 1]
    shortest = sorted(min(map(len, nx.simple_cycles(graph.dag.subgraph(knot), 10))) for knot in knots)
    assert sorted(len(problem.notes) for problem in problems) == shortest


def test_a_cycle_through_ten_thousand_resources_is_found():
    size = 10_000
    _, [problem] = built(*round_of(size))
    assert problem.message.startswith(f"these {size} resources form a dependency cycle")


def round_of(size):
    return [Thing(name=str(n), require=f"thing#{(n + 1) % size}") for n in range(size)]


def test_a_long_cycle_is_shown_by_both_its_ends_and_reports_how_much_is_left_out():
    _, [problem] = built(*round_of(5000))
    texts = [text for text, _ in problem.notes]
    assert texts == [
        *(f"thing#{n} requires thing#{n + 1} (require in thing#{n})" for n in range(6)),
        "and so on: 4988 more are not shown",
        *(f"thing#{n} requires thing#{(n + 1) % 5000} (require in thing#{n})" for n in range(4994, 5000)),
    ]


@pytest.mark.parametrize("size", [12, 13])
def test_a_cycle_is_shown_whole_where_leaving_out_would_save_nothing(size):
    _, [problem] = built(*round_of(size))
    assert len(problem.notes) == size
