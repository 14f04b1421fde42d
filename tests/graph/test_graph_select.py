"""A selection brings what is needed, takes along what can't be without, and says so."""

from __future__ import annotations

import networkx as nx
import pytest
from graph_samples import Thing, edges, graph_of, thing_graph, things
from hypothesis import given
from hypothesis import strategies as st

from reactor.graph.graph import EdgeKind
from reactor.graph.select import around, restricted, select
from reactor.resource.diagnostic import ManifestError

SITE = {
    "package": {},
    "config": {"require": "package"},
    "site": {"after": "config"},
    "service": {"subscribe": "config", "after": "site"},
    "check": {"require": "service"},
    "motd": {},
}


def names(graph):
    return [ref.partition("#")[2] for ref in graph.refs]


def pairs(followers):
    return [(ref.partition("#")[2], because.partition("#")[2]) for ref, because in followers]


@pytest.mark.parametrize(
    ("only", "exclude", "kept", "pulled_in", "left_out"),
    [
        ([], [], list(SITE), [], []),
        (["thing#motd"], [], ["motd"], [], []),
        (["thing#config"], [], ["package", "config"], [("package", "config")], []),
        (["thing#service"], [], ["package", "config", "service"], [("package", "config"), ("config", "service")], []),
        (["thing#[cm]o*"], [], ["package", "config", "motd"], [("package", "config")], []),
        (["thing#site"], [], ["site"], [], []),
        ([], ["thing#motd"], list(SITE)[:-1], [], []),
        ([], ["thing#config"], ["package", "site", "motd"], [], [("service", "config"), ("check", "service")]),
        ([], ["thing#site"], ["package", "config", "service", "check", "motd"], [], []),
        (["thing#service"], ["thing#package"], [], [], [("config", "package"), ("service", "config")]),
        (["thing#service"], ["thing#config"], [], [], [("service", "config")]),
        (["thing#check", "thing#config"], ["thing#service"], ["package", "config"], [("package", "config")],
         [("check", "service")]),
        (["thing#service"], ["thing#motd"], ["package", "config", "service"],
         [("package", "config"), ("config", "service")], []),
    ],
)  # fmt: skip
def test_a_selection_tells_what_it_pulls_in_and_leaves_out(only, exclude, kept, pulled_in, left_out):
    selection = select(things(**SITE), only, exclude)
    assert names(selection.graph) == kept
    assert pairs(selection.pulled_in) == pulled_in
    assert pairs(selection.left_out) == left_out


def test_after_edges_between_what_is_kept_stay():
    selection = select(things(**SITE), ["thing#service", "thing#site"], [])
    assert edges(selection.graph)["site", "service"] == "after"


def test_the_order_through_what_is_left_out_stays():
    graph = graph_of(*(Thing(name=name) for name in "abcde"), ordering="manifest")
    selection = select(graph, ["thing#a", "thing#c", "thing#e"], [])
    assert edges(selection.graph) == {("a", "c"): "after", ("c", "e"): "after"}
    assert selection.graph.dag.edges["thing#a", "thing#c"]["reason"] == "order through what is left out"


@pytest.mark.parametrize("ends", [True, False])
def test_what_ends_an_order_ends_it_through_what_is_left_out(ends):
    graph = graph_of(*(Thing(name=name) for name in "abc"), ordering="manifest", ends=ends)
    (edge,) = select(graph, [], ["thing#b"]).graph.edges
    assert (edge.first, edge.second, edge.ends) == ("thing#a", "thing#c", ends)


def test_the_graph_itself_is_left_alone():
    graph = things(**SITE)
    select(graph, ["thing#motd"], [])
    assert names(graph) == list(SITE)


def test_an_alias_and_a_name_with_glob_signs_in_it_match():
    graph = graph_of(Thing(name="a", alias="web"), Thing(name="[x]"), Thing(name="b"))
    assert names(select(graph, ["thing#we?", "thing#[x]"], []).graph) == ["a", "[x]"]


def test_every_glob_without_a_match_is_reported():
    with pytest.raises(ManifestError) as caught:
        select(things(**SITE), ["thing#servise", "thing#motd"], ["nothing#*"])
    first, second = caught.value.diagnostics
    assert first.message == "--only thing#servise: no resource matches"
    assert first.hint == "did you mean 'thing#service'?"
    assert second.message == "--exclude nothing#*: no resource matches"
    assert second.hint.startswith("did you mean 'thing#*'? Otherwise, write it as kind#name")


@pytest.mark.parametrize(
    ("depth", "kept"),
    [
        (0, ["service"]),
        (1, ["config", "site", "service", "check"]),
        (2, ["package", "config", "site", "service", "check"]),
        (99, ["package", "config", "site", "service", "check"]),
    ],
)
def test_what_is_around_a_resource_is_as_near_as_asked(depth, kept):
    assert names(around(things(**SITE), "thing#service", depth)) == kept


def test_around_knows_aliases():
    graph = graph_of(Thing(name="a", alias="x"), Thing(name="b", after="thing#a"))
    assert names(around(graph, "thing#x", 1)) == ["a", "b"]


def test_around_something_unknown_says_what_may_be_meant():
    with pytest.raises(ManifestError) as caught:
        around(things(**SITE), "thing#motb", 1)
    assert caught.value.diagnostics[0].hint == "did you mean 'thing#motd'?"


kinds = st.sampled_from([EdgeKind.AFTER, EdgeKind.REQUIRE, EdgeKind.SUBSCRIBE])
dags = st.dictionaries(
    st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] < pair[1]), kinds, max_size=20
).map(lambda edges: thing_graph(10, [(*pair, kind) for pair, kind in edges.items()]))


@given(dags, st.sets(st.integers(0, 9)))
def test_what_is_kept_keeps_its_order(graph, numbers):
    part = restricted(graph, {f"thing#{number}" for number in numbers})
    assert nx.is_directed_acyclic_graph(part.dag)
    for first in part.refs:
        assert nx.descendants(part.dag, first) == nx.descendants(graph.dag, first) & set(part.refs)


@given(dags, st.lists(st.integers(0, 9), max_size=2), st.lists(st.integers(0, 9), max_size=2))
def test_nothing_is_kept_without_what_it_needs(graph, only, exclude):
    selection = select(graph, [f"thing#{n}" for n in only], [f"thing#{n}" for n in exclude])
    for first, second, kind in graph.dag.edges(data="kind"):
        if kind != "after" and second in selection.graph.resources:
            assert first in selection.graph.resources


@given(dags, st.lists(st.integers(0, 9), max_size=2), st.lists(st.integers(0, 9), max_size=2))
def test_nothing_runs_that_is_neither_asked_for_nor_needed(graph, only, exclude):
    selection = select(graph, [f"thing#{n}" for n in only], [f"thing#{n}" for n in exclude])
    part = selection.graph
    because = dict(selection.pulled_in)
    for ref in part.refs:
        assert ref in because or not only or int(ref.partition("#")[2]) in only
    assert set(because.values()) <= set(part.refs)
