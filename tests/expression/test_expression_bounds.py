"""An expression can't hang, eat the memory, overflow the stack or reach Python, whatever it says."""

import random
import sys
import time
import tracemalloc

import pytest
from promises_of_expressions import breach, scope
from random_expressions import HOSTILE, Writer

from reactor.language.errors import BriefLimitError, ExpressionError
from reactor.language.expression import parse_expression, parse_template
from reactor.language.expression.limits import MAX_STEPS
from reactor.language.expression.scope import Scope

FULL, SMALL = scope(MAX_STEPS), scope(10_000)
PATIENCE_SECONDS = 5.0


@pytest.mark.parametrize("source", HOSTILE)
def test_a_hostile_expression_ends_soon_with_a_value_or_a_place(source):
    start = time.process_time()
    assert breach(source, FULL) is None
    assert time.process_time() - start < PATIENCE_SECONDS


@pytest.mark.parametrize("seed", range(4))
def test_random_expressions_keep_their_promises(seed):
    writer = Writer(random.Random(seed))
    for _ in range(1000):
        source = writer.any()
        assert breach(source, SMALL) is None, source


def test_a_deep_host_stack_makes_no_recursion_error():
    def deeper(levels):
        if levels:
            return deeper(levels - 1)
        return [
            breach(source, SMALL) for source in ("((((((((1))))))))", "1" + " + 1" * 90, "[" * 90 + "]" * 90)
        ]

    levels = sys.getrecursionlimit() - len(__import__("inspect").stack(0)) - 60
    assert deeper(levels) == [None] * 3


@pytest.mark.parametrize(
    "source",
    [
        "1..10000000",
        "repeat('x', 100000000)",
        "map(1..1000, map(1..1000, map(1..1000, #)))",
        "reduce(1..100, #acc + #acc, 'x')",
        "let a = map(1..999, 1..999); let b = map(1..999, a); b",
    ],
)
def test_what_is_too_much_says_so(source):
    with pytest.raises(ExpressionError, match="memory budget exceeded"):
        parse_expression(source).evaluate(Scope({}))


def test_one_budget_serves_all_expressions_of_a_text():
    text = "{{ sum(1..3000) }}"
    assert parse_template(text).render(SMALL) == "4501500"
    with pytest.raises(ExpressionError, match="memory budget exceeded"):
        parse_template(text * 3).render(SMALL)


def test_ordinary_work_is_within_the_budget():
    assert parse_expression("len(filter(1..100000, # % 2 == 0))").evaluate(Scope({})) == 50_000
    assert len(parse_expression("repeat('x', 1000000)").evaluate(Scope({}))) == 1_000_000


HEAVY_IN_C = [
    "duration(repeat('1', 20000))",
    "float(repeat('1', 100000) + 'x')",
    "date(repeat('2006', 20000), repeat('2006', 20000))",
    "len(split(repeat('ab,', 5000000), ','))",
    "len(splitAfter(repeat('x,', 8000000), ','))",
    "len(fromJSON(repeat('\\\\u', 8000000)))",
    "len(toJSON(repeat('<', 16000000)))",
    "trim(repeat('x', 1000000), repeat('y', 1000000) + 'x')",
    "repeat('é', 16000000) matches '(x+x+)+y'",
    "now().Format(repeat('2006', 1000000))",
    "len(map(1..60, repeat('😀', 1000000)))",
    "median(1..900000)",
]


@pytest.mark.parametrize("source", HEAVY_IN_C)
def test_what_takes_long_in_c_is_refused_before_it_begins(source):
    """There nothing else goes on meanwhile, not even in other threads. The text itself is made in some milliseconds."""
    started = time.process_time()
    with pytest.raises(ExpressionError):
        parse_expression(source).evaluate(Scope({}))
    assert time.process_time() - started < 1.0


def test_what_a_template_in_an_expression_does_is_made_by_the_expression():
    nested = Scope({}, {"nested": lambda: parse_expression("sum(1..9000)").evaluate(nested)}, steps=20_000)
    assert parse_expression("nested()").evaluate(nested) == 40_504_500
    with pytest.raises(ExpressionError, match="memory budget exceeded"):
        parse_expression("map(1..9, nested())").evaluate(nested)


def test_a_part_of_a_large_text_is_found_wherever_it_stands():
    text = "x" * ((1 << 20) - 2) + "needle" + "x" * (3 << 20)
    scope = Scope({"t": text, "n": "needle"})
    assert parse_expression("t contains n").evaluate(scope) is True
    assert parse_expression("t contains (n + n)").evaluate(scope) is False


def test_what_must_be_brief_says_when_it_is_not():
    brief = Scope({})
    brief.is_brief = True
    assert parse_expression("sum(1..100)").evaluate(brief) == 5050
    with pytest.raises(BriefLimitError):
        parse_expression("sum(1..100000)").evaluate(brief)


def test_what_must_be_brief_makes_no_long_range_to_find_out():
    brief = Scope({})
    brief.is_brief = True
    tracemalloc.start()
    try:
        with pytest.raises(BriefLimitError):
            parse_expression("median(1..900000)").evaluate(brief)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_long_list_is_sorted_as_a_short_one_is():
    values = [(number * 7919) % 3001 for number in range(60_001)]
    pairs = [[value, place] for place, value in enumerate(values)]
    scope = Scope({"values": values, "pairs": pairs})
    for source, wanted in (
        ("sort(values)", sorted(values)),
        ("sort(values, 'desc')", sorted(values, reverse=True)),
        ("median(values)", float(sorted(values)[30_000])),
        ("map(sortBy(pairs, #[0]), #[1])", sorted(range(60_001), key=values.__getitem__)),
        (
            "map(sortBy(pairs, #[0], 'desc'), #[1])",
            sorted(range(60_001), key=values.__getitem__, reverse=True),
        ),
        ("sort([])", []),
    ):
        assert parse_expression(source).evaluate(scope) == wanted, source


def test_a_long_range_holds_all_its_numbers():
    assert parse_expression("1..60001").evaluate(Scope({})) == list(range(1, 60_002))
    assert parse_expression("5..4").evaluate(Scope({})) == []
