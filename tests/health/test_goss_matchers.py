"""The matchers of goss as a table, with the examples of its documentation."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactor.resources.health.goss.matchers import Text, check_matcher, complaint, matches

LINES = Text("first line\nListen 8080\nLogLevel INFO\n")
JSON = Text('{"foo": "bar", "on": true, "items": [{"name": "a", "n": 1}, {"name": "b", "n": 2}]}\n')
CASES = [
    # found, expected, holds
    ("foo", "foo", True),
    ("foo", "fo", False),
    (42, "42", True),
    (True, "true", True),
    (True, True, True),
    (True, False, False),
    ("true", True, False),
    (1, True, False),
    (True, 1, False),
    (42, 42, True),
    ("42", 42, True),
    ("42", 42.0, True),
    ("0644", 644, True),
    ("x", 42, False),
    ("128", {"gt": 200}, False),
    ("201", {"gt": 200}, True),
    (200, {"ge": 200}, True),
    (200, {"le": 200}, True),
    (200, {"lt": 200}, False),
    ("x", {"lt": 200}, False),
    (["42"], {"gt": 40}, True),
    (42, {"and": ["42", {"have-prefix": "4"}, {"have-suffix": "2"}, {"match-regexp": r"\d{2}"}]}, True),
    (42, {"contain-substring": "2"}, True),
    (42, {"contain-substring": "3"}, False),
    ("foo", {"not": "foo"}, False),
    ("foo", {"not": {"have-prefix": "b"}}, True),
    ("foo", {"or": ["bar", {"have-prefix": "f"}]}, True),
    ("foo", {"or": ["bar", "baz"]}, False),
    ("foo", {"and": ["foo", {"have-prefix": "b"}]}, False),
    # JSON
    (JSON, {"gjson": {"foo": "bar"}}, True),
    (JSON, {"gjson": {"foo": "baz"}}, False),
    (JSON, {"gjson": {"foo": "bar", "nope": "bar"}}, False),
    (JSON, {"gjson": {"items.#": {"ge": 2}, "items.#(n>1).name": {"have-prefix": "b"}, "on": True}}, True),
    (JSON, {"gjson": {"items.#.name": ["a", "b"], "@this": {"have-key": "foo"}}}, True),
    (JSON, {"gjson": {"items.0": {"have-key-with-value": {"n": 1}}}}, True),
    (JSON, {"not": {"gjson": {"foo": "baz"}}}, True),
    (Text("no JSON"), {"gjson": {"foo": "bar"}}, False),
    (Text("[" * 100_000), {"gjson": {"foo": "bar"}}, False),
    # lists
    (["g1", "g2", "g3"], ["g1", "g2"], True),
    (["g1", "g2", "g3"], ["g1", "g2", "g2"], False),
    (["g1", "g2"], [], True),
    (["root", "wheel"], [{"have-prefix": "r"}], True),
    (["ab", "a"], [{"have-prefix": "a"}, "ab"], True),
    (["a", "b"], [{"have-prefix": "a"}, {"have-prefix": "a"}], False),
    (["foo", "bar", "moo"], {"contain-elements": ["foo", "bar"]}, True),
    (["foo", "bar", "moo"], {"contain-element": {"have-prefix": "b"}}, True),
    (["foo", "bar", "moo"], {"contain-element": "b"}, False),
    (["foo", "bar", "moo"], {"equal": ["foo", "bar", "moo"]}, True),
    (["foo", "bar", "moo"], {"equal": ["bar", "foo", "moo"]}, False),
    (["foo", "bar", "moo"], {"consist-of": ["foo", {"have-prefix": "m"}, "bar"]}, True),
    (["foo", "bar", "moo"], {"consist-of": ["foo", "bar"]}, False),
    (["127.0.0.1", "::1"], {"consist-of": ["127.0.0.1"]}, False),
    (["a", "b", "c"], {"have-len": 3}, True),
    ("abc", {"have-len": 3}, True),
    ({"a": 1}, {"have-len": 2}, False),
    (3, {"have-len": 1}, False),
    # maps
    ({"foo": "bar", "baz": "bing"}, {"and": [{"have-key": "baz"}]}, True),
    ({"foo": "bar"}, {"have-key": {"have-prefix": "f"}}, True),
    ({"foo": "bar"}, {"have-key": "bar"}, False),
    ({"foo": 1, "bar": "baz"}, {"have-key-with-value": {"foo": 1, "bar": {"have-prefix": "b"}}}, True),
    ({"foo": 1}, {"have-key-with-value": {"foo": 2}}, False),
    ({"foo": 1}, {"have-key-with-value": {"bar": 1}}, False),
    ("foo", {"have-key": "foo"}, False),
    # versions
    (["1.0.1", "1.9.9"], {"semver-constraint": ">1.0.0 <2.0.0 !=1.5.0"}, True),
    (["1.0.1", "1.5.0", "1.9.9"], {"semver-constraint": ">1.0.0 <2.0.0 !=1.5.0"}, False),
    ("1.0.1", {"semver-constraint": ">5.0.0 || < 1.5.0"}, True),
    ("1.0.1\n", {"semver-constraint": ">1.0.0"}, True),
    (" 1.0.1 \n1.2.0\r\n\n", {"semver-constraint": ">1.0.0"}, True),
    (["1.0.1\n"], {"semver-constraint": ">1.0.0"}, True),
    ("\n", {"semver-constraint": ">1.0.0"}, False),
    ("1:2.3-4", {"semver-constraint": ">1.0.0"}, False),
    ([], {"semver-constraint": ">1.0.0"}, False),
    # what was read
    (LINES, ["Listen", "!Nothing", "/^Log.*INFO$/", "!/^listen/"], True),
    (LINES, ["listen"], False),
    (LINES, ["!Listen"], False),
    (LINES, ["/first.*Listen/"], False),
    (LINES, [], True),
    (LINES, [{"match-regexp": "^Listen"}], True),
    (LINES, {"contain-element": "Listen 8080"}, True),
    (LINES, {"not": {"contain-element": {"match-regexp": "8081"}}}, True),
    (LINES, {"have-patterns": ["Listen"]}, True),
    (LINES, {"match-regexp": "line\nListen"}, True),
    (LINES, {"have-suffix": "INFO"}, True),
    (LINES, {"and": [["Listen"], {"not": ["Nothing"]}]}, True),
    (Text("hi\n"), "hi", True),
    (Text("hi\n"), "hi\n", True),
    (Text("hi\n"), "h", False),
    (Text("42\n"), {"gt": 41}, True),
    (Text(""), ["", "!x"], True),
    (Text(""), ["x"], False),
]  # fmt: skip


@pytest.mark.parametrize(("found", "expected", "holds"), CASES)
def test_a_matcher_holds_or_not(found, expected, holds):
    assert matches(found, check_matcher(expected)) is holds


@pytest.mark.parametrize(
    ("expected", "problem"),
    [
        ({"gtt": 1}, "there is no matcher 'gtt'"),
        ({"gt": 1, "lt": 2}, "below 'and'"),
        ({}, "one key"),
        ({"gt": "1"}, "takes a number"),
        ({"have-len": True}, "takes a number"),
        ({"have-prefix": 4}, "put it in quotes"),
        ({"match-regexp": "("}, "not a regular expression"),
        ({"and": "x"}, "takes a list"),
        ({"and": [{"or": [{"x": 1}]}]}, "there is no matcher 'x'"),
        ([{"x": 1}], "there is no matcher 'x'"),
        ({"not": None}, "a matcher is"),
        ({"have-key-with-value": ["a"]}, "takes a map"),
        ({"have-key-with-value": {"a": {"x": 1}}}, "there is no matcher 'x'"),
        ({"have-patterns": ["/(/"]}, "not a regular expression"),
        ({"have-patterns": [1]}, "list of strings"),
        ({"gjson": {1: "bar"}}, "put it in quotes"),
        ({"semver-constraint": "about 3"}, "not a version"),
        ({"semver-constraint": ">"}, "not a range"),
        (["/(/"], "not a regular expression"),
        ({"semver-constraint": ""}, "empty"),
        (None, "a matcher is"),
    ],
)
def test_what_is_no_matcher_is_refused(expected, problem):
    with pytest.raises(ValueError, match=problem):
        check_matcher(expected)


def test_a_complaint_names_both_sides():
    assert complaint("0600", "0644") == 'is "0600", expected "0644"'


def test_a_complaint_names_the_patterns_that_fail_and_never_the_text():
    assert complaint(Text("password=hunter2"), ["password", "nothing"]) == 'does not match ["nothing"]'


@given(st.lists(st.integers(0, 3), max_size=5), st.lists(st.sets(st.integers(0, 3), max_size=3), max_size=4))
def test_each_expectation_of_a_list_gets_an_item_of_its_own(found, wanted):
    expected = [{"or": sorted(each)} for each in wanted]
    possible = any(
        all(item in each for item, each in zip(chosen, wanted, strict=True))
        for chosen in permutations(found, len(wanted))
    )
    assert matches(found, {"contain-elements": expected}) is possible
    assert matches(found, {"consist-of": expected}) is (possible and len(found) == len(wanted))
