"""``for_each`` over outputs of other resources: the loop is expanded when they are known."""

import pytest
from small_kinds import KINDS

from reactor.graph.build import build
from reactor.graph.graph import EdgeKind
from reactor.manifest import read_manifests
from reactor.manifest.inputs import Inputs
from reactor.resource.plan import ResourceError

LIST = 'resources:\n  - job:\n      - list: {}\n      - after: {subscribe: "page#*"}\n      - one: {require: "page#/b"}\n'
LOOP = LIST + (
    '  - page:\n      - "/{{ item }}": {for_each: "{{ output(\'job#list\').names }}", ensure: present, '
    'content: "{{ key }}"}\n'
)
LOOP_REF = "for_each#page#/{{ item }}"


@pytest.fixture
def load(tmp_path):
    """Read a manifest with known outputs. Return its resources by ref, its graph and its problems."""

    def load(text, known=None):
        path = tmp_path / "site.yaml"
        path.write_text(text)
        manifest, problems = read_manifests([str(path)], KINDS, Inputs(known_outputs=known))
        graph, more = build(
            manifest.resources,
            locate=manifest.locate,
            placeholders=manifest.placeholders,
            broken=manifest.broken,
            unread=manifest.unread,
        )
        return graph.resources, graph, [*problems, *more]

    return load


def edges(graph, kind=EdgeKind.REQUIRE):
    return {(edge.first, edge.second) for edge in graph.edges if edge.kind is kind}


def known(*names):
    return {LOOP_REF: {"job#list": {"names": [*names]}}}


def settle(loop, **outputs):
    return loop.declared.deferred.settle(loop, {f"job#{name}": value for name, value in outputs.items()}.get)


def test_before_the_outputs_are_known_the_loop_is_one_resource_and_all_that_may_refer_to_its_own_wait_for_it(
    load,
):
    resources, graph, problems = load(LOOP)
    assert problems == []
    assert [*resources] == ["job#list", "job#after", "job#one", LOOP_REF]
    assert edges(graph) == {("job#list", LOOP_REF), (LOOP_REF, "job#after"), (LOOP_REF, "job#one")}
    assert graph.may_have("page#/x"), "an alert of an earlier run about it has not ended"
    assert not graph.may_have("job#x")
    with pytest.raises(ResourceError, match="unknown until job#list has run"):
        settle(resources[LOOP_REF])


def test_with_known_outputs_it_is_expanded_and_a_glob_subscribes_to_all_that_it_makes(load):
    resources, graph, problems = load(LOOP, known("a", "b"))
    assert problems == []
    assert {ref: page.content for ref, page in resources.items() if page.kind == "page"} == {
        "page#/a": "0",
        "page#/b": "1",
    }
    assert edges(graph, EdgeKind.SUBSCRIBE) == {("page#/a", "job#after"), ("page#/b", "job#after")}
    assert ("page#/b", "job#one") in edges(graph)
    assert {(LOOP_REF, "page#/a"), (LOOP_REF, "page#/b")} <= edges(graph, EdgeKind.AFTER)
    assert not graph.may_have("page#/x")
    loop = resources[LOOP_REF]
    assert settle(loop, list={"names": ["a", "b"]}) is loop
    assert not loop.declared.deferred.must_reload


def test_other_elements_are_a_reason_to_load_the_manifest_again_and_are_remembered_for_that(load):
    outputs = known("a", "b")
    loop = load(LOOP, outputs)[0][LOOP_REF]
    with pytest.raises(ResourceError):
        settle(loop, list={"names": ["b", "c"]})
    assert loop.declared.deferred.must_reload
    resources = load(LOOP, outputs)[0]
    assert [ref for ref in resources if ref.startswith("page")] == ["page#/b", "page#/c"]


def test_an_empty_list_makes_nothing_and_a_glob_may_match_nothing_then(load):
    text = LOOP.replace('      - one: {require: "page#/b"}\n', "")
    resources, graph, problems = load(text, known())
    assert problems == []
    assert [*resources] == ["job#list", "job#after", LOOP_REF]
    assert edges(graph) == {("job#list", LOOP_REF)}


def test_a_reference_to_what_the_loop_does_not_make_is_an_error_when_that_is_known(load):
    assert [each.message for each in load(LOOP, known("a"))[2]] == [
        "require of job#one: there is no page#/b in the manifest"
    ]


def test_a_reference_to_another_kind_does_not_wait_for_the_loop(load):
    problems = load(LOOP.replace("page#/b", "job#other"))[2]
    assert [each.message for each in problems] == [
        "require of job#one: there is no job#other in the manifest"
    ]


def test_what_the_loop_needs_can_not_wait_for_what_it_makes(load):
    problems = load(LOOP.replace("list: {}", 'list: {subscribe: "page#*"}'))[2]
    assert [each.code for each in problems] == ["R0204"]


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ({"names": "abc"}, "site.yaml:7:35: for_each must be a list or a map, not 'abc'"),
        ({"name": ["a"]}, "output('job#list') has no key 'names'"),
    ],
)
def test_elements_that_are_no_list_fail_the_loop_with_its_place_and_load_nothing(load, outputs, message):
    loop = load(LOOP)[0][LOOP_REF]
    with pytest.raises(ResourceError) as caught:
        settle(loop, list=outputs)
    assert message in str(caught.value)
    assert not loop.declared.deferred.must_reload


