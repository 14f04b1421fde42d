"""Versions compare as they do there, where that is not wrong: dpkg and rpm decide."""

import re

import ccm_cases
import pytest

from reactor.resources.package.versions import dpkg, rpm


def compared(case, compare):
    first, second = (str(case[name]) for name in "ab")
    if case.get("ignore_trailing_zeroes"):
        first, second = (re.sub(r"^([^-]*?)[.0]+(?=-|$)", r"\1", each) for each in (first, second))
    order = compare(first, second)
    return (order > 0) - (order < 0)


@pytest.mark.parametrize("case", ccm_cases.versions("version_apt"))
def test_versions_of_debian_compare_as_they_do_there(case):
    assert compared(case, dpkg.compare) == case["cmp"] or case.get("policy") == "fix"


@pytest.mark.parametrize("case", ccm_cases.versions("version_generic_dnf"))
def test_other_versions_compare_as_they_do_there(case):
    assert compared(case, rpm.compare) == case["cmp"] or case.get("policy") == "fix"
