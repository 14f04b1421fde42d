"""Where in the file an error of an expression is reported, however YAML wrote the value."""

from __future__ import annotations

import pytest

from reactor.manifest.evaluation import offset_in_source
from reactor.manifest.source import Source

VALUE = "a {{ bad }}"
BAD = VALUE.index("bad")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x: a {{ bad }}\n", "bad"),
        ("x: 'a {{ bad }}' # bad\n", "bad"),
        ("bad: a {{ bad }}\n", "bad }}"),
        ('x: "a \\x7b{ bad }}"\n', None),
        ('x: "a {{ b\\x61d }}"\n', None),
        ('x: "a {{\\x20bad }}"\n', "bad"),
        ("x: *alias\n", None),
    ],
)
def test_it_is_the_first_letter_of_the_error_or_the_beginning_of_the_value(text, found):
    at = text.index(":") + 2
    expected = at if found is None else text.index(found)
    assert offset_in_source(Source("m.yaml", text), at, VALUE, BAD, BAD + 3) == expected


@pytest.mark.parametrize(("start", "end", "found"), [(1, 1, 5), (1, 2, 5), (0, 0, 4), (2, 1, 6)])
def test_an_error_without_characters_is_at_the_one_where_it_begins(start, end, found):
    assert offset_in_source(Source("site.yaml", 'a: "xyz"'), 3, "xyz", start, end) == found
