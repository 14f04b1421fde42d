"""Automatic edges follow from paths, and never close a cycle."""

from __future__ import annotations

import networkx as nx
import pytest
from graph_samples import Path, Thing, built, edges, graph_of
from hypothesis import given
from hypothesis import strategies as st

from reactor.graph.graph import EdgeKind


def gone(name, **properties):
    return Path(name=name, ensure="absent", **properties)


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        pytest.param([Path(name="/a"), Path(name="/a/b")], [("/a", "/a/b")], id="parent"),
        pytest.param([Path(name="/a/b"), Path(name="/a")], [("/a", "/a/b")], id="parent declared later"),
        pytest.param(
            [Path(name="/a"), Path(name="/a/b"), Path(name="/a/b/c/d")],
            [("/a", "/a/b"), ("/a/b", "/a/b/c/d")],
            id="nearest ancestor only",
        ),
        pytest.param([Path(name="/a"), Path(name="/ab")], [], id="a name that only begins the same"),
        pytest.param([Path(name="/"), Path(name="/a")], [("/", "/a")], id="the root"),
        pytest.param(
            [Path(name="/bin/tool"), Thing(name="run", using=("/bin/tool", "/srv"))],
            [("/bin/tool", "run")],
            id="exec and what it runs",
        ),
        pytest.param([Thing(name="t", providing=("/a",), using=("/a",))], [], id="never to itself"),
        pytest.param(
            [Path(name="/d/x"), Path(name="/d/y/z"), Path(name="/d!"), Thing(name="t", using=("/d/",))],
            [("/d/x", "t"), ("/d/y/z", "t")],
            id="all that is in a directory that is used as a whole",
        ),
        pytest.param(
            [Path(name="/d"), Path(name="/e/d"), Thing(name="t", using=("/d/",))],
            [("/d", "t")],
            id="the directory itself, when it is used as a whole",
        ),
        pytest.param(
            [Path(name="/a"), Thing(name="t", providing=("/a/b",), using=("/a/b",))],
            [("/a", "t")],
            id="past itself to the next above",
        ),
        pytest.param(
            [
                Thing(name="s", providing=("/a",)),
                Thing(name="t", providing=("/a",)),
                Thing(name="u", using=("/a/b",)),
            ],
            [("s", "u"), ("t", "u")],
            id="two that provide the same",
        ),
        pytest.param(
            [
                Path(name="/"),
                Thing(name="t", using=("user#u",)),
                Thing(name="u", providing=("user#u", "user#7")),
            ],
            [("u", "t")],
            id="an account, and nothing above it",
        ),
        pytest.param(
            [Thing(name="g", removing=("group#g",)), Thing(name="t", using=("group#g",))],
            [("t", "g")],
            id="an account that is removed",
        ),
        pytest.param([gone("/a"), gone("/a/b")], [("/a/b", "/a")], id="children are removed first"),
        pytest.param(
            [gone("/a"), Thing(name="t", using=("/a/bin/x",))], [("t", "/a")], id="used before it is removed"
        ),
        pytest.param([gone("/a"), gone("/ab"), Path(name="/a!")], [], id="removal touches no neighbour"),
        pytest.param(
            [gone("/a"), gone("/a/b"), gone("/a/b/c")],
            [("/a/b", "/a"), ("/a/b/c", "/a"), ("/a/b/c", "/a/b")],
            id="removal from the bottom up",
        ),
        pytest.param(
            [Thing(name="s", removing=("/a",)), Thing(name="t", removing=("/a",))],
            [],
            id="two removers of one path",
        ),
    ],
)
def test_edges_follow_from_paths(resources, expected):
    assert edges(graph_of(*resources)) == dict.fromkeys(expected, "automatic")


def test_the_reason_names_the_path():
    graph = graph_of(Path(name="/a"), Path(name="/a/b"), gone("/c"), Thing(name="t", using=("/c/d",)))
    reasons = {reason for _, _, reason in graph.dag.edges(data="reason")}
    assert reasons == {"path#/a/b uses /a", "path#/c removes /c"}


@pytest.mark.parametrize("switched_off", ["/a", "/a/b"])
def test_a_resource_without_automatic_edges_neither_starts_nor_ends_one(switched_off):
    resources = [
        Path(name=name, meta={"automatic_edges": name != switched_off}) for name in ("/a", "/a/b", "/a/b/c")
    ]
    kept = {"/a": [("/a/b", "/a/b/c")], "/a/b": [("/a", "/a/b/c")]}
    assert edges(graph_of(*resources)) == dict.fromkeys(kept[switched_off], "automatic")


