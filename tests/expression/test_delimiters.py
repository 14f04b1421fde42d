"""Where expressions begin and end in a text."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactor.language.errors import ExpressionError
from reactor.language.expression import parse_template
from reactor.language.expression.template import pieces

SPLITS = {
    "plain text": ("no expression {here} $HOME", []),
    "braces": ("a {{ b }} c", [" b "]),
    "dollar": ("a ${ b } c", [" b "]),
    "both, in their order": ("{{a}}${b}{{c}}", ["a", "b", "c"]),
    "a literal dollar before braces": ("${{ x }}", [" x "]),
    "two dollars": ("$${ x }", [" x "]),
    "closing braces in double quotes": ('{{ "}}" }}', [' "}}" ']),
    "closing braces in single quotes": ("{{ '}}' }}", [" '}}' "]),
    "closing braces in backticks": ("{{ `}}` }}", [" `}}` "]),
    "an escaped quote does not end the quotes": (r"{{ 'it\'s }}' }}", [r" 'it\'s }}' "]),
    "a backslash in backticks is no escape": (r"{{ `\` }}", [r" `\` "]),
    "a predicate in dollar braces": ("${ filter(l, {# > 1}) }", [" filter(l, {# > 1}) "]),
    "a predicate closes double braces early": ("{{ map(l, {#}}) }}", [" map(l, {#"]),
    "a closing brace in quotes does not count": ("${ '}' }", [" '}' "]),
    "an opener without an end is text": ("{{ a ${ b }", [" b "]),
    "a dollar opener without an end is text": ("${ a {{ b }}", [" b "]),
    "an unclosed quote leaves the opener open": ("{{ 'a }} {{ b }}", [" b "]),
    "quotes outside expressions mean nothing": ("it's {{ a }} isn't", [" a "]),
    "three braces": ("{{{ a }}}", ["{ a "]),
    "newlines": ("{{\n a\n}}", ["\n a\n"]),
}


@pytest.mark.parametrize(("text", "expected"), SPLITS.values(), ids=SPLITS)
def test_a_text_is_split_at_its_expressions(text, expected):
    assert [text[piece.inner : piece.close] for piece in pieces(text)] == expected


def test_a_text_without_an_expression_is_no_template():
    assert parse_template("plain") is None
    assert parse_template("{{ never closed") is None
    assert parse_template("") is None


def test_openers_without_an_end_are_no_burden():
    start = time.process_time()
    assert parse_template("{{ ${ " * 200_000) is None
    assert parse_template("{{ ${ " * 200_000 + "x") is None
    with pytest.raises(ExpressionError, match="openers without an end"):
        parse_template("{{ " * 200_000 + "`}}")
    assert time.process_time() - start < 5


@given(st.text(alphabet="{}$\"'`\\ ab\n", max_size=60))
def test_pieces_are_in_order_within_their_delimiters(text):
    end = 0
    for piece in pieces(text):
        assert end <= piece.start < piece.inner <= piece.close < piece.end <= len(text)
        assert (text[piece.start : piece.inner], text[piece.close : piece.end]) in (("{{", "}}"), ("${", "}"))
        end = piece.end
