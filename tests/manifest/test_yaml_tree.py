import itertools
import json
import math
import time

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from reactor.documents import parse_values
from reactor.manifest import yaml_tree
from reactor.manifest.scalars import plain_value
from reactor.manifest.source import Problems, Source
from reactor.manifest.yaml_tree import LOADER, MAX_DEPTH, parse
from reactor.resource.diagnostic import ManifestError


def problems_of(text, loader=LOADER):
    problems = Problems(Source("site.yaml", text))
    parse(problems, loader)
    return problems.sorted()


def test_libyaml_is_used_where_it_is_there():
    assert LOADER is yaml.CSafeLoader


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((word, word) for word in ("yes", "no", "on", "off", "y", "n", "Yes", "NO", "tRUE", "nULL", "None")),
        *((word, True) for word in ("true", "True", "TRUE")),
        *((word, False) for word in ("false", "False", "FALSE")),
        *((word, None) for word in ("", "~", "null", "Null", "NULL")),
        ("0", 0),
        ("42", 42),
        ("-7", -7),
        ("+7", 7),
        ("0644", 644),
        ("0888", 888),
        ("0o644", 0o644),
        ("0x1F", 31),
        ("1.10", 1.1),
        ("1.", 1.0),
        (".5", 0.5),
        ("-1.5e3", -1500.0),
        ("1e3", 1000.0),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("1_000", "1_000"),
        ("0b101", "0b101"),
        ("0o8", "0o8"),
        ("-0x1F", "-0x1F"),
        ("12:30:45", "12:30:45"),
        ("2024-01-01", "2024-01-01"),
        ("1.2.3", "1.2.3"),
        (".", "."),
        ("+", "+"),
        ("1e", "1e"),
        ("٣", "٣"),
        ('"0644"', "0644"),
        ("'true'", "true"),
        ('""', ""),
        ("<<", "<<"),
        ("!!str 0644", "0644"),
        ("!!int '12'", 12),
        ("!!float 1", 1.0),
        ("!!float -" + "9" * 400, -math.inf),
        ("!!null ''", None),
        ("|\n  12\n", "12\n"),
    ],
)
def test_scalars_follow_the_core_schema_of_yaml_1_2(tree, text, value):
    found = tree(f"- {text}\n")[0]
    assert found == value
    assert type(found) is type(value)


def test_nan_is_a_number(tree):
    assert math.isnan(tree("- .nan")[0])


@pytest.mark.parametrize("text", ["0644", "1.10", "true", "~", "0o17", "1e3", ".inf"])
def test_a_scalar_that_is_no_text_keeps_how_it_was_written(tree, text):
    mapping = tree(f"key: {text}\nlist: [{text}]\nanchored: &a {text}\nalias: *a\n")
    assert mapping.raw("key") == text
    assert mapping["list"].raw(0) == text
    assert mapping.raw("alias") == text


PAIR = r"\ud83D\uDE00"


@pytest.mark.parametrize("loader", [LOADER, yaml.SafeLoader])
def test_in_json_two_escapes_may_be_one_character(loader):
    text = r'{"k PAIR": ["a PAIR b", "\\ud83d\\ude00", "PAIRPAIR \u00e9"], "none": 1}'.replace("PAIR", PAIR)
    problems = Problems(Source("site.json", text))
    root = parse(problems, loader)
    assert not problems
    assert root == json.loads(text)
    assert text[root.key_at("none") :].startswith('"none"'), "what follows is where it was"


@pytest.mark.parametrize("text", [f"k: '{PAIR}'", f"{{k: '{PAIR}', l: [{PAIR}]}}", f"k: |\n  {{{PAIR}}}"])
def test_elsewhere_they_are_text(text):
    problems = Problems(Source("site.yaml", text))
    assert str(parse(problems)).count(PAIR.replace("\\", "\\\\")) == text.count(PAIR)


@pytest.mark.parametrize("half", [r"\ud83d", r"\uDE00", r"\ude00\ud83d"])
def test_half_a_character_is_reported_where_it_is(half):
    text = f'{{"a": "{PAIR}", "b": "x{half}"}}'
    [found] = problems_of(text)
    assert found.place.column == text.rindex(half) + 3
    assert "no character" in found.message
    with pytest.raises(ManifestError) as caught:
        parse_values(text, "facts.json")
    assert caught.value.diagnostics == [found._replace(place=found.place._replace(file="facts.json"))]