def test_an_edge_against_an_explicit_one_is_left_out():
    graph = graph_of(Path(name="/a", require="path#/a/b"), Path(name="/a/b"))
    assert edges(graph) == {("/a/b", "/a"): "require"}


def test_an_edge_against_a_chain_of_explicit_ones_is_left_out_and_others_stay():
    graph = graph_of(
        Path(name="/a", after="thing#t"),
        Thing(name="t", require="path#/a/b"),
        Path(name="/a/b"),
        Path(name="/a/c"),
    )
    assert edges(graph) == {("/a/b", "t"): "require", ("t", "/a"): "after", ("/a", "/a/c"): "automatic"}


def test_an_edge_against_the_order_of_the_manifest_is_left_out():
    graph = graph_of(Path(name="/a/b"), Path(name="/a"), Path(name="/a/c"), ordering="manifest")
    assert edges(graph) == {("/a/b", "/a"): "after", ("/a", "/a/c"): "automatic"}


def test_of_automatic_edges_that_contradict_each_other_the_manifests_order_decides():
    s = Thing(name="s", providing=("/s",), using=("/t",))
    t = Thing(name="t", providing=("/t",), using=("/s",))
    assert edges(graph_of(s, t)) == {("s", "t"): "automatic"}
    assert edges(graph_of(t, s)) == {("t", "s"): "automatic"}


PATHS = ["/a", "/b", "/a/b", "/a/c", "/a/b/c"]
some_paths = st.lists(st.sampled_from(PATHS), max_size=2, unique=True).map(tuple)


@st.composite
def manifests(draw):
    """Up to eight things with random paths and explicit references that hold no cycle, in a random order."""
    size = draw(st.integers(1, 8))
    ranks = draw(st.permutations(range(size)))
    resources = []
    for number in range(size):
        earlier = [other for other in range(size) if ranks[other] < ranks[number]]
        requires = draw(st.lists(st.sampled_from(earlier), max_size=2, unique=True)) if earlier else []
        kind = draw(st.sampled_from(["require", "subscribe", "after"]))
        paths = {name: draw(some_paths) for name in ("using", "providing", "removing")}
        resources.append(Thing(name=str(number), **{kind: [f"thing#{n}" for n in requires]}, **paths))
    return resources


@given(manifests())
def test_the_graph_stays_acyclic_and_explicit_edges_stay_in_it(resources):
    graph = graph_of(*resources)
    assert nx.is_directed_acyclic_graph(graph.dag)
    for resource in resources:
        for name in ("require", "subscribe", "after"):
            for first in getattr(resource, name):
                assert graph.dag.has_edge(first, resource.ref)


@given(manifests())
def test_an_edge_is_left_out_only_when_it_would_close_a_cycle(resources):
    graph = graph_of(*resources)
    for user in resources:
        for path in user.relations().depends_on:
            for provider in resources:
                if provider is not user and path in provider.relations().provides:
                    assert graph.dag.has_edge(provider.ref, user.ref) or nx.has_path(
                        graph.dag, user.ref, provider.ref
                    )


@given(manifests())
def test_the_same_manifest_gives_the_same_graph(resources):
    first, second = graph_of(*resources), graph_of(*resources)
    assert list(first.dag.edges(data=True)) == list(second.dag.edges(data=True))


def directories_and_files(count):
    folders = [Path(name=f"/srv/d{n}") for n in range(count // 10)]
    return folders + [Path(name=f"/srv/d{n % len(folders)}/f{n}") for n in range(count - len(folders))]


def test_edges_against_a_long_chain_are_all_recognised_at_once():
    resources = directories_and_files(3000)[::-1]
    graph = graph_of(*resources, ordering="manifest")
    assert {kind for _, _, kind in graph.dag.edges(data="kind")} == {EdgeKind.AFTER}


def test_thousands_of_contradictions_are_left_out_and_the_rest_stays():
    """A command requires more files than one pass tells apart, and every one of their directories requires it."""
    files = [Path(name=f"/srv/d{n}/f") for n in range(5000)]
    command = Thing(name="t", require=[file.ref for file in files])
    folders = [Path(name=f"/srv/d{n}", require="thing#t") for n in range(5000)]
    graph, problems = built(*folders, *files, command, Path(name="/srv/d7/late", after="path#/srv/d7"))
    assert problems == []
    automatic = [
        (first, second) for first, second, kind in graph.dag.edges(data="kind") if kind == "automatic"
    ]
    assert automatic == [("path#/srv/d7", "path#/srv/d7/late")]
