"""Long texts are handled piece by piece, so that repairs go on meanwhile; what comes out is the same."""

from __future__ import annotations

import pytest

from reactor.manifest.reparsing import Reparser
from reactor.manifest.source import LineMap, Problems, Source
from reactor.manifest.yaml_tree import LOADER, parse

PIECE = 16 * 1024


@pytest.mark.parametrize("before", [PIECE - 2, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE - 1])
@pytest.mark.parametrize("end", ["", "\n", "\n\n", "é\n€"])
def test_each_line_begins_after_a_line_feed_wherever_a_piece_ends(before, end):
    text = "\n" * 3 + "x" * (before - 3) + end + "y\nz"
    starts = [0, *(at + 1 for at, character in enumerate(text) if character == "\n")]
    assert [*LineMap.of("m", text).starts] == starts


def test_a_long_text_has_the_values_of_all_its_pieces():
    text = "".join(f"k{number}: {number}€é\n" for number in range(20_000))
    problems = Problems(Source("m", text))
    root = parse(problems, LOADER)
    assert not problems
    assert [*root.items()] == [(f"k{number}", f"{number}€é") for number in range(20_000)]


def test_an_error_behind_many_pieces_has_its_place():
    text = "".join(f"k{number}: €\n" for number in range(20_000))
    problems = Problems(Source("m", f"{text}k: [\nend: x\n"))
    assert parse(problems, LOADER) is None
    (found,) = problems.sorted()
    assert found.place is not None
    assert found.place.line in (20_001, 20_002)


@pytest.mark.parametrize("mark", [" ? ", "\n  ? x", "a ?\n ", "\ufeff"])
def test_a_text_with_an_uncertain_mark_is_parsed_anew(mark):
    """Its tree may have offsets of what follows, so it is not changed in place."""
    text = f"a: '{mark}'\n"
    reparser = Reparser()
    first, second = (reparser.parse(Problems(Source("m", text))) for _ in range(2))
    assert first is not None
    assert first is not second


@pytest.mark.parametrize("text", ["a: 'x?'\n", "a: what?\n", "a: '?x'\n", "a: '??'\n"])
def test_other_question_marks_are_certain(text):
    reparser = Reparser()
    first, second = (reparser.parse(Problems(Source("m", text))) for _ in range(2))
    assert first is second
