"""Data come to what they come to in CCM."""

import ccm_cases
import pytest
from ccm_wording import matters

from reactor.manifest.data_sections import data_of, sections_of
from reactor.manifest.inputs import Inputs
from reactor.manifest.source import Problems, Source


@pytest.mark.parametrize("case", ccm_cases.named("hiera"))
def test_data_come_to_what_they_come_to_there(case):
    problems = Problems(Source("hiera.yaml", case["input"]))
    resolved = data_of(sections_of(problems), problems, Inputs(case.get("facts", {})), (), strict=False)
    said = "\n".join(each.message for each in problems.sorted())
    if "error_contains" in case:
        assert matters(case["error_contains"], said), said
    else:
        assert not said
        assert resolved.values == case["expect"]
