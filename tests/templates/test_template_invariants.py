"""What is true of all texts and values, whatever they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from template_worlds import render

from reactor.language.templates import ENGINES, TemplateError, template_engine
from reactor.language.templates.literals import quote, unquote

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="{[\r"))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**62), 2**62)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)
PIECES = st.lists(
    st.sampled_from([
        "{{", "}}", "{{-", "-}}", "[[", "]]", "[[-", "-]]", "{%", "%}", "if", "else", "end", "range", "with", "define", "template",
        "block", "yield", "try", ".", ".x", "$v", "|", "(", ")", ":=", "=", ",", "x", '"s"', "1", "!", "-", "?", ":", "[", "]", "/*", "*/",
    ]),
    max_size=12,
)  # fmt: skip


@given(TEXT)
@pytest.mark.parametrize("kind", ENGINES)
def test_text_without_actions_is_its_own_rendering(kind, text):
    assert render(kind, f"x{text}", {}) == f"x{text}"


@given(TEXT)
@pytest.mark.parametrize("kind", ENGINES)
def test_a_text_of_the_data_is_printed_as_it_is(kind, text):
    source = {"jinja": "{{ t }}", "go": "{{ .t }}", "jet": "[[ t ]]"}[kind]
    assert render(kind, source, {"t": text}) == text


@given(TEXT)
def test_a_quoted_text_means_itself(text):
    assert unquote(quote(text)) == text


@given(VALUES)
def test_what_json_writes_json_reads(value):
    source = "{{ eq (toRawJson .v) (toRawJson (fromJson (toRawJson .v))) }}"
    assert render("go", source, {"v": value}) == "true"


@given(PIECES)
@pytest.mark.parametrize("kind", ENGINES)
def test_any_jumble_renders_or_is_an_error_with_a_place(kind, pieces):
    source = " ".join(pieces)
    try:
        compiled = template_engine(kind).compile(source, name="t", delimiters=None, loader={}.get)
        outcome = compiled.render({"x": {"x": 1}}, {})
    except TemplateError as error:
        outcome = error
    if isinstance(outcome, TemplateError):
        assert (outcome.name, outcome.line) == ("t", 1)
        assert outcome.column >= 1
        assert outcome.message
