"""Documents from the network: limits before parsing, one canonical form, typed fields."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from known_fleet import NOSPACE, summary

from reactor.fleet.documents import (
    Document,
    DocumentError,
    canonical,
    from_time_text,
    is_host_id,
    parsed,
    to_time_text,
)
from reactor.fleet.summary import EngineReport, Summary, read_summary, view_of


def test_the_canonical_form_has_sorted_keys_and_no_spaces():
    assert canonical({"b": [1, "ö"], "a": None}) == '{"a":null,"b":[1,"ö"]}'.encode()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"x" * 70_000, "the card has 70000 bytes, and at most 65536 are allowed"),
        (b"{", "the card is not valid JSON"),
        (b"\xff", "the card is not valid JSON"),
        (b"[]", "the card is not a JSON object"),
        (b"{}{}", "not valid JSON"),
        (b'{"a":1,"a":2}', "a key is there twice"),
        (b'{"a":{"b":1,"b":1}}', "a key is there twice"),
        (b'{"a":NaN}', "NaN is not valid JSON"),
        (b"[" * 60_000, "not valid JSON"),
        (b'{"a":' * 10_000, "not valid JSON"),
        (rb'{"a":"\ud800"}', "not valid JSON"),
        (rb'{"a":[{"\uDC00":1}]}', "not valid JSON"),
    ],
)
def test_what_is_no_document_is_refused(data, words):
    with pytest.raises(DocumentError, match=words):
        parsed(data, "the card")


def places_in(value, place=()):
    """Each place in a document, as keys and indexes."""
    yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places_in(each, (*place, key))


def replaced(value, place, new):
    if not place:
        return new
    copy = value.copy()
    copy[place[0]] = replaced(value[place[0]], place[1:], new)
    return copy


ODD = (5, -1, 1e308, "x", "", None, True, [], [5], [[1, 2]], [[[], {}]], {}, {"a": 5}, {"a": {}})
ODD_TIMES = (
    "9999-12-31T23:59:59Z",
    "0001-01-01T00:00:00Z",
    "2026-01-01T00:00:00+99:99",
    "2026-13-01T00:00:00Z",
)
GOOD = json.loads(summary("web1", worst=[NOSPACE]).to_bytes())


@pytest.mark.parametrize("place", list(places_in(GOOD)), ids=str)
def test_a_summary_that_a_lying_host_sends_is_read_or_refused(place):
    """Else one host ends the driver, and every command that shows the fleet."""
    for odd in (*ODD, *ODD_TIMES):
        try:
            found = read_summary(json.dumps(replaced(GOOD, place, odd)).encode(), "web1")
        except DocumentError:
            continue
        assert isinstance(view_of(found, "web", 5, 1.7e9).since, float)


def test_a_host_whose_error_has_bytes_that_are_no_text_reports_it():
    engine = EngineReport(worst=(("file#/x", "can't read /tmp/\udcff"),))
    sent = Summary("web1", {}, engine, facts={"name": "\udcff"}).to_bytes()
    assert read_summary(sent, "web1").engine.worst == (("file#/x", "can't read /tmp/?"),)


def test_a_summary_with_deep_facts_is_refused():
    deep = json.dumps({**GOOD, "facts": {"x": 0}}).replace('"x": 0', '"x": ' + "[" * 900 + "]" * 900)
    with pytest.raises(DocumentError, match="nested deeply"):
        read_summary(deep.encode(), "web1")


FIELDS = Document({"text": "ab", "number": 3, "yes": True, "list": [1, "a"], "far": 2**60}, "the card")


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (lambda d: d.text("no"), "the card has no field 'no'"),
        (lambda d: d.text("number"), "'number' of the card is not a string"),
        (lambda d: d.text("text", most=1), "has 2 characters, and at most 1"),
        (lambda d: d.integer("yes"), "is not an integer"),
        (lambda d: d.integer("far"), "not between"),
        (lambda d: d.number("text"), "is not a number"),
        (lambda d: d.number("number", least=4), "is 3, less than 4"),
        (lambda d: d.boolean("number"), "is not true or false"),
        (lambda d: d.digest("text"), "is not sha256-"),
        (lambda d: d.texts("list"), "is not a list of strings"),
        (lambda d: d.integers("list"), "is not a list of integers"),
        (lambda d: d.texts("list", most=1), "has 2 entries, and at most 1"),
        (lambda d: d.part("list"), "is not an object"),
        (lambda d: d.time("text"), "not a time such as"),
        (lambda d: d.require_known(["text"]), "an unknown field 'far'"),
        (lambda d: d.require_version(), "version None"),
    ],
)
def test_a_field_of_another_type_is_refused(read, words):
    with pytest.raises(DocumentError, match=words):
        read(FIELDS)


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (Document.require_version, "version 2, and 1 is understood here"),
        (lambda d: d.require_known([]), "an unknown field 'v'"),
    ],
)
def test_a_version_of_later_says_what_to_do(read, words):
    with pytest.raises(DocumentError, match=words) as caught:
        read(Document({"v": 2}, "the card"))
    assert caught.value.hint == "install a newer reactor here"


@given(st.floats(0, 4e9))
def test_times_are_read_as_they_were_written(seconds):
    assert abs(from_time_text(to_time_text(seconds)) - seconds) <= 0.001


def test_times_are_short_where_they_can_be():
    assert to_time_text(1769867895.0) == "2026-01-31T13:58:15Z"
    for wrong in ("2026-01-31T13:58:15", "2026-13-31T13:58:15Z", "2026-01-31T13:58:15+01:00", "", "x\n"):
        with pytest.raises(ValueError):
            from_time_text(wrong)


@pytest.mark.parametrize(
    ("text", "is_good"),
    [("web7", True), ("a", True), ("a" * 63, True), ("a" * 64, False), ("-a", False), ("a-", False), ("A", False)]
    + [(wrong, False) for wrong in ("", "a.b", "a*", "a>", "..", "a\n", "a b", "ä", None, 7)],
)  # fmt: skip
def test_the_id_of_a_host_is_one_token_of_a_subject(text, is_good):
    assert is_host_id(text) is is_good
