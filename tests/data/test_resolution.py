"""Data, hierarchy and overrides: what CCM was seen to do, and the rules behind it."""

from pathlib import Path

import pytest
import yaml

from reactor.data.resolve import Layer, resolve
from reactor.documents import parse_values

CASES = yaml.safe_load((Path(__file__).parent / "hiera_cases.yaml").read_text())


def resolved(text, facts=None, **options):
    return resolve(parse_values(text, "test.yaml"), facts or {}, **options)


def values(text, facts=None, **options):
    found = resolved(text, facts, **options)
    assert found.problems == []
    return found.values


def problems(text, facts=None):
    return [(each.path, each.message) for each in resolved(text, facts).problems]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_as_ccm_was_seen_to_do(case):
    found = values(case["input"], case.get("facts"))
    assert found == case["expect"]
    assert repr(sorted(found.items())) == repr(sorted(case["expect"].items())), "1 is not True and not 1.0"


def test_values_may_be_expressions_of_any_type():
    text = """
        hierarchy: {order: [data, "role:{{ lookup('facts.role') | lower() }}"]}
        data: {value: 1, list: [1], other: "{{ lookup('facts.other') }}"}
        overrides:
          role:web: {list: "{{ lookup('facts.list') }}", value: "{{ lookup('facts.value') | int() }}"}
    """
    facts = {"role": "WEB", "value": 1, "list": [1], "other": {"key": "other"}}
    assert values(text, facts) == {"value": 1, "list": [1], "other": {"key": "other"}}


def test_an_entry_of_the_order_in_the_language_of_hiera_is_a_problem_where_ccm_ignores_it():
    text = 'hierarchy: {order: [common, "os/%{facts.os.family}"]}'
    (problem,) = resolved(text, strict=True).problems
    assert problem.path == ("hierarchy", "order", 1)
    assert "an expression of Hiera" in problem.message
    assert values(text) == {}


MULTI_OS = """
    hierarchy: {order: ["os:${ lookup('facts.host.info.platformFamily') }"]}
    data: {package_name: httpd}
    overrides: {os:debian: {package_name: apache2}}
"""


@pytest.mark.parametrize(("family", "name"), [("debian", "apache2"), ("rhel", "httpd")])
def test_an_override_is_that_of_the_platform(family, name):
    facts = {"host": {"info": {"platformFamily": family}}}
    assert values(MULTI_OS, facts) == {"package_name": name}


@pytest.mark.parametrize(
    "text",
    ["", "{}", "data:", "overrides:", "hierarchy:", "data:\noverrides:\nhierarchy:", "ccm: {resources: []}"],
)
def test_missing_and_empty_sections_are_empty(text):
    assert values(text) == {}


def test_a_json_document_is_resolved_too():
    assert values('{"data": {"a": 1.0, "b": 1.5}, "overrides": {"default": {"a": 2}}}') == {"a": 2, "b": 1.5}


def test_numbers_without_a_fraction_are_integers_everywhere():
    found = values("{data: {a: 1.0, l: [2.0, {n: 3e2}], f: 1.5}, overrides: {default: {big: 1e30}}}")
    assert repr(found) == "{'a': 1, 'l': [2, {'n': 300}], 'f': 1.5, 'big': 1e+30}"


def test_the_key_data_is_no_override():
    assert values("{hierarchy: {order: [data, x]}, data: {a: 1}, overrides: {data: {a: 2}, x: {b: 3}}}") == {
        "a": 1,
        "b": 3,
    }


def test_an_override_that_is_no_map_is_passed_over():
    text = "{hierarchy: {order: [x, y]}, data: {a: 1}, overrides: {x: 5, y: {a: 2}}}"
    assert values(text) == {"a": 2}


def test_an_empty_override_ends_the_search_for_the_first():
    assert values("{hierarchy: {order: [x, y]}, data: {a: 1}, overrides: {x: {}, y: {a: 2}}}") == {"a": 1}


def test_null_replaces_in_a_deep_merge():
    text = "{hierarchy: {order: [x], merge: deep}, data: {a: {b: 1}, l: [1]}, overrides: {x: {a: null, l: null}}}"
    assert values(text) == {"a": None, "l": None}


@pytest.mark.parametrize("merge", ["deep", "Deep", "DEEP"])
def test_the_mode_of_merging_may_have_capitals(merge):
    text = f"{{hierarchy: {{order: [x, y], merge: {merge}}}, overrides: {{x: {{a: 1}}, y: {{b: 2}}}}}}"
    assert values(text) == {"a": 1, "b": 2}


def test_keys_are_never_evaluated():
    assert values("{data: {'${ 1 + 1 }': '${ 1 + 1 }'}}") == {"${ 1 + 1 }": 2}


