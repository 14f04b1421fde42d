"""What all three engines have in common."""

import subprocess
import sys

import pytest
from template_worlds import render

from reactor.language.errors import FunctionError
from reactor.language.templates import ENGINES, Fault, TemplateError, template_engine
from reactor.language.templates.missing_values import MissingValues

INCLUDING = {
    "jinja": "{% include 'a' %}{% if more %}{% include 'b' %}{% endif %}",
    "go": '{{ template "a" }}{{ if .more }}{{ template "b" }}{{ end }}',
    "jet": '[[ include "a" ]][[ if more ]][[ include "b" ]][[ end ]]',
}
CALLING = {"jinja": "x\n {{ f(n) }}", "go": "x\n {{ f .n }}", "jet": "x\n [[ f(n) ]]"}


def test_an_engine_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(ValueError, match="there is no template engine 'erb': take one of jinja, go, jet"):
        template_engine("erb")


@pytest.mark.parametrize("kind", ENGINES)
def test_the_loader_sees_which_templates_a_rendering_really_used(kind):
    asked = []

    def loader(name):
        asked.append(name)
        return f"<{name}>"

    compiled = template_engine(kind).compile(INCLUDING[kind], name="t", delimiters=None, loader=loader)
    assert asked == []
    assert (compiled.render({"more": False}, {}), asked) == ("<a>", ["a"])
    asked.clear()
    assert (compiled.render({"more": True}, {}), asked) == ("<a><b>", ["a", "b"])


@pytest.mark.parametrize("kind", ENGINES)
def test_a_changed_partial_is_seen_without_compiling_again(kind):
    partials = {"a": "1"}
    compiled = template_engine(kind).compile(INCLUDING[kind], name="t", delimiters=None, loader=partials.get)
    assert compiled.render({"more": False}, {}) == "1"
    partials["a"] = "2"
    assert compiled.render({"more": False}, {}) == "2"


@pytest.mark.parametrize("kind", ENGINES)
def test_a_function_of_the_caller_is_called_with_values(kind):
    assert render(kind, CALLING[kind], {"n": 4}, {"f": lambda value: value * 2}) == "x\n 8"


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("error", [FunctionError("not so", "but so"), Fault("not so", "but so")])
def test_what_a_function_cannot_do_is_an_error_of_the_template_that_calls_it(kind, error):
    def fail(_):
        raise error

    with pytest.raises(TemplateError) as caught:
        render(kind, CALLING[kind], {"n": 4}, {"f": fail})
    assert caught.value.message.endswith("not so")
    assert (caught.value.name, caught.value.line, caught.value.hint) == ("t", 2, "but so")


@pytest.mark.parametrize("kind", ENGINES)
def test_an_error_of_a_template_that_a_function_renders_keeps_its_own_place(kind):
    def fail(_):
        raise TemplateError("inside", "partial", 7, 3)

    with pytest.raises(TemplateError) as caught:
        render(kind, CALLING[kind], {"n": 4}, {"f": fail})
    assert str(caught.value) == "partial:7:3: inside"


@pytest.mark.parametrize("kind", ENGINES)
def test_other_delimiters_leave_the_usual_ones_alone(kind):
    value = {"jinja": "n", "go": ".n", "jet": "n"}[kind]
    usual = "[[ n ]]" if kind == "jet" else "{{ n }}"
    assert render(kind, f"<< {value} >> {usual}", {"n": 1}, delimiters=("<<", ">>")) == f"1 {usual}"


@pytest.mark.parametrize("kind", ENGINES)
def test_text_passes_as_it_is(kind):
    text = "Zeile\r\n\ttab \u00e9\u4e16\U0001f600 $x % {a} #!/bin/sh \\n\r\n"
    assert render(kind, text) == text


@pytest.mark.parametrize("kind", ENGINES)
def test_an_object_that_is_no_data_is_not_looked_into(kind):
    source = {"jinja": "{{ o.secret }}", "go": "{{ .o.secret }}", "jet": "[[ o.secret ]]"}[kind]

    class Thing:
        secret = "told"

    with pytest.raises(TemplateError):
        render(kind, source, {"o": Thing()})


@pytest.mark.parametrize(("kind", "source"), [("jinja", "{% if %}"), ("go", "{{ if }}"), ("jet", "[[ if ]]")])
def test_what_is_wrong_with_a_source_can_be_reported_where_data_are_secret(kind, source):
    with pytest.raises(TemplateError) as caught:
        template_engine(kind).compile(source, name="t", delimiters=None, loader={}.get)
    assert caught.value.without_words().message == caught.value.message


def test_a_name_that_is_not_there_can_be_reported_where_data_are_secret():
    with pytest.raises(TemplateError) as caught:
        render("jinja", "{{ nope }}", {"password": "hunter2"})
    error = caught.value.without_words()
    assert (error.message, error.code) == ("'nope' is undefined", "R0307")


@pytest.mark.parametrize(
    ("kind", "source", "message"),
    [
        ("jinja", "\n{{ d.hots }}", "'dict object' has no attribute 'hots'"),
        ("jinja", "\n{{ d['hots'] }}", "'dict object' has no attribute 'hots'"),
        ("go", "\n{{ .d.hots }}", "there is no key 'hots'"),
        ("jet", "\n[[ d.hots ]]", "there is no key 'hots'"),
        ("jet", "\n[[ d.hots.x ]]", "there is no field or method 'hots'"),
    ],
)
def test_a_key_that_the_template_names_can_be_reported_where_data_are_secret(kind, source, message):
    with pytest.raises(TemplateError) as caught:
        template_engine(kind).compile(source, name="t", delimiters=None, loader={}.get).render(
            {"d": {"hosts": "hunter2"}}, {}, MissingValues(strict=True)
        )
    assert caught.value.without_words(source).message == message
    assert "hosts" not in str(caught.value.without_words(source).hint)
    assert "hots" not in caught.value.without_words("\n").message


@pytest.mark.parametrize(
    "source", ["{{ {}[password] }}", "{{ namespace()[password] }}", "{{ password + 1 }}"]
)
def test_a_failure_whose_words_may_come_from_data_says_how_to_see_them(source):
    with pytest.raises(TemplateError) as caught:
        render("jinja", source, {"password": "hunter2"})
    error = caught.value.without_words(source)
    assert "hunter2" not in f"{error.message} {error.hint}"
    assert error.hint == "to see why, use a copy of the manifest with invented values in place of the secrets"


def test_templates_cost_nothing_until_one_is_compiled():
    code = "import sys, reactor.language.templates; sys.exit('jinja2' in sys.modules or 're2' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
