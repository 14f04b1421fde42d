"""Versions of RPM packages: what is asked for and what is installed, and the real rpm."""

from __future__ import annotations

import random
import subprocess

import pytest

from reactor.resources.package.rpm_versions import compare, compare_installed

INSTALLED = [
    ("5.8-9.el9", "5.8-9.el9", 0),
    ("5.8-9.el9", "5.8", 0),
    ("5.8-9.el9", "5.8-10.el9", -1),
    ("5.8-9.el9", "5.9", -1),
    ("5.8-9.el9", "5.7-99", 1),
    ("1:5.8-9.el9", "5.8-9.el9", 0),
    ("1:5.8-9.el9", "5.8", 0),
    ("1:5.8-9.el9", "0:5.8", 1),
    ("1:5.8-9.el9", "1:5.8", 0),
    ("5.8-9.el9", "1:5.8", -1),
    # Where CCM and rpm disagree, rpm is right.
    ("1.0~rc1-1", "1.0", -1),
    ("1.0^git1-1", "1.0", 1),
    ("1.0^git1-1", "1.0.1", -1),
    ("1.0.010-1", "1.0.9", 1),
    ("1.0.ALPHA-1", "1.0.alpha", -1),
    ("01-1", "1", 0),
    ("1.0.0-1", "1.0", 1),
]


@pytest.mark.parametrize(("installed", "wanted", "order"), INSTALLED)
def test_what_is_not_said_of_a_version_matches_any(installed, wanted, order):
    assert compare_installed(installed, wanted) == order


def random_pairs(count):
    chance = random.Random(5)
    parts = ["0", "1", "2", "9", "10", "01", "a", "b", "Z", "~", "^", ".", "_", "+"]

    def version():
        text = "".join(chance.choices(parts, k=chance.randint(1, 6)))
        return chance.choice(["", "", "0:", "1:"]) + text + chance.choice(["", "-1", "-2.el9"])

    for _ in range(count):
        first = version()
        yield (
            first,
            version() if chance.random() < 0.4 else first + chance.choice(["", "0", "~", "a", ".", "1", "^"]),
        )


def test_rpm_itself_agrees_on_5000_random_pairs(tmp_path):
    pairs = list(random_pairs(5000))
    file = tmp_path / "pairs"
    file.write_text("".join(f"{a} {b}\n" for a, b in pairs))
    lua = f"for line in io.lines('{file}') do local a, b = line:match('(%S+) (%S+)') print(rpm.vercmp(a, b) .. ' ') end"
    done = subprocess.run(["rpm", "--eval", f"%{{lua: {lua}}}"], capture_output=True, text=True, check=True)
    theirs = [int(word) for word in done.stdout.split()]
    assert len(theirs) == len(pairs)
    assert [
        (pair, ours)
        for pair, ours, order in zip(pairs, (compare(*pair) for pair in pairs), theirs, strict=True)
        if ours != order
    ] == []
    assert theirs.count(0) > 500, "equal ones are among them"
