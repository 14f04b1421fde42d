"""Every section of a case file is run by a test, or waits for a kind that is not there yet."""

import ccm_cases
import pytest

from reactor.resource.registry import kind_names


@pytest.mark.parametrize("path", ccm_cases.FILES, ids=lambda path: path.stem)
def test_no_section_of_a_case_file_goes_unread(path):
    assert ccm_cases.DOCUMENTS[path].keys() <= ccm_cases.SECTIONS


@pytest.mark.parametrize("kind", ccm_cases.WAITING)
def test_what_waits_for_a_kind_waits_while_the_kind_is_not_there(kind):
    assert kind not in kind_names(), (
        f"{kind} is there now: take it off the table, and run {ccm_cases.WAITING[kind]}"
    )
