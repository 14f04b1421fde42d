"""Versions and their ranges."""

from itertools import pairwise

import pytest

from reactor.resources.health.goss.semver import satisfies, satisfies_all

ORDER = [
    "0.9.9", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2", "1.0.0-beta.11",
    "1.0.0-rc.1", "1.0.0", "1.0.1", "1.2.0", "1.10.0", "2.0.0",
]  # fmt: skip


@pytest.mark.parametrize(("lower", "higher"), list(pairwise(ORDER)))
def test_versions_are_ordered_as_semver_says(lower, higher):
    assert satisfies(lower, f"<{higher}")
    assert not satisfies(higher, f"<={lower}")


@pytest.mark.parametrize(
    ("version", "constraint", "holds"),
    [
        ("1.2.3", "1.2.3", True),
        ("1.2.3+build5", "=1.2.3", True),
        ("v1.2.3", "==1.2.3", True),
        ("1.2.3", "!1.2.3", False),
        ("1.2.3", ">= 1.2.3", True),
        ("1.2.3", ">1.0.0 <1.2.0 || >=1.2.3", True),
        ("1.2.3", "1.x", True),
        ("1.2.3", "1.2.x", True),
        ("1.3.0", "1.2.x", False),
        ("1.3.0", ">1.2.x", True),
        ("2.0.0", "<2.x", False),
        ("7.0.0", "x", True),
    ],
)
def test_a_version_is_in_a_range_or_not(version, constraint, holds):
    assert satisfies(version, constraint) is holds


def test_all_versions_must_be_in_the_range_and_there_must_be_one():
    assert satisfies_all(["1.0.0", "1.1.0"], "1.x")
    assert not satisfies_all(["1.0.0", "2.1.0"], "1.x")
    assert not satisfies_all(["1.0.0", "latest"], "1.x")
    assert not satisfies_all([], "1.x")
