"""Data come to what they come to in CCM."""

import ccm_cases
import pytest
from ccm_wording import matters

from reactor.manifest.inputs import Inputs
from reactor.manifest.sections import data_document
from reactor.manifest.source import Source
from reactor.resource.diagnostic import ManifestError


@pytest.mark.parametrize("case", ccm_cases.named("hiera"))
def test_data_come_to_what_they_come_to_there(case):
    source = Source("hiera.yaml", case["input"])
    inputs = Inputs(case.get("facts", {}), {}, case.get("data", {}))
    if "error_contains" in case:
        with pytest.raises(ManifestError) as caught:
            data_document(source, inputs)
        assert matters(case["error_contains"], str(caught.value))
    else:
        assert data_document(source, inputs).values == case["expect"]