@pytest.mark.parametrize("loader", [LOADER, yaml.SafeLoader])
@pytest.mark.parametrize("character", ["\x85", "\u2028", "\u2029"])
def test_only_a_line_feed_ends_a_line(loader, character):
    text = f"a: x{character}y # c{character}z: 1\nb: 'x{character} y'\nc: |\n  x{character}  y\nd{character}: [\"{character}\"]"
    problems = Problems(Source("site.yaml", text))
    values = {
        "a": f"x{character}y",
        "b": f"x{character} y",
        "c": f"x{character}  y\n",
        f"d{character}": [character],
    }
    assert parse(problems, loader) == values
    assert problems.sorted() == []


def test_places_count_characters_that_ended_a_line_once():
    [found] = problems_of("a: x\u2028\x85y\nb: ['\u2029', }")
    assert (found.place.line, found.place.column) == (2, 10)


def test_a_text_needs_no_second_copy(tree):
    assert tree("key: yes").raw("key") is None


def test_keys_are_always_text_as_written(tree):
    assert list(tree("1.10: a\ntrue: b\n~: c\n0644: d\n'quoted': e\n")) == [
        "1.10",
        "true",
        "~",
        "0644",
        "quoted",
    ]


def test_positions_are_those_of_keys_and_values(tree):
    text = "first: 1\nsecond:\n  - a\n  - {b: c}\n"
    mapping = tree(text)
    assert text[mapping.key_at("second") :].startswith("second")
    assert text[mapping.value_at("first") :].startswith("1")
    assert text[mapping["second"].value_at(1) :].startswith("{b")
    assert text[mapping["second"][1].value_at("b") :].startswith("c")
    with pytest.raises(KeyError):
        mapping.key_at("third")


def test_positions_count_characters_also_after_wide_ones_and_crlf():
    [found] = problems_of("ä: '€𝄞'\r\n𝄞: 1\r\n𝄞: 2\r\n")
    assert (found.place.line, found.place.column) == (3, 1)


def test_an_alias_gives_the_value_of_its_anchor(tree):
    mapping = tree("a: &x {p: [1]}\nb: *x\nc: &x 2\nd: *x\n")
    assert mapping == {"a": {"p": [1]}, "b": {"p": [1]}, "c": 2, "d": 2}


def test_the_closest_anchor_before_an_alias_counts(tree):
    assert tree("- &x [&x 1]\n- *x\n") == [[1], 1]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: &a {p: 1, q: 2}\nb: {<<: *a, q: 3}", {"p": 1, "q": 3}),
        ("a: &a {p: 1, q: 2}\nb: {q: 3, <<: *a}", {"p": 1, "q": 3}),
        ("b: {<<: {p: 1}, q: 3}", {"p": 1, "q": 3}),
        ("a: &a {p: 1}\nc: &c {p: 2, q: 2}\nb: {<<: [*a, *c]}", {"p": 1, "q": 2}),
        ("a: &a {p: 1}\nb: {<<: [*a, {q: 5}], r: 6}", {"p": 1, "q": 5, "r": 6}),
        ("a: &a {p: 1}\nc: &c {<<: *a, q: 2}\nb: {<<: *c}", {"p": 1, "q": 2}),
        ("b: {'<<': 1}", {"<<": 1}),
    ],
)
def test_merge_keys_add_what_is_not_there_yet(tree, text, value):
    assert tree(text)["b"] == value


