"""References and the order of the manifest become edges, or problems that say where and how to mend them."""

from __future__ import annotations

import gc

import pytest
from graph_samples import Thing, built, edges, graph_of, place

from reactor.errors import Place
from reactor.graph.build import build
from reactor.resource.common_properties import Meta
from reactor.resource.declared import Form, declare


def thing(name, **properties):
    return Thing(name=name, **properties)


@pytest.mark.parametrize("kind", ["require", "subscribe", "after"])
def test_a_reference_becomes_an_edge_with_its_kind_and_reason(kind):
    graph = graph_of(thing("a", **{kind: "thing#b"}), thing("b"))
    assert dict(graph.dag.edges) == {("thing#b", "thing#a"): {"kind": kind, "reason": f"{kind} in thing#a"}}


def test_vertices_are_numbered_in_the_order_of_the_manifest():
    graph = graph_of(thing("c", require="thing#a"), thing("a"), thing("b"))
    assert graph.refs == list(graph.dag) == ["thing#c", "thing#a", "thing#b"]


def test_an_alias_can_be_referred_to():
    graph = graph_of(thing("a", alias="first"), thing("b", require="thing#first"))
    assert edges(graph) == {("a", "b"): "require"}


def test_a_name_goes_before_an_equal_alias():
    graph = graph_of(thing("a", alias="b"), thing("b"), thing("c", require="thing#b"))
    assert edges(graph) == {("b", "c"): "require"}


def test_an_alias_that_several_have_means_the_last_before():
    graph = graph_of(
        thing("a", alias="x"), thing("b", alias="x"), thing("c", require="thing#x"), thing("d", alias="x")
    )
    assert edges(graph) == {("b", "c"): "require"}


def test_a_name_that_comes_later_leaves_an_alias_that_came_before():
    graph = graph_of(
        thing("a", alias="x"), thing("b", require="thing#x"), thing("x"), thing("c", require="thing#x")
    )
    assert edges(graph) == {("a", "b"): "require", ("x", "c"): "require"}


@pytest.mark.parametrize(
    ("properties", "kept"),
    [
        ({"require": "thing#a", "after": "thing#a"}, "require"),
        ({"after": "thing#a", "subscribe": "thing#a"}, "subscribe"),
        ({"subscribe": "thing#a", "require": "thing#a"}, "subscribe"),
        ({"after": "thing#a", "using": ("/a",)}, "automatic"),
        ({"require": "thing#a", "using": ("/a",)}, "require"),
    ],
)
def test_the_strongest_of_several_edges_stays(properties, kept):
    graph = graph_of(thing("a", providing=("/a",)), thing("b", **properties))
    assert edges(graph) == {("a", "b"): kept}


@pytest.mark.parametrize(
    ("properties", "kept"),
    [
        ({}, "notify"),
        ({"after": "thing#a"}, "notify"),
        ({"require": "thing#a"}, "subscribe"),
        ({"using": ("/a",)}, "subscribe"),
    ],
)
def test_a_user_who_only_notices_of_changes_notices_of_them_whatever_else_it_says(properties, kept):
    hearing = thing("b", subscribe="thing#a", **properties)
    declare(hearing, hearing.declared._replace(form=Form(is_ccm=True)))
    graph = graph_of(thing("a", providing=("/a",)), hearing)
    assert edges(graph) == {("a", "b"): kept}


@pytest.mark.parametrize(("form", "kept"), [("native", "require"), ("ccm", "after")])
def test_what_stands_for_others_is_refreshed_by_no_other_user(form, kept):
    whole = thing("whole", subscribe=[{"thing#a": {"quiet": {"for": "2s"}}}])
    declare(whole, whole.declared._replace(members=("thing#part",)))
    if form == "ccm":
        declare(whole, whole.declared._replace(form=Form(is_ccm=True, allow_automatic_edges=False)))
    graph = graph_of(thing("a"), whole, thing("part"))
    assert edges(graph) == {("a", "whole"): kept, ("a", "part"): kept, ("part", "whole"): "notify"}
    assert all(edge.quiet is None for edge in graph.edges)


def test_an_unknown_reference_is_reported_at_its_own_place_with_what_may_be_meant():
    _, [problem] = built(thing("nginx"), thing("b", require=["thing#nginx", "thing#ngnix"]))
    assert problem.message == "require of thing#b: there is no thing#ngnix in the manifest"
    assert problem.place == place(1, ("require", 1))
    assert problem.hint == "did you mean 'thing#nginx'?"


def test_a_misspelt_alias_is_hinted_at():
    _, [problem] = built(thing("a", alias="web-server"), thing("b", after="thing#web-sever"))
    assert problem.hint == "did you mean 'thing#web-server'?"


