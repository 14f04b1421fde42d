"""Jet templates do what Jet's do: the cases were made by running them in Jet."""

import copy
import math

import pytest
from template_worlds import cases, render, rendered

from reactor.language.templates import TemplateError

CONTEXT, CASES = cases("jet-cases.yaml")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["input"][:60])
def test_it_renders_what_jet_renders_and_refuses_what_jet_refuses(case):
    if "output" in case:
        assert rendered("jet", case, CONTEXT) == case["output"]
        return
    with pytest.raises(TemplateError) as caught:
        rendered("jet", case, CONTEXT)
    assert caught.value.line == case["line"]
    if case["error"] is not None:
        assert caught.value.message == case["error"]


def test_there_are_enough_cases():
    assert len(CASES) >= 100


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("[[ 1 +2 ]]", "3"),  # Jet takes +2 for a number, and fails
        ("[[ l[l[0]] ]]", "2"),  # Jet takes the first ]] for the end
        ("[[ 1 == 1.5 ]]", "false"),  # Jet: true
        ('[[ "v" + 1000000 ]]', "v1000000"),  # Jet: v1e+06
        ("a {* comment *} b", "a  b"),  # Jet keeps a comment that no action follows
        ("[[ s := 0 ]][[ range l ]][[ s = s + . ]][[ end ]][[ s ]]", "6"),  # Jet can't add an item to a float
        ("[[ try ]][[ missing ]][[ catch err ]][[ err.Error() ]][[ end ]]", 't:1:13: identifier "missing"'),
    ],
)
def test_where_jet_stumbles_it_goes_on(source, output):
    assert render("jet", source, {"l": [1, 2, 3]}).startswith(output)


@pytest.mark.parametrize(
    ("source", "message", "place"),
    [
        ("a\n  [[ n.x ]]", "there is no field or method 'x' in int", (2, 7)),
        ("[[ t + 1 ]]", "left side of + is a bool, not a number", (1, 4)),
        ("[[ upper(n) ]]", "argument 1 of upper is int, not string", (1, 4)),
        ("x [[ if t ]]y", "unexpected EOF", (1, 14)),
        ('[[ extends "a" ]]', "template a could not be found", (1, 12)),
    ],
)
def test_an_error_has_line_and_column(source, message, place):
    with pytest.raises(TemplateError) as caught:
        render("jet", source, {"n": 1, "t": True})
    assert (caught.value.message, (caught.value.line, caught.value.column)) == (message, place)


def test_an_error_in_an_included_template_names_that_one():
    with pytest.raises(TemplateError) as caught:
        render("jet", '\n[[ include "p" ]]', templates={"p": "a\nb [[ nope ]]"})
    assert (caught.value.name, caught.value.line, caught.value.column) == ("p", 2, 6)


def test_templates_that_extend_each_other_are_an_error():
    with pytest.raises(TemplateError, match="extends or imports itself"):
        render("jet", '[[ extends "a" ]]', templates={"a": '[[ extends "b" ]]', "b": '[[ import "a" ]]'})


def test_data_from_outside_cannot_be_changed():
    context = {"m": {"a": 1}, "n": 1}
    before = copy.deepcopy(context)
    assert render("jet", "[[ n = 5 ]][[ n ]]", context) == "5"
    for source in ("[[ m.a = 2 ]]", "[[ .m = 2 ]]"):
        with pytest.raises(TemplateError, match="can't change data from outside"):
            render("jet", source, context)
    assert context == before


def test_dump_shows_what_a_template_sees():
    shown = render("jet", '[[ x := map("a", 1) ]][[ dump() ]]', {"n": 1})
    assert shown.splitlines() == ['. = {"n":1}', "n := 1", 'x := {"a":1}']
    assert render("jet", '[[ dump("n", "zz") ]]', {"n": 1}) == "n := 1\nzz := nothing"


@pytest.mark.parametrize("place", ["l[@]", "s[@:]", "s[:@]", "1 % @", "@ % 2", "ints(@, 1)"])
def test_a_number_without_an_end_is_no_whole_number(place):
    source = f"[[ {place.replace('@', 'x')} ]]"
    with pytest.raises(TemplateError, match=r"\+Inf is not a whole number"):
        render("jet", source, {"x": math.inf, "l": [1], "s": "abc"})
