"""Jinja templates: strict, sandboxed, and with a place in every error."""

import copy

import pytest
from template_worlds import render

from reactor.language.templates import TemplateError, template_engine

CONTEXT = {"n": 3, "l": [1, 2], "d": {"a": 1, "items": 5}, "s": "abc", "nul": None}


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("a {{ n }}\n", "a 3\n"),
        ("{% for x in l %}{{ loop.index0 }}{{ x }}{{ ',' if not loop.last }}{% endfor %}", "01,12"),
        ("{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "a=1;items=5;"),
        ("{{ s.upper() }} {{ s | upper }} {{ l | join('-') }} {{ d['items'] }} {{ d.get('zz', 'none') }}", "ABC ABC 1-2 5 none"),
        ("{{ d | tojson }} {{ l | sum }} {{ 'x' * 3 }} {{ 'a' ~ n }} {{ '%03d' % n }}", '{"a": 1, "items": 5} 3 xxx a3 003'),
        ("{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(n) }}{% set y %}{{ n }}{% endset %}{{ y }}", "<3>3"),
        ("{% set ns = namespace(x=0) %}{% for i in l %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}", "3"),
        ("{{ missing | default('d') }} {{ missing is defined }} {{ nul }}", "d False None"),
        ("{{ d.no.such['key'] | default('d') }} {{ no.such.key is defined }} {{ d.no.such or 1 if d.no is defined else 2 }}", "d False 2"),
        ("{% extends 'base' %}{% block b %}mine{% endblock %}", "<mine>"),
        ("{% from 'lib' import f %}{{ f(2) }}{% include 'p' %}", "21P3"),
        ("{{ '<&>' }}", "<&>"),
    ],
)  # fmt: skip
def test_it_renders_as_jinja_does(source, output):
    templates = {
        "base": "<{% block b %}theirs{% endblock %}>",
        "lib": "{% macro f(x) %}{% if x %}{{ x }}{{ f(x - 1) }}{% endif %}{% endmacro %}",
        "p": "P{{ n }}",
    }
    assert render("jinja", source, CONTEXT, templates=templates) == output


@pytest.mark.parametrize(
    ("source", "message", "place"),
    [
        ("{{ nope }}", "'nope' is undefined", ("t", 1, 1)),
        ("a\n  {{ d.zz }}", "'dict object' has no attribute 'zz'", ("t", 2, 3)),
        ("a\n{% if %}", "Expected an expression, got 'end of statement block'", ("t", 2, 1)),
        ("a\n  {{ d.zz.of.that }}", "'dict object' has no attribute 'zz'", ("t", 2, 3)),
        ("{{ d.zz.items() }}", "'dict object' has no attribute 'zz'", ("t", 1, 1)),
        (
            "{{ nope._undefined_name }}",
            "access to attribute '_undefined_name' of '_Missing' object is unsafe.",
            ("t", 1, 1),
        ),
        ("{% include 'bad' %}", "'nope' is undefined", ("bad", 2, 2)),
        ("{% include 'syntax' %}", "Expected an expression, got 'end of statement block'", ("syntax", 2, 1)),
        ("{% include 'none' %}", "template none could not be found", ("t", 1, 1)),
        ("\n{{ 1 / 0 }}", "division by zero", ("t", 2, 1)),
        ("{{ d.items }}", "can't print a function", ("t", 1, 1)),
        ("{{ {}['x'] and n }}", "'dict object' has no attribute 'x'", ("t", 1, 1)),
        ("{{ l | random }}", "No filter named 'random'.", ("t", 1, 8)),
        ("{{ [[1]] | sum(start=[]) }}", "sum adds numbers", ("t", 1, 1)),
    ],
)
def test_an_error_has_its_place(source, message, place):
    templates = {"bad": "\n {{ nope }}", "syntax": "a\n{% if %}"}
    with pytest.raises(TemplateError) as caught:
        render("jinja", source, CONTEXT, templates=templates)
    error = caught.value
    assert (error.message, (error.name, error.line, error.column)) == (message, place)


