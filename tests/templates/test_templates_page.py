"""The page about templates tells of every function there is, and of no other."""

import re
from pathlib import Path

import pytest

from reactor.language.templates import DEFAULT_LIMITS
from reactor.language.templates.go.functions import FUNCTIONS as GO
from reactor.language.templates.jet.functions import FUNCTIONS as JET

PAGE = (Path(__file__).parents[2] / "docs" / "templates.md").read_text()
EVALUATED = {"go": {"and", "or"}, "jet": {"isset", "exec", "dump", "includeIfExists"}}


def words(section):
    """The names in backquotes, of the table or the list of functions."""
    body = PAGE.partition(f"\n## {section}\n")[2].partition("\nDifferences from")[0]
    listed = body.partition("|---|---|")[2] if section == "go" else body.partition("Functions:")[2]
    return set(re.findall(r"`(\w+)`", listed))


@pytest.mark.parametrize(("section", "functions"), [("go", GO), ("jet", JET)])
def test_every_function_is_on_the_page(section, functions):
    plain = {name for name in functions if not re.match(r"must[A-Z]", name)}
    assert words(section) == plain | EVALUATED[section]


def test_the_bounds_are_on_the_page():
    assert f"{DEFAULT_LIMITS.seconds:g} seconds, {DEFAULT_LIMITS.steps:,} steps" in PAGE
    assert f"{DEFAULT_LIMITS.characters:,} characters" in PAGE
