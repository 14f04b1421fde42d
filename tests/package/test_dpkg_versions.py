"""Versions of Debian packages: the tables of the specification, and the real dpkg."""

from __future__ import annotations

import random
import subprocess
from functools import cmp_to_key
from itertools import pairwise

import pytest

from reactor.resources.package.dpkg_versions import compare

TABLE = [
    ("9:99-99", "10:01-01", -1),
    ("abd-de", "abd-def", -1),
    ("a1b2d-d9", "a1b2d-d13", -1),
    ("1.0~alpha", "1.0", -1),
    ("1.0~~", "1.0~", -1),
    ("1.0~~a", "1.0~a", -1),
    ("1:1.0", "2.0", 1),
    ("0:1.0", "1.0", 0),
    ("5.9-8+b18", "5.9-8", 1),
    ("1.10", "1.9", 1),
    ("1.2.3-1~deb12u1", "1.2.3-1", -1),
    ("1.0", "2.0", -1),
    ("1.0~alpha", "1.0~beta", -1),
    ("1.0.1", "1.0.2", -1),
    ("1.0-1", "1.0-2", -1),
    # Where CCM and dpkg disagree, dpkg is right.
    ("1.0", "1.0-0", 0),
    ("1.0", "1.00", 0),
    ("1.01", "1.1", 0),
    ("1.0_1", "1.0", 1),
]


@pytest.mark.parametrize(("a", "b", "order"), TABLE)
def test_the_table_of_the_specification_holds(a, b, order):
    assert compare(a, b) == order
    assert compare(b, a) == -order


def random_versions(count):
    chance = random.Random(5)
    parts = ["0", "1", "2", "9", "10", "01", "a", "b", "Z", "~", "~~", ".", "+", "-", ""]
    found = set()
    while len(found) < count:
        text = chance.choice("0129") + "".join(chance.choices(parts, k=chance.randint(0, 6)))
        if not text.endswith("-"):
            found.add(chance.choice(["", "", "", "0:", "1:"]) + text)
    return sorted(found)


def test_dpkg_itself_agrees_on_the_order_of_all_of_600_random_versions():
    """Each is compared with its neighbour in our order; with that, dpkg agrees on all 180,000 pairs."""
    ordered = sorted(random_versions(600), key=cmp_to_key(compare))
    neighbours = list(pairwise(ordered))
    lines = [f"{a} {'eq' if compare(a, b) == 0 else 'lt'} {b}\n" for a, b in neighbours]
    script = 'while read -r a relation b; do dpkg --compare-versions "$a" "$relation" "$b" || echo "$a $relation $b"; done'
    done = subprocess.run(
        ["sh", "-c", script], input="".join(lines), capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
    assert 20 < sum(" eq " in line for line in lines) < 300, "both relations are tried"