def test_merged_values_keep_their_place_and_text(tree):
    text = "a: &a {mode: 0644}\nb: {<<: *a, other: 1}"
    merged = tree(text)["b"]
    assert merged.raw("mode") == "0644"
    assert text[merged.value_at("mode") :].startswith("0644")
    assert text[merged.value_at("other") :].startswith("1}")


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, 1, "duplicate key 'a'"),
        ("1: a\n'1': b\n", 2, 1, "duplicate key '1'"),
        ("a: &a {p: 1}\nb: {<<: *a, <<: *a}\n", 2, 13, "duplicate key '<<'"),
        ("a: {<<: 5}\n", 1, 9, "'<<' must be a map or a list of maps"),
        ("a: {<<: [{p: 1}, 5]}\n", 1, 9, "'<<' must be a map or a list of maps"),
        ("a: *nowhere\n", 1, 4, "no anchor named 'nowhere' comes before this alias"),
        ("a: &a [*a]\n", 1, 8, "the alias stands inside the value it names"),
        ("a: !!python/object:os.system x\n", 1, 4, "unknown tag !!python/object:os.system"),
        ("a: !custom {}\n", 1, 4, "unknown tag !custom"),
        ("a: !!binary aGk=\n", 1, 4, "unknown tag !!binary"),
        ("a: !!set {x}\n", 1, 4, "unknown tag !!set"),
        ("a: !!int abc\n", 1, 4, "'abc' does not fit the tag !!int"),
        ("a: " + "9" * 5000, 1, 4, "the number has more than 1000 digits"),
        ("a: 0x" + "f" * 5000, 1, 4, "the number has more than 1000 digits"),
        ("a: 0o" + "7" * 5000, 1, 4, "the number has more than 1000 digits"),
        ("{a: 1}: b\n", 1, 1, "a key must be a string, not a map or a list"),
        ("a: {{ x }}\n", 1, 4, "a string that starts with '{{' must be quoted"),
        ("a: {{ x }}/b\nc: 1\n", 1, 4, "a string that starts with '{{' must be quoted"),
        ("- a: {{ x }} {{ y }}\n", 1, 6, "a string that starts with '{{' must be quoted"),
        ("a: 1\n---\nb: 2\n", 2, 1, "a second YAML document starts here"),
        ("a: b\x07c", 1, 5, "the character U+0007 is not allowed in YAML"),
        ("a: 1\n\tb: 2\n", 2, 1, "bad YAML: a tab in the indentation"),
        ('a: "\\u12"\n', 1, 7, "bad YAML: an escape in a double-quoted string that lacks digits"),
        ('a: "\\ud83d\\ude00"\n', 1, 7, "bad YAML: an escape in a double-quoted string that is no character"),
        ("a: 'b\n\n", 1, 4, "bad YAML: the quoted string is not closed"),
        ("a: [1,\n 2\n", 1, 4, "bad YAML: the list is not closed"),
        ("a: {b: 1,\n c: 2\n", 1, 4, "bad YAML: the map is not closed"),
        ("a: b: c\n", 1, 5, "bad YAML: a map can't start here"),
        ("a:\n  b: 1\n c: 2\n", 3, 2, "bad YAML: a key is expected here"),
        ("- a\nb: c\n", 2, 1, "bad YAML: a list item is expected here"),
        ("a: {" + "k" * 1100 + ": 1}\n", 1, 5, "bad YAML: a key of 1,100 characters"),
        (f"a: [b, '{'k' * 1100}': 1]\n", 1, 8, "bad YAML: a key of 1,102 characters"),
        ("a: 1\n" + "k" * 1100 + ": 1\n", 2, 1, "bad YAML: a key of 1,100 characters"),
        ("a: {'b\n  c': 1}\n", 1, 5, "bad YAML: a key over several lines"),
        ("a: {'" + "b" * 1018 + "\n  c': 1}\n", 1, 5, "bad YAML: a key over several lines"),
        ("a: {'" + "b" * 1019 + "\n  c': 1}\n", 1, 5, "bad YAML: a key of 1,025 characters"),
        ('a: 1\n"b\nc": 2\n', 2, 1, "bad YAML: a key over several lines"),
        ("ab: 1\nbcd\n: 2\n", 3, 1, "bad YAML: a key without a ':'"),
        ("a: 1\n" + "k" * 1023 + "\n: 2\n", 3, 1, "bad YAML: a key without a ':'"),
        ("a: 1\n" + "k" * 1024 + "\n: 2\n", 2, 1, "bad YAML: a key of 1,025 characters"),
        (f"a: {'k' * 1100}: 1\n", 1, 1104, "bad YAML: a map can't start here"),
        (f"a: [b: {'k' * 1100}: 1]\n", 1, 1108, "bad YAML: the list is not closed"),
        ("a: one\n  two: 1\n", 2, 6, "bad YAML: a map can't start here"),
        ("a: %x\n", 1, 4, "bad YAML: a string can't start with '%' unless it is quoted"),
        ('a: "\\q"\n', 1, 5, "bad YAML: unknown escape in a double-quoted string"),
        ("a: !e!x y\n", 1, 4, "bad YAML: an undefined tag"),
        ("%YAML 3.0\n---\na: 1\n", 1, 1, "bad YAML: this YAML version is not supported"),
    ],
)
def test_bad_yaml_is_a_problem_with_its_place_and_a_hint(text, line, column, message):
    [found] = problems_of(text)
    assert (found.message, found.place.line, found.place.column) == (message, line, column)
    assert found.hint


def test_a_list_of_names_leads_to_a_loop():
    [found] = problems_of("package:\n  - [nginx, redis]: {ensure: present}\n")
    assert "for_each" in found.hint
    [found] = problems_of("package:\n  - {a: b}: {ensure: present}\n")
    assert "for_each" not in found.hint


