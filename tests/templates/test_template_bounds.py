"""Hostile templates end at their bound, with a position."""

import time

import pytest
from template_worlds import render

from reactor.language.errors import LimitFault
from reactor.language.templates import Limits, TemplateError, template_engine
from reactor.language.templates.budget import limited
from reactor.language.templates.go.functions import regexes
from reactor.language.templates.yaml_text import yaml_text

STEPS, CHARACTERS, DEPTH = "steps", "characters", "too deep"

HOSTILE = [
    ("go", "{{range 1000000000}}{{end}}", STEPS),
    ("go", "{{range until 1000000000}}{{end}}", STEPS),
    ("go", "{{range 100000}}{{range 100000}}{{range 100000}}{{end}}{{end}}{{end}}", STEPS),
    ("go", "{{range seq 1000000000}}{{end}}", STEPS),
    ("go", '{{repeat 1000000000 "x"}}', CHARACTERS),
    ("go", '{{indent 1000000000 "x"}}', CHARACTERS),
    ("go", '{{printf "%1000000000d" 1 | len}}', CHARACTERS),
    ("go", '{{printf "%.*f" 1000000000 1.5 | len}}', CHARACTERS),
    ("go", '{{$x := "ab"}}{{range 60}}{{$x = printf "%s%s" $x $x}}{{end}}', CHARACTERS),
    ("go", '{{$x := "ab"}}{{range 60}}{{$x = cat $x $x}}{{end}}', CHARACTERS),
    ("go", '{{$x := "ab"}}{{range 60}}{{$x = print $x $x}}{{end}}', CHARACTERS),
    ("go", '{{$x := "ab"}}{{range 60}}{{$x = join $x (list $x $x)}}{{end}}', CHARACTERS),
    ("go", '{{$x := "ab"}}{{range 60}}{{$x = replace "a" $x $x}}{{end}}', CHARACTERS),
    ("go", '{{$x := "ab"}}{{range 60}}{{$x = regexReplaceAll "a" $x $x}}{{end}}', CHARACTERS),
    ("go", "{{$x := list 1}}{{range 60}}{{$x = concat $x $x}}{{end}}", STEPS),
    ("go", "{{$x := list 1}}{{range 60}}{{$x = list $x $x}}{{end}}{{$x}}", CHARACTERS),
    ("go", "{{$x := list 1}}{{$y := list 1}}{{range 60}}{{$x = list $x $x}}{{$y = list $y $y}}{{end}}{{deepEqual $x $y}}", CHARACTERS),
    ("go", "{{$x := list 1}}{{range 60}}{{$x = list $x $x}}{{end}}{{toJson $x}}", CHARACTERS),
    ("go", "{{$x := list 1}}{{range 60}}{{$x = list $x $x}}{{end}}{{deepCopy $x}}", CHARACTERS),
    ("go", '{{define "a"}}{{template "a"}}{{end}}{{template "a"}}', DEPTH),
    ("go", '{{define "a"}}{{template "a"}}{{template "a"}}{{end}}{{template "a"}}', DEPTH),
    ("go", '{{$d := dict}}{{$_ := set $d "x" $d}}{{$d}}', CHARACTERS),
    ("go", "{{" + "(" * 5000 + "1" + ")" * 5000 + "}}", "deeper than"),
    ("go", "{{if 1}}" * 5000, "deeper than"),
    ("jet", "[[ range ints(0, 1000000000) ]][[ end ]]", STEPS),
    ("jet", "[[ l := ints(0, 100000) ]][[ range l ]][[ range l ]][[ end ]][[ end ]]", STEPS),
    ("jet", '[[ repeat("x", 1000000000) ]]', CHARACTERS),
    ("jet", '[[ x := "ab" ]][[ range ints(0, 60) ]][[ x = x + x ]][[ end ]]', CHARACTERS),
    ("jet", '[[ x := "ab" ]][[ range ints(0, 60) ]][[ x = replace(x, "a", x, -1) ]][[ end ]]', CHARACTERS),
    ("jet", "[[ x := slice(1) ]][[ range ints(0, 60) ]][[ x = slice(x, x) ]][[ end ]][[ x ]]", CHARACTERS),
    ("jet", "[[ x := slice(1) ]][[ y := slice(1) ]][[ range ints(0, 60) ]][[ x = slice(x, x) ]][[ y = slice(y, y) ]][[ end ]][[ x == y ]]", STEPS),
    ("jet", "[[ block b() ]][[ yield b() ]][[ end ]]", DEPTH),
    ("jet", '[[ include "self" ]]', DEPTH),
    ("jet", "[[ try ]][[ range ints(0, 1000000000) ]][[ end ]][[ catch ]]caught[[ end ]]", STEPS),
    ("jet", "[[ " + "(" * 5000 + "1" + ")" * 5000 + " ]]", "deeper than"),
    ("jet", "[[ if 1 ]]" * 5000, "deeper than"),
    ("jet", "[[ " + "!" * 5000 + "1 ]]", "deeper than"),
    ("jinja", "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}", STEPS),
    ("jinja", "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}", CHARACTERS),
    ("jinja", "{% set n = namespace(x=[1], y=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% set n.y = [n.y, n.y] %}{% endfor %}{{ n.x == n.y }}", CHARACTERS),
    ("jinja", "{{ 'x' * 10**9 }}", CHARACTERS),
    ("jinja", "{{ (range(100000) | list) * 1000 }}", STEPS),
    ("jinja", "{{ '%1000000000d' % 1 }}", CHARACTERS),
    ("jinja", "{{ '%*d' % (1000000000, 1) }}", CHARACTERS),
    ("jinja", "{{ '%1000000000d' | format(1) }}", CHARACTERS),
    ("jinja", "{{ 'x' | center(10**9) }}", CHARACTERS),
    ("jinja", "{{ 'x' | indent(10**9) }}", CHARACTERS),
    ("jinja", "{{ d | tojson(indent=10**9) }}", CHARACTERS),
    ("jinja", "{{ 9 ** (9 ** 9) }}", "too large"),
    ("jinja", "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}", CHARACTERS),
    ("jinja", "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}", CHARACTERS),
    ("jinja", "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = [n.x, n.x] | join %}{% endfor %}", CHARACTERS),
    ("jinja", "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x.replace('a', n.x) %}{% endfor %}", CHARACTERS),
    ("jinja", "{% macro m() %}{% for i in range(100000) %}{{ 'x' * 100000 }}{% endfor %}{% endmacro %}{{ m() | length }}", CHARACTERS),
    ("jinja", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", DEPTH),
    ("jinja", "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}", STEPS),
    ("jinja", "{% include 'self' %}", DEPTH),
    ("jinja", "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", DEPTH),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "source", "bound"), HOSTILE, ids=lambda value: value[:50])
