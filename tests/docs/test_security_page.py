"""The page on security names the tests of its promises, and they are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/security.md").read_text()
NAMED = sorted(set(re.findall(r"`((?:tests|benchmarks)/[\w/.]+)`", PAGE)))


@pytest.mark.parametrize("path", NAMED)
def test_each_test_that_the_page_names_is_there(path):
    assert (ROOT / path).exists()


def test_every_promise_says_how_it_is_tested():
    parts = re.split(r"^## ", PAGE, flags=re.MULTILINE)[2:]
    assert len(parts) >= 12
    assert [part.partition("\n")[0] for part in parts if "**Tests.**" not in part] == []