def test_a_duplicate_key_shows_both_places():
    [found] = problems_of("a: 1\nb: 2\na: 3\n")
    assert [(note, place.line, place.column) for note, place in found.notes] == [("first given here", 1, 1)]


def test_reading_goes_on_after_what_can_be_skipped():
    found = problems_of("a: 1\na: 2\nb: *x\nc: !odd 1\nd: {{ e }}\n")
    assert [each.place.line for each in found] == [2, 3, 4, 5]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "- " * 10_000 + "x",
        "{a: " * 5_000,
        "a0: &a0 [x]\n" + "".join(f"a{n + 1}: &a{n + 1} [*a{n}]\n" for n in range(2 * MAX_DEPTH)),
    ],
)
def test_deep_nesting_is_refused_early(text):
    started = time.process_time()
    [found] = problems_of(text)
    assert "deeper than 64 levels" in found.message
    assert time.process_time() - started < 1


def test_nesting_up_to_the_limit_is_read(tree):
    assert tree("[" * MAX_DEPTH + "]" * MAX_DEPTH)


@pytest.mark.parametrize(("most", "is_read"), [(13, True), (12, False)])
def test_each_value_that_an_alias_stands_for_counts_also_within_other_aliases(monkeypatch, most, is_read):
    monkeypatch.setattr(yaml_tree, "MAX_EXPANDED", most)
    found = problems_of("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b]\n")  # 3 + 3, and 7
    assert [each.message for each in found] == (
        [] if is_read else ["the aliases stand for more than 12 values"]
    )


def test_a_billion_laughs_are_refused_early():
    names = "abcdefghij"
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]\n"]
    lines += [
        f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in itertools.pairwise(names)
    ]
    started = time.process_time()
    [found] = problems_of("".join(lines))
    assert found.message == "the aliases stand for more than 1,000,000 values"
    assert time.process_time() - started < 1


def test_many_small_aliases_are_fine(tree):
    text = "d: &d {p: 1, q: 2, r: 3}\nlist:\n" + "  - {<<: *d, s: 4}\n" * 20_000
    assert len(tree(text)["list"]) == 20_000


def _writable_plain(text):
    """Whether PyYAML writes the text so that it is read back: its words and line breaks are YAML 1.1."""
    return isinstance(plain_value(text), str) and not set(text) & set("\x85\u2028\u2029")


texts = st.text(st.characters(codec="utf-8"), max_size=20)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
data = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


@given(data=data, flow=st.booleans())
def test_what_pyyaml_writes_quoted_is_read_back(data, flow):
    class Quoting(yaml.SafeDumper):
        """Quotes text only: with a default style PyYAML quotes and tags numbers too."""

    Quoting.add_representer(
        str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, '"')
    )
    written = yaml.dump({"data": data}, Dumper=Quoting, default_flow_style=flow, allow_unicode=True)
    problems = Problems(Source("site.yaml", written))
    assert parse(problems) == {"data": data}
    assert problems.sorted() == []


plain_texts = texts.filter(_writable_plain)
plain_data = st.recursive(
    st.none() | st.booleans() | st.integers() | plain_texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(plain_texts, inner, max_size=4),
    max_leaves=20,
)


@given(data=plain_data, flow=st.booleans())
def test_what_pyyaml_writes_as_it_likes_is_read_back(data, flow):
    written = yaml.safe_dump({"data": data}, default_flow_style=flow, allow_unicode=True)
    assert parse(Problems(Source("site.yaml", written))) == {"data": data}


@given(text=st.text("ab:- {}[],&*!|>'\"\n#0<%", max_size=40))
def test_both_parsers_of_pyyaml_lead_to_the_same_tree(text):
    fast, slow = Problems(Source("site.yaml", text)), Problems(Source("site.yaml", text))
    trees = parse(fast), parse(slow, yaml.SafeLoader)
    if not fast and not slow:
        assert trees[0] == trees[1]


@pytest.mark.parametrize(("one", "other"), [("1", "1.0"), ("1", "true"), ("0644", "644"), ("null", "~")])
def test_values_that_are_equal_but_written_otherwise_are_not_alike(tree, one, other):
    texts = [f"a: {{b: [{value}]}}\n" for value in (one, other)]
    assert tree(texts[0]) == tree(texts[1])
    assert not tree(texts[0]).is_like(tree(texts[1]))
    assert tree(texts[0]).is_like(tree(f"# moved\n{texts[0]}"))