@pytest.mark.parametrize(("filters", "kind"), [("upper | sort | batch(2) | list", "list"), ("length", "int")])
def test_a_filter_block_that_is_no_text_is_an_error_with_its_place(filters, kind):
    with pytest.raises(TemplateError, match=f"^t:2:.* this block comes to a {kind}, not to text"):
        render("jinja", "\n{% filter " + filters + " %}abc{% endfilter %}", {})


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ("{{ 'a' | uper }}", "did you mean upper?"),
        ("{{ d | subelements('x') }}", "the filters are those of Jinja2, and few of Ansible"),
        ("{{ d | union(d) }}", "(a + b) | unique | list"),
        ("{% if n %}{{ d | sha256 }}{% endif %}", "write hash('sha256')"),
        ("{{ d | toYaml }}", "did you mean to_nice_yaml?"),
        ("{% if n is defind %}{% endif %}", "did you mean defined?"),
        ("{% if n is succeeded %}{% endif %}", "the tests are those of Jinja2, without those of Ansible"),
    ],
)
def test_an_unknown_filter_or_test_is_found_before_a_rendering_and_says_what_to_write(source, hint):
    with pytest.raises(TemplateError, match=r"No (filter|test) named") as caught:
        template_engine("jinja").compile(source, name="t", delimiters=None, loader=lambda _: None)
    assert hint in (caught.value.hint or "")


def test_a_template_may_ask_whether_there_is_a_filter():
    source = "{% if 'ipaddr' is filter %}{{ n | ipaddr }}{% else %}no{% endif %}"
    assert render("jinja", source, CONTEXT) == "no"


def test_a_misspelt_key_is_suggested_from_the_map_that_lacks_it():
    info = {"hostname": "a", "platform": "debian"}
    with pytest.raises(TemplateError) as caught:
        render("jinja", "{{ Facts.host.info.hostnam }}", {"Facts": {"host": {"info": info}}})
    assert caught.value.hint == "did you mean hostname?"


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ("{{ ansible_os_family }}", "did you mean Facts.host.info.platformFamily?"),
        ("{{ Facts.fqdn }}", "did you mean Facts.host.info.fqdn?"),
        ("{{ 'x'.format(1) }}", "write '%s:%d' % (host, port)"),
        ("{{ grains['fqdn'] }}", "the facts are in Facts"),
        ("{{ Facts.host.info.ansible_domain }}", "did you mean Facts.host.info.domain?"),
        ("{{ groups['web'] }}", "a manifest knows only its own host"),
        ("{{ item.name }}", '{item: "{{ item }}"}'),
    ],
)
def test_a_variable_of_ansible_is_answered_with_what_there_is_here(source, hint):
    with pytest.raises(TemplateError) as caught:
        render("jinja", source, {"Facts": {"host": {"info": {}}}})
    assert hint in (caught.value.hint or "")


def test_a_name_that_is_nearly_known_is_suggested():
    with pytest.raises(TemplateError) as caught:
        render("jinja", "{{ hostnam }}", {"hostname": "a"})
    assert caught.value.hint == "did you mean hostname?"


def test_a_key_that_is_written_without_its_map_is_suggested_with_it():
    with pytest.raises(TemplateError) as caught:
        render("jinja", "{{ port }}", {"portal": {}, "data": {"port": 80}})
    assert caught.value.hint == "did you mean data.port?"


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__ }}",
        "{{ s['__class__'] }}",
        "{{ s | attr('__class__') }}",
        "{{ l.append(3) }}",
        "{{ d.pop('a') }}",
        "{{ d.update({}) }}",
        "{{ n.real }}",
        "{{ self.__init__ }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ namespace.mro() }}",
        "{{ f.__globals__ }}",
        "{{ f.__code__ }}",
        "{{ '{0.__class__}'.format(s) }}",
        "{{ '%s'.format_map(d) }}",
        "{{ lipsum.__globals__ }}",
        "{{ joiner.__init__ }}",
        "{{ (l | map(attribute='__class__') | list)[0] }}",
        "{{ range.__self__ }}",
    ],
)
def test_there_is_no_way_into_python(source):
    context = copy.deepcopy(CONTEXT)
    with pytest.raises(TemplateError):
        render("jinja", source, context, {"f": lambda: 1})
    assert context == CONTEXT


@pytest.mark.parametrize("left", ["{%", "{#"])
def test_a_delimiter_that_means_something_else_in_jinja_is_an_error_of_the_template(left):
    with pytest.raises(TemplateError, match=f"^t:1:1: {left} can't begin an expression") as caught:
        render("jinja", "x", delimiters=(left, "%}"))
    assert "<<" in caught.value.hint
