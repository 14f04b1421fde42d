"""Go templates do what Go's do: the cases were made by running them in Go."""

import copy
import re
import time

import pytest
import yaml
from template_worlds import cases, render, rendered

from reactor.language.templates import Limits, TemplateError, template_engine

CONTEXT, CASES = cases("go-cases.yaml")


def words(message):
    """A message without the type in it: Go says ``interface {}`` for all that comes from a map, we say what it is."""
    return re.sub(r" in type .*|; got .*", "", message)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["input"][:60])
def test_it_renders_what_go_renders_and_refuses_what_go_refuses(case):
    if "output" in case:
        assert rendered("go", case, CONTEXT) == case["output"]
        return
    with pytest.raises(TemplateError) as caught:
        rendered("go", case, CONTEXT)
    assert (words(caught.value.message), caught.value.line) == (words(case["error"]), case["line"])


def test_there_are_enough_cases():
    assert len(CASES) >= 150


@pytest.mark.parametrize(
    ("source", "message", "place"),
    [
        ("a\n  {{ .n.x }}", "can't evaluate field x in type int", (2, 6)),
        ("{{ nope 1 }}", 'function "nope" not defined', (1, 4)),
        ("{{ index .l 7 }}", "error calling index: index out of range: 7", (1, 4)),
        ("{{ eq .l .l }}", "error calling eq: non-comparable type [1 2]: []interface {}", (1, 4)),
        ("x\n{{ .n", "unclosed action", (2, 3)),
        ('{{ mustRegexMatch "(" "a" }}', "error calling mustRegexMatch: invalid regular expression: missing ): (", (1, 4)),
    ],
)  # fmt: skip
def test_where_it_says_more_than_go_it_says_it_with_line_and_column(source, message, place):
    with pytest.raises(TemplateError) as caught:
        render("go", source, {"n": 1, "l": [1, 2]})
    assert caught.value.message.startswith(message[:60])
    assert (caught.value.line, caught.value.column) == place


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("uper", "did you mean upper?"),
        ("toJSONPretty", "did you mean toPrettyJson?"),
        ("b64encode", "did you mean b64enc?"),
        ("required", "a missing value is an error by itself: it is not needed"),
    ],
)
def test_a_function_that_is_nearly_known_or_of_helm_is_answered_with_the_one_here(name, hint):
    with pytest.raises(TemplateError) as caught:
        render("go", "{{ " + name + " .n }}")
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": [1, {"c": None}], "a": "0o17"}, "a: '0o17'\nb:\n- 1\n- c: null"),
        ("a: b", "'a: b'"),
        ("plain", "plain"),
        (7, "7"),
        ([], "[]"),
        ({"text": "two\nlines\n"}, "text: 'two\n\n  lines\n\n  '"),
    ],
)
def test_yaml_is_written_as_helm_does_without_a_last_newline(value, text):
    assert render("go", "{{ toYaml .v }}|{{ .v | mustToYaml }}", {"v": value}) == f"{text}|{text}"
    assert yaml.safe_load(text) == value


def test_a_list_that_contains_itself_is_no_yaml():
    with pytest.raises(TemplateError, match="characters"):
        template_engine("go", Limits(characters=1000)).compile(
            '{{ $d := dict }}{{ $_ := set $d "x" $d }}{{ toYaml $d }}',
            name="t",
            delimiters=None,
            loader={}.get,
        ).render({}, {})


def test_texts_are_cut_between_characters_and_never_inside_of_one():
    assert render("go", "{{ trunc 2 .u }}{{ substr 1 3 .u }}", {"u": "héllo"}) == "héél"


def test_data_from_outside_cannot_be_changed():
    context = {"map": {"a": {"b": 1}}, "list": [1]}
    before = copy.deepcopy(context)
    with pytest.raises(TemplateError, match="can't change data from outside"):
        render("go", '{{ $_ := set .map "x" 1 }}', context)
    merged = render(
        "go", '{{ merge .map (dict "a" (dict "c" 2)) }}{{ $l := append .list 2 }}{{ $l }}', context
    )
    assert merged == "map[a:map[b:1 c:2]][1 2]"
    changed = render("go", '{{ $d := deepCopy .map }}{{ $_ := set $d.a "b" 9 }}{{ $d }}{{ .map }}', context)
    assert changed == "map[a:map[b:9]]map[a:map[b:1]]"
    assert context == before


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('{{ dateInZone "2006-01-02T15:04:05Z07:00" 86400 "UTC" }}', "1970-01-02T00:00:00Z"),
        ('{{ htmlDateInZone 86400 "no such zone" }}', "1970-01-02"),
        ('{{ toDate "2006-01-02 MST" "2023-08-04 UTC" | dateModify "-24h" | htmlDate }}', "2023-08-03"),
        ("{{ unixEpoch 86400 }}", "86400"),
        ('{{ duration 95 }} {{ duration "3600" }}', "1m35s 1h0m0s"),
        ("{{ ago now }}", "0s"),
    ],
)
def test_times_are_written_as_sprig_writes_them(source, expected):
    assert render("go", source) == expected


def test_now_is_the_time_of_now():
    before = int(time.time())
    assert before <= int(render("go", "{{ now | unixEpoch }}")) <= time.time()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('{{ toDate "2006" "x" }}', "'x' is not a time"),
        ('{{ dateModify "later" now }}', 'invalid duration "later"'),
        ('{{ date "2006" 1e30 }}', "out of range"),
        ('{{ duration "long" }}', "duration takes a number of seconds"),
        ("{{ now.Year }}", "can't evaluate field Year in type time.Time"),
    ],
)
def test_what_is_no_time_is_an_error(source, message):
    with pytest.raises(TemplateError, match=re.escape(message)):
        render("go", source)


@pytest.mark.parametrize("divisor", ["0", "0.0", '"no number"'])
def test_a_division_by_zero_is_reported_in_plain_words(divisor):
    with pytest.raises(TemplateError) as caught:
        render("go", "{{ divf 1 %s }}" % divisor)  # noqa: UP031 - braces
    assert caught.value.message == "error calling divf: decimal division by 0"


@pytest.mark.parametrize("number", ["-e3", "+e308", "0x1p99999", "1e", "0x.p1"])
def test_what_is_no_number_is_an_error_with_a_place(number):
    with pytest.raises(TemplateError, match=r"number syntax|unexpected") as found:
        render("go", f"{{{{ {number} }}}}")
    assert (found.value.line, found.value.column) == (1, 4)
