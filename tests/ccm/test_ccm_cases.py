"""Every section of a case file is run by a test, and nothing waits for a kind that is there."""

import ccm_cases
import pytest


@pytest.mark.parametrize("path", ccm_cases.FILES, ids=lambda path: path.stem)
def test_no_section_of_a_case_file_goes_unread(path):
    assert ccm_cases.DOCUMENTS[path].keys() <= ccm_cases.SECTIONS


def test_what_waits_for_a_kind_waits_while_the_kind_is_not_there():
    there = [kind for kind in ccm_cases.WAITING if ccm_cases.is_there(kind)]
    assert not there, "take these off the table, so that their cases run"
