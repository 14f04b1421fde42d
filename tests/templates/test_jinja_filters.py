"""The filters that Jinja2 lacks, with the results of Ansible's."""

import base64
import random
from types import MappingProxyType

import pytest
import yaml
from template_worlds import render

from reactor.language.templates import TemplateError
from reactor.language.templates.budget import Limits, limited

FEW = Limits(characters=300_000)
"""A limit that is reached in a moment; that of a run takes seconds."""
CONTEXT = {
    "d": {"b": [1, {"x": "yes"}], "a": "it's <é>", "n": None},
    "s": "web01.example.com",
    "n": 3,
    "e": {},
}


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("{{ s | b64encode }} {{ s | b64encode | b64decode }} {{ n | b64encode }}", "d2ViMDEuZXhhbXBsZS5jb20= web01.example.com Mw=="),
        ("{{ d | to_json }}", '{"b": [1, {"x": "yes"}], "a": "it\'s <\\u00e9>", "n": null}'),
        ("{{ d.b | to_nice_json(indent=2) }}", '[\n  1,\n  {\n    "x": "yes"\n  }\n]'),
        ("{{ {'b': 1, 'a': 2} | to_nice_json }}", '{\n    "a": 2,\n    "b": 1\n}'),
        ("{{ d | to_nice_yaml(indent=2) }}", "a: it's <é>\nb:\n- 1\n- x: 'yes'\nn: null\n"),
        ("{{ d.b | to_yaml }}", "- 1\n- {x: 'yes'}\n"),
        ("{{ {'b': 1, 'a': ['1e3', '0o17']} | to_nice_yaml(sort_keys=false) }}", "b: 1\na:\n- '1e3'\n- '0o17'\n"),
        ("{{ ('{\"a\": [1]}' | from_json).a[0] }}", "1"),
        ("{{ {'a': 1, 'm': {'x': 1}} | combine({'b': 2, 'm': {'y': 2}}) | to_json }}", '{"a": 1, "m": {"y": 2}, "b": 2}'),
        ("{{ {'m': {'x': 1}} | combine({'m': {'y': 2}}, {'m': {'x': 3}}, recursive=true) | to_json }}", '{"m": {"x": 3, "y": 2}}'),
        (r"{{ s | regex_replace('^(\\w+?)(\\d+)[.].*', '\\2-\\1') }}", "01-web"),
        (r"{{ s | regex_replace('(?P<host>[a-z]+)\\d+', '\\g<host>') }}", "web.example.com"),
        ("{{ s | regex_replace('WEB', 'db', ignorecase=true) }} {{ s | regex_replace('[.]') }}", "db01.example.com web01examplecom"),
        (r"{{ s | regex_search('\\d+') }} {{ s | regex_search('([a-z]+)(\\d+)', '\\2', '\\1') }}", "01 ['01', 'web']"),
        ("{{ 'none' if s | regex_search('^db') is none else s }}", "none"),
        ("{{ 'test' | hash('sha256') | truncate(8, true, '') }} {{ 'test' | hash }}", "9f86d081 a94a8fe5ccb19ba61c4c0873d391e987982fbbd3"),
        ("{{ [3, 1, 3] | unique | join }}", "31"),
    ],
)  # fmt: skip
def test_it_gives_what_ansible_gives(source, output):
    assert render("jinja", source, CONTEXT) == output


@pytest.mark.parametrize(
    ("source", "message", "hint"),
    [
        ("{{ nope | to_json }}", "'nope' is undefined", None),
        ("{{ {'a': nope} | to_yaml }}", "'nope' is undefined", None),
        ("{{ nope | combine(d) }}", "'nope' is undefined", None),
        ("{{ d | combine([1]) }}", "combine takes maps", "joined to another with +"),
        ("{{ d | b64encode }}", "this filter takes a text", "| to_json"),
        ("{{ 'x' | b64decode }}", "this is no base64 of a text", None),
        ("{{ 'x' | hash('crc') }}", "there is no hash 'crc'", "sha256"),
        ("{{ d | to_json(indent=99999999) }}", "indent is a number from 1 to 9", None),
        (r"{{ s | regex_replace('a', '\\1') }}", "the pattern has no group 1", "(...)"),
        ("{{ s | regex_replace('(?=a)', '') }}", "invalid regular expression", "RE2"),
        ("{{ s | regex_search('(') }}", "invalid regular expression", "RE2"),
        ("{{ '{' | from_json }}", "invalid JSON", None),
        ("{{ d.items | to_json }}", "is not data", None),
        ("{{ ('x' * 100000) | regex_replace('', 'yyyyy') }}", "the template makes more than", None),
    ],
)  # fmt: skip
def test_what_it_cannot_take_is_an_error_with_its_place(source, message, hint):
    with pytest.raises(TemplateError) as caught, limited(FEW):
        render("jinja", "\n" + source, CONTEXT)
    assert message in caught.value.message
    assert caught.value.line == 2
    assert hint is None or hint in caught.value.hint


def test_facts_which_are_read_when_they_are_used_are_data_too():
    lazy = MappingProxyType({"a": MappingProxyType({"b": 1})})
    assert (
        render("jinja", "{{ f | to_json }} {{ f | tojson }}", {"f": lazy})
        == '{"a": {"b": 1}} {"a": {"b": 1}}'
    )


def test_a_map_that_contains_itself_is_refused():
    source = "{% set l = [1] %}{% set ns = namespace(x=l) %}{% for _ in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x | %s }}"
    for name in ("to_nice_yaml", "to_json"):
        with pytest.raises(TemplateError, match="the template makes more than"), limited(FEW):
            render("jinja", source.replace("%s", name), CONTEXT)


def test_what_is_written_is_read_back_as_the_same_value():
    letters, choose = "aeo01.:-'\"\\ \n\t#{}[],&*!|>%@`é~=", random.Random(7)
    texts = ["".join(choose.choices(letters, k=choose.randrange(6))) for _ in range(300)]
    value = {"texts": texts, "keys": dict.fromkeys(texts, 1), "n": [1, 2.5, True, None, {}, []]}
    written = render("jinja", "{{ v | to_nice_yaml }}", {"v": value})
    assert yaml.safe_load(written) == value
    assert render("jinja", "{{ v | to_json | from_json == v }}", {"v": value}) == "True"
    for text in texts[:50]:
        encoded = render("jinja", "{{ t | b64encode }}", {"t": text})
        assert base64.b64decode(encoded).decode() == text