def test_an_error_of_one_element_names_it(load):
    text = LOOP.replace("{{ key }}", "{{ item.text }}").replace("/{{ item }}", "/{{ item.name }}")
    outputs = {
        "for_each#page#/{{ item.name }}": {"job#list": {"names": [{"name": "a", "text": "x"}, {"name": "b"}]}}
    }
    [problem] = load(text, outputs)[2][:1]
    assert problem.message == "the map has no key 'text'" or "text" in problem.message
    assert problem.notes[0][0] == "in the iteration with the key 1"


NESTED = LIST.replace('      - one: {require: "page#/b"}\n', "") + (
    "  - page:\n"
    '      - "/{{ item }}/{{ subitem }}": {for_each: [x, y], ensure: present, content: "{{ subkey }}",\n'
    "          subitems: \"{{ output('job#list').names[item] }}\"}\n"
)
NESTED_REF = "for_each#page#/{{ item }}/{{ subitem }}"


@pytest.mark.parametrize("for_each", ["[x, y]", "\"{{ output('job#list').all }}\""])
def test_subitems_may_use_outputs_and_the_item(load, for_each):
    text = NESTED.replace("[x, y]", for_each)
    names = {"x": ["a"], "y": ["a", "b"]}
    outputs = {"list": {"names": names, "all": ["x", "y"]}}
    resources, graph, problems = load(text)
    assert problems == []
    assert [*resources] == ["job#list", "job#after", NESTED_REF]
    assert ("job#list", NESTED_REF) in edges(graph)
    known = {}
    first = load(text, known)[0][NESTED_REF]
    with pytest.raises(ResourceError, match="the elements of the loop have changed"):
        settle(first, **outputs)
    assert first.declared.deferred.must_reload
    resources, graph, problems = load(text, known)
    assert problems == []
    assert {ref: page.content for ref, page in resources.items() if page.kind == "page"} == {
        "page#/x/a": "0",
        "page#/y/a": "0",
        "page#/y/b": "1",
    }
    loop = resources[NESTED_REF]
    assert settle(loop, **outputs) is loop
    with pytest.raises(ResourceError, match="the elements of the loop have changed"):
        settle(loop, list={"names": {**names, "y": ["b"]}, "all": ["x", "y"]})
    assert loop.declared.deferred.must_reload
    assert [ref for ref in load(text, known)[0] if ref.startswith("page")] == ["page#/x/a", "page#/y/b"]


def test_subitems_that_are_no_list_fail_the_loop_with_their_place_and_load_nothing(load):
    loop = load(NESTED)[0][NESTED_REF]
    with pytest.raises(ResourceError, match=r"site\.yaml:7:21: subitems must be a list or a map, not 'z'"):
        settle(loop, list={"names": {"x": ["a"], "y": "z"}})
    assert not loop.declared.deferred.must_reload


def test_an_unknown_resource_and_a_wrong_list_are_errors_at_once(load):
    for text, ref in ((LOOP, LOOP_REF), (NESTED, NESTED_REF)):
        assert f"an expression of {ref}: there is no job#lost in the manifest" in [
            each.message for each in load(text.replace("job#list'", "job#lost'"))[2]
        ]
    assert [each.message for each in load(NESTED.replace("[x, y]", "abc"))[2]] == [
        "for_each must be a list or a map, not 'abc'"
    ]


def test_two_loops_of_one_name_are_two_resources_and_their_elements_must_differ(load):
    text = LOOP + LOOP.split("  - page:\n")[1]
    outputs = {LOOP_REF: known("a")[LOOP_REF], f"{LOOP_REF} (2)": known("b")[LOOP_REF]}
    resources, _, problems = load(text, outputs)
    assert problems == []
    assert {"page#/a", "page#/b"} <= resources.keys()
    outputs[f"{LOOP_REF} (2)"] = known("a")[LOOP_REF]
    assert "page#/a is declared twice" in [each.message for each in load(text, outputs)[2]]


BROKEN = [
    ("{sise: 1}", "R0106", "page has no property 'sise'"),
    ('{sise: "{{ item }}"}', "R0106", "page has no property 'sise'"),
    ("{size: one}", "R0109", "size must be an integer, not 'one'"),
    ('{content: "{{ itm }}"}', "R0302", "unknown name itm"),
    ('{tags: [a, "{{ subitem }}"]}', "R0302", "unknown name subitem"),
    ('{content: "{{ upper( }}"}', "R0301", "unexpected end of the expression"),
    ("{control: {if: itm == 1}}", "R0302", "unknown name itm"),
]


@pytest.mark.parametrize("elements", ["{{ output('job#list').names }}", "{{ [] }}"])
@pytest.mark.parametrize(("body", "code", "message"), BROKEN)
def test_what_is_wrong_whatever_the_elements_are_is_reported_without_elements(
    load, elements, body, code, message
):
    text = 'resources: [{job: [list: {}]}, {page: ["/{{ item }}": {ensure: present, for_each: "%s", %s]}]\n'
    [problem] = load(text % (elements, body[1:]))[2]
    assert (problem.code, problem.message) == (code, message)


@pytest.mark.parametrize("elements", ["{{ output('job#list').names }}", "{{ [] }}"])
def test_what_may_become_right_with_the_elements_is_no_problem_without_them(load, elements):
    text = (
        'resources: [{job: [list: {}]}, {page: ["{{ item.path }}{{ subkey }}": {for_each: "%s", subitems: "{{ item.of }}", '
        'content: "{{ Data.nope }}", size: "{{ item.size }}", control: {if: item.wanted}}]}]\n'
    )
    assert load(text % elements)[2] == []
