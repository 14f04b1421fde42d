"""The words of docs/glossary.md are those of the code."""

import re
from pathlib import Path

import pytest
from code_names import resolve

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/glossary.md").read_text()
ROWS = re.findall(r"^\| ([^|]+) \| [^|]+ \| `([\w.]+)` \|$", PAGE, re.MULTILINE)
TABLE_ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and "in the code" not in line]


@pytest.mark.parametrize(("word", "name"), ROWS, ids=[word for word, _ in ROWS])
def test_a_word_of_the_glossary_is_in_the_code(word, name):
    resolve(name)


def test_every_row_of_the_glossary_names_its_place_in_the_code():
    assert len(ROWS) == len(TABLE_ROWS) > 40


def test_a_word_stands_in_the_glossary_once():
    words = [word for word, _ in ROWS]
    assert len(set(words)) == len(words)


@pytest.mark.parametrize("name", ["reactor.nothing", "reactor.engine.scheduler.Scheduler.nothing"])
def test_a_name_that_is_gone_is_found_out(name):
    with pytest.raises(AssertionError):
        resolve(name)
