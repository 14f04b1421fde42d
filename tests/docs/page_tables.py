"""The tables of a page, as the tests that play them read them."""

from __future__ import annotations

import re


def rows(text, first_cell):
    """The rows of the table whose heading begins with ``first_cell``: a list of cells each, without backticks."""
    found = re.search(rf"^\| *{re.escape(first_cell)} *\|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert found, f"no table begins with {first_cell!r}"
    return [
        [cell.strip().replace("`", "") for cell in row.strip("|\n ").split("|")]
        for row in found[1].splitlines()
    ]
