"""The language is Expr: the answers of the real one, observed by running it, are ours; where not, it is on purpose."""

import json
from pathlib import Path

import pytest

from reactor.language.errors import ExpressionError
from reactor.language.expression import parse_expression
from reactor.language.expression.scope import Scope, TextMap
from reactor.language.values import to_string

OBSERVED = json.loads((Path(__file__).parent / "observed.json").read_text())
ROOTS = OBSERVED["environment"]
SCOPE = Scope({"Facts": ROOTS["facts"], "Data": ROOTS["data"], "Environ": TextMap(ROOTS["environ"])})


def answer(source):
    try:
        return to_string(parse_expression(source).evaluate(SCOPE))
    except ExpressionError:
        return None


@pytest.mark.parametrize("chunk", range(8))
def test_the_observed_answers_of_expr_and_gjson_are_ours(chunk):
    cases = OBSERVED["cases"][chunk::8]
    assert cases
    assert [(source, answer(source)) for source, _ in cases] == [tuple(case) for case in cases]


BETTER = {
    "a key of the wrong kind is not in a map": ("1 in Data.m", "false"),
    "values of different kinds differ, also as literals": ("1 == '1'", "false"),
    "equality of numbers is the same inside maps": ("{a: 1} == {a: 1.0}", "true"),
    "an index of a text gives a character, not the number of a byte": ("Data.app_name[0]", "m"),
    "numbers found by lookup in a list stay integers": ("lookup('data.l')[0] % 2", "1"),
    "an overflow is an error, not a wrong number": ("9223372036854775807 + 1", None),
    "no operand of 'and' is taken for true": ("true and Data.port", None),
    "no operand of 'or' is taken for false": ("Data.missing or true", None),
    "lookup refuses a third argument": ("lookup('a', 'b', 'c')", None),
    "first refuses what is no list": ("first(Data.port)", None),
    "a text in quotes may have several lines": ("'a\nb'", "a\nb"),
}


@pytest.mark.parametrize(("source", "expected"), BETTER.values(), ids=BETTER)
def test_where_we_differ_from_expr_it_is_on_purpose(source, expected):
    assert answer(source) == expected
