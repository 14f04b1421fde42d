"""Comments in a YAML text, and the keys that they are about."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from reactor.data.annotations import Annotation, find_annotations
from reactor.manifest.nodes import Mapping
from reactor.manifest.source import Problems, Source
from reactor.manifest.yaml_tree import parse


def keys_of(node, path=()):
    """The offset of every key of maps within maps."""
    for key, value in node.items():
        yield (*path, key), node.key_at(key)
        if isinstance(value, Mapping):
            yield from keys_of(value, (*path, key))


def found(text):
    """Each annotated key, dotted, with its annotations as they were written."""
    problems = Problems(Source("site.yaml", text))
    root = parse(problems)
    assert not problems
    by_key = find_annotations(text, dict(keys_of(root["data"]))).by_key
    for each in (annotation for several in by_key.values() for annotation in several):
        comment = text[each.at :].partition("\n")[0]
        assert comment.startswith("#")
        assert f"@{each.name}" in comment
    return {
        ".".join(path): [f"{each.name} {each.argument}".rstrip() for each in several]
        for path, several in by_key.items()
    }


def data(*lines):
    return "\n".join(
        ("# @require", "data: # @require", *(f"  {line}" for line in lines), "# @end", "other: 1 # @x", "")
    )


PLACES = [
    # On lines before the key.
    (data("# @require", "a: 1"), {"a": ["require"]}),
    (data("# @require", "# @validate isIP(value)", "a: 1"), {"a": ["require", "validate isIP(value)"]}),
    (data("# who runs it", "#", "#   @require", "", "a: 1"), {"a": ["require"]}),
    (data("#@require", "a: 1"), {"a": ["require"]}),
    (data("a: 1", "# @require", "b: 1"), {"b": ["require"]}),
    (data("a:", "  b: 1", "  # @require", "c: 1"), {"c": ["require"]}),
    (data("a:", "  # @require", "  b: 1"), {"a.b": ["require"]}),
    (
        data("# @require", "a:", "  # @secret", "  b:", "    # @x", "    c: 1"),
        {"a": ["require"], "a.b": ["secret"], "a.b.c": ["x"]},
    ),
    # On the line of the key.
    (data("a: 1 # @require"), {"a": ["require"]}),
    (data("# @secret", "a: 1 # @require"), {"a": ["secret", "require"]}),
    (data("a: # @require"), {"a": ["require"]}),
    (data("a: # @require", "b: 1"), {"a": ["require"]}),
    (data("a: # @require", "  b: 1 # @secret"), {"a": ["require"], "a.b": ["secret"]}),
    (data("a: # @require", "  - 1"), {"a": ["require"]}),
    (data("a: !!str 5 # @require"), {"a": ["require"]}),
    (data("a: &x 5 # @require", "b: *x # @secret"), {"a": ["require"], "b": ["secret"]}),
    (data("'a b': 1 # @require"), {"a b": ["require"]}),
    (data("a.b: 1 # @require"), {"a.b": ["require"]}),
    # After values of several lines.
    (data("a: 'one", "  two' # @require"), {"a": ["require"]}),
    (data("a: one", "  two # @require"), {"a": ["require"]}),
    (data("a:", "  'one' # @require"), {"a": ["require"]}),
    (data("a: | # @require", "  one", "b: 1"), {"a": ["require"]}),
    (data("a: >2- # @secret", "  one", "  two", "b: 1 # @x"), {"a": ["secret"], "b": ["x"]}),
    (data("a: [1,", "  2] # @require"), {"a": ["require"]}),
    (data("a: {b: 1,", "  c: 2} # @require"), {"a": ["require"]}),
    # In flow maps.
    (data("a: {b: 1} # @require"), {"a": ["require"]}),
    (
        data("a: {", "  b: 1, # @require", "  c: 2 # @secret", "  } # @x"),
        {"a.b": ["require"], "a.c": ["secret"], "a": ["x"]},
    ),
    (data("a: {", "  # @require", "  b: 1, c: 2", "  }"), {"a.b": ["require"]}),
    (data("a: {b: {c: 1 # @require", "  }}"), {"a.b.c": ["require"]}),
    # What looks like a comment and is none.
    (data('a: "# @require"', "b: '# @x'", "c: 1#@y"), {}),
    (data("a: |", "  # @require", "  # @x", "b: 1"), {}),
    (data("a: >", "  one", "", "  # @require", "b: 1"), {}),
    (data('a: "one', "  # @require", '  two"'), {}),
    (data('a: {b: "}# @x", c: 1} # @require'), {"a": ["require"]}),
    # In lists, and where there is no key.
    (data("a:", "  - 1 # @require", "  # @x", "  - 2", "  - b: 1 # @y", "    # @z", "    c: 1"), {}),
    (data("a: [", "  1, # @require", "  {b: 1} # @x", "  ]"), {}),
    (data("a:", "- b: 1", "# @require", "c: 1"), {"c": ["require"]}),
    (data("a: 1", "# @require"), {}),
    # An annotation comes first in its comment.
    (data("a: 1 # see @require", "b: 1 # mail@example.org"), {}),
]


@pytest.mark.parametrize(
    ("text", "wanted"), PLACES, ids=[text.partition("\n")[2].partition("\n")[2] for text, _ in PLACES]
)
def test_each_annotation_finds_its_key(text, wanted):
    assert found(text) == wanted


@pytest.mark.parametrize("text", [text for text, _ in PLACES])
def test_the_ends_of_lines_do_not_matter(text):
    assert found(text.replace("\n", "\r\n")) == found(text)


def test_an_alias_takes_the_annotations_inside_along():
    text = data("a: &base", "  b: 1 # @secret", "c: *base", "d:", "  <<: *base")
    assert found(text) == {"a.b": ["secret"], "c.b": ["secret"], "d.b": ["secret"]}


def test_a_flow_document_has_annotations_too():
    assert found("{data: {\n  # @require\n  a: 1, b: 2 # @secret\n}}") == {"a": ["require"], "b": ["secret"]}


def test_data_may_come_last_in_the_text():
    assert found("other: 1\ndata:\n  a: 1\n  # @require\n  b: | # @secret") == {"b": ["require", "secret"]}


def test_characters_beyond_ascii_move_nothing():
    assert found("data:\n  ä: '🙂 # @x' # @require\n  b: 1 # @secret\n") == {
        "ä": ["require"],
        "b": ["secret"],
    }


def test_a_text_that_is_no_yaml_has_the_annotations_up_to_there():
    text = "data:\n  a: 1 # @require\n  b: 2 # @x\n  c: @\n"
    assert list(find_annotations(text, {("a",): 8, ("b",): 26}).by_key) == [("a",), ("b",)]


TEXTS = st.text(st.sampled_from("ab#@:'\"\n {}[]|>-&*!%"), max_size=12)
VALUES = st.recursive(
    TEXTS | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4), st.data())
def test_whatever_the_values_are_a_comment_before_a_key_is_about_that_key(values, draw):
    text = yaml.safe_dump({"data": values}, width=20, sort_keys=False)
    keys = dict(keys_of(parse(Problems(Source("site.yaml", text)))["data"]))
    simple = [path for path, at in keys.items() if not text[:at].rpartition("\n")[2].strip(" ")]
    path = draw.draw(st.sampled_from(simple or [None]))
    if path is None:
        return
    line = text.rindex("\n", 0, keys[path]) + 1
    marked = f"{text[:line]}# @here it is\n{text[line:]}"
    moved = dict(keys_of(parse(Problems(Source("site.yaml", marked)))["data"]))
    assert find_annotations(marked, moved).by_key == {path: [Annotation("here", "it is", line)]}


def test_nothing_is_read_without_need():
    assert find_annotations("data: {a: 1} # no annotation", {("a",): 7}) == ({}, [])
    assert find_annotations("data: # @require", {}) == ({}, [])