def test_data_knows_neither_data_nor_the_environment(monkeypatch):
    monkeypatch.setenv("HOME", "/root")
    text = """
        data:
          a: 1
          b: "${ Data.a ?? 'none' }"
          c: "${ lookup('data.a') }"
          d: "${ lookup('environ.HOME') }"
    """
    assert values(text) == {"a": 1, "b": "none", "c": "", "d": ""}


def test_only_overrides_that_apply_are_evaluated():
    text = "{hierarchy: {order: [x]}, overrides: {x: {a: 1}, y: {a: '${ nope }'}}}"
    assert values(text) == {"a": 1}


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ("hierarchy: x", ("hierarchy",), "hierarchy must be a map"),
        ("hierarchy: {}", ("hierarchy",), "hierarchy.order must be a list"),
        ("hierarchy: {merge: deep}", ("hierarchy",), "hierarchy.order must be a list"),
        ("hierarchy: {order: x}", ("hierarchy", "order"), "hierarchy.order must be a list"),
        (
            "hierarchy: {order: [a, 5]}",
            ("hierarchy", "order", 1),
            "hierarchy.order must contain only strings",
        ),
        ("hierarchy: {order: [a], merge: depp}", ("hierarchy", "merge"), "unsupported merge mode: depp"),
        ("data: {a: [x, '${ readFile(\"x\") }']}", ("data", "a", 1), "unknown name readFile"),
        ("hierarchy: {order: ['${ nope }']}", ("hierarchy", "order", 0), "unknown name nope"),
        ("overrides: {default: {a: '${ nope }'}}", ("overrides", "default", "a"), "unknown name nope"),
    ],
)
def test_what_is_wrong_is_reported_with_its_path(text, path, message):
    assert problems(text) == [(path, message)]


def test_everything_that_is_wrong_is_reported_at_once():
    text = "{hierarchy: {order: [5], merge: x}, data: {a: '${ }', b: '${ 1 + }', c: 1}}"
    assert [path for path, _ in problems(text)] == [
        ("hierarchy", "order", 0), ("hierarchy", "merge"), ("data", "a"), ("data", "b"),
    ]  # fmt: skip


def test_an_error_in_an_expression_has_its_place_in_the_text():
    (problem,) = resolved("data: {a: 'x ${ 1 + nope } y'}").problems
    assert "x ${ 1 + nope } y"[problem.start : problem.end] == "nope"
    (problem,) = resolved("hierarchy: {order: [' r:${ nope }']}").problems
    assert " r:${ nope }"[problem.start : problem.end] == "nope"


def test_a_function_that_data_do_not_have_says_where_it_can_be_called():
    (problem,) = resolved("data: {a: '${ secret(1) }'}").problems
    assert (
        problem.hint
        == "expressions in data can't read files or secrets: call the function in a property of a resource"
    )


def test_a_misspelt_mode_is_answered_with_the_nearest():
    (problem,) = resolved("hierarchy: {order: [], merge: depp}").problems
    assert problem.hint == "did you mean 'deep'?"


LAYERED = """
    hierarchy: {order: [one, two], merge: deep}
    data: {same: 1, map: {x: 1, y: 1}, list: [a], gone: {z: 1}, empty: {}}
    overrides:
      one: {map: {y: 2}, list: [b, {c: 1}], gone: now a text}
      two: {map: {z: 3}}
"""


def test_every_leaf_reports_the_layer_it_came_from():
    over = [Layer("--data-file", {"map": {"z": 4}}), Layer("--data", {"new": True, "list": ["d"]})]
    found = resolved(LAYERED, over=over)
    assert found.values == {
        "same": 1, "map": {"x": 1, "y": 2, "z": 4}, "list": ["a", "b", {"c": 1}, "d"], "gone": "now a text",
        "empty": {}, "new": True,
    }  # fmt: skip
    assert found.layers == {
        ("same",): "data",
        ("map", "x"): "data",
        ("map", "y"): "overrides one",
        ("map", "z"): "--data-file",
        ("list", 0): "data",
        ("list", 1): "overrides one",
        ("list", 2): "overrides one",
        ("list", 3): "--data",
        ("gone",): "overrides one",
        ("new",): "--data",
    }


def test_the_first_override_replaces_whole_values():
    found = resolved(LAYERED.replace("merge: deep", "merge: first"))
    assert found.values["map"] == {"y": 2}
    assert found.layers["map", "y"] == "overrides one"
    assert ("map", "x") not in found.layers


def test_the_document_is_left_as_it_was():
    document = parse_values(LAYERED, "test.yaml")
    first = resolve(document, {}, over=[Layer("x", {"map": {"x": 5}})])
    assert document == parse_values(LAYERED, "test.yaml")
    assert resolve(document, {}).values["map"]["x"] == 1
    assert first.values["map"]["x"] == 5


def test_facts_are_only_read_where_they_are_asked_for():
    class Facts(dict):
        def __getitem__(self, key):
            raise AssertionError(f"{key} was read")

    assert values("data: {a: 1, b: '${ 1 + 1 }'}", Facts(host=1)) == {"a": 1, "b": 2}
