"""Versions compare as they do there, where that is not wrong: dpkg and rpm decide."""

import re

import ccm_cases
import pytest

from reactor.resources.package import dpkg_versions, rpm_versions


def compared(case, compare):
    first, second = (str(case[name]) for name in "ab")
    if case.get("ignore_trailing_zeroes"):
        first, second = (re.sub(r"^([^-]*?)[.0]+(?=-|$)", r"\1", each) for each in (first, second))
    order = compare(first, second)
    return (order > 0) - (order < 0)


@pytest.mark.parametrize("case", ccm_cases.versions("version_apt"))
def test_versions_of_debian_compare_as_they_do_there(case):
    assert compared(case, dpkg_versions.compare) == case["cmp"] or case.get("policy") == "fix"


@pytest.mark.parametrize("case", ccm_cases.versions("version_generic_dnf"))
def test_other_versions_compare_as_they_do_there(case):
    assert compared(case, rpm_versions.compare) == case["cmp"] or case.get("policy") == "fix"