@pytest.mark.parametrize("typo", ["thing#/srv/app/f04321.con", "thing#/svr/app/f04321.conf"])
def test_hints_are_found_among_ten_thousand_names(typo):
    _, [problem] = built(*(thing(f"/srv/app/f{n:05}.conf") for n in range(10_000)), thing("x", require=typo))
    assert problem.hint == "did you mean 'thing#/srv/app/f04321.conf'?"


@pytest.mark.parametrize("wanted", ["thing#nginx", "thing#zs", "thng#web"])
def test_a_name_is_no_hint_because_its_kind_is_the_one_that_is_wanted(wanted):
    _, [problem] = built(thing("ssh"), thing("zsh-completions"), thing("b", require=wanted))
    assert problem.hint == "declare it, or remove this reference"


def test_a_glob_of_an_unknown_kind_is_answered_with_the_kind_that_is_similar():
    _, [problem] = built(thing("web"), thing("b", require="thign#*"))
    assert problem.hint == "did you mean 'thing#*'?"


def test_with_the_wrong_kind_the_resource_of_that_name_is_hinted_at():
    _, [problem] = built(thing("web"), thing("wed"), thing("b", require="service#web"))
    assert problem.hint == "did you mean 'thing#web'?"


def test_a_user_who_refers_to_what_is_not_there_is_never_meant_itself():
    _, [problem, of_alias] = built(
        thing("nginx", require="package#nginx"), thing("b", alias="web", after="thing#webs")
    )
    assert problem.hint == of_alias.hint == "declare it, or remove this reference"


def test_without_a_similar_name_the_hint_says_what_to_do():
    _, [problem] = built(thing("a", require="package#completely-different"))
    assert problem.hint == "declare it, or remove this reference"


def test_a_reference_to_a_broken_resource_is_no_problem_and_no_edge():
    graph, problems = built(thing("a", require="thing#b"), broken=frozenset({"thing#b"}))
    assert problems == []
    assert edges(graph) == {}


@pytest.mark.parametrize("target", ["thing#a", "thing#me"])
def test_a_resource_can_not_refer_to_itself(target):
    graph, [problem] = built(thing("a", alias="me", subscribe=target))
    assert problem.message == "thing#a refers to itself in subscribe"
    assert problem.place == place(0, ("subscribe", 0))
    assert edges(graph) == {}


def test_all_problems_are_reported_at_once():
    _, problems = built(
        thing("a", require=["thing#x", "thing#y"]),
        thing("b", after="thing#c"),
        thing("c", after="thing#b", require="thing#z"),
    )
    assert [problem.place for problem in problems] == [
        Place("site.yaml", 1, 3), Place("site.yaml", 1, 3), Place("site.yaml", 3, 3), Place("site.yaml", 2, 3)
    ]  # fmt: skip


def test_in_manifest_order_each_resource_comes_after_the_one_before():
    graph = graph_of(thing("a"), thing("b"), thing("c", require="thing#b"), ordering="manifest")
    assert edges(graph) == {("a", "b"): "after", ("b", "c"): "require"}


def test_in_graph_order_nothing_is_added():
    assert edges(graph_of(thing("a"), thing("b"))) == {}


def test_two_resources_with_one_ref_are_a_mistake_of_the_caller():
    with pytest.raises(ValueError, match="same ref"):
        built(thing("a"), thing("a"))


def test_no_resources_make_an_empty_graph():
    assert graph_of().refs == []


def test_the_garbage_collector_is_left_as_it_was():
    built(thing("a"))
    assert gc.isenabled()


def test_a_broken_resource_that_waits_for_a_missing_name_is_reported_and_its_properties_are_not_read():
    wreck = Thing.model_construct(name="a", require=("thing#missing",), meta=Meta(automatic_edges=False))
    del wreck.__dict__["providing"]
    _, problems = build((), placeholders=[wreck])
    assert [problem.message for problem in problems] == [
        "require of thing#a: there is no thing#missing in the manifest"
    ]


def test_a_glob_refers_to_all_that_it_matches_but_not_to_its_owner():
    graph = graph_of(thing("app-1"), thing("app-2"), thing("db"), thing("app-all", subscribe="thing#app-*"))
    assert edges(graph) == {("app-1", "app-all"): "subscribe", ("app-2", "app-all"): "subscribe"}


def test_a_name_that_holds_a_star_goes_before_the_glob():
    graph = graph_of(thing("a*"), thing("ab"), thing("c", require="thing#a*"))
    assert edges(graph) == {("a*", "c"): "require"}


def test_a_glob_that_matches_nothing_is_an_error_unless_a_loop_made_nothing():
    lonely = thing("c", require="thing#x*")
    _, problems = built(lonely)
    assert [each.message for each in problems] == ["require of thing#c: there is no thing#x* in the manifest"]
    assert built(lonely, broken=frozenset({"thing#*"}))[1] == []