def test_a_hostile_template_ends_at_its_bound_with_a_position(kind, source, bound):
    templates = {
        "self": "[[ include 'self' ]]".replace("'", '"') if kind == "jet" else "{% include 'self' %}"
    }
    started = time.process_time()
    limits = Limits(seconds=60.0, steps=100_000, characters=1_000_000)
    with pytest.raises(TemplateError) as caught:
        template_engine(kind, limits).compile(source, name="t", delimiters=None, loader=templates.get).render(
            {"d": {"a": 1}}, {}
        )
    assert bound in caught.value.message
    assert (caught.value.name, caught.value.line) in (("t", 1), ("self", 1))
    assert caught.value.column >= 1
    assert time.process_time() - started < 5.0


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        ("go", "{{range 1000000000}}{{end}}"),
        ("jet", "[[ l := ints(0, 1000000) ]][[ range l ]][[ range l ]][[ end ]][[ end ]]"),
        ("jinja", "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"),
    ],
)
def test_time_is_bounded_too(kind, source):
    limits = Limits(seconds=0.05, steps=10**9)
    compiled = template_engine(kind, limits).compile(source, name="t", delimiters=None, loader={}.get)
    with pytest.raises(TemplateError, match=r"takes longer than 0\.05 s"):
        compiled.render({}, {})


def test_a_pattern_that_ruins_other_libraries_takes_no_time():
    assert render("go", '{{ regexMatch "(a+)+$" .x }}', {"x": "a" * 50_000 + "b"}) == "false"


@pytest.mark.parametrize(
    ("name", "work"),
    [
        ("a list of numbers", lambda budget: budget.charge_value([0] * 5000)),
        ("a search", lambda _: regexes.match("a", "a")),
        ("all matches", lambda _: regexes.find_all("a", "a" * 1000, -1)),
        ("a split", lambda _: regexes.split("a", "a" * 1000, -1)),
        ("a replacement", lambda _: regexes.replace_literal("a", "a" * 1000, "b")),
        ("YAML", lambda _: yaml_text(list(range(1000)), 2)),
    ],
)
def test_one_call_with_much_work_ends_when_the_time_is_over(name, work):
    with limited(Limits(seconds=-1.0)) as budget, pytest.raises(LimitFault, match="takes longer than"):
        work(budget)
