"""What CCM takes is taken, what it refuses is refused, and for the same reason; where it is wrong, we are not."""

import os

import ccm_cases
import pytest
from ccm_wording import matters

from reactor.cli.options.inputs import Given, host_facts
from reactor.loading import load
from reactor.manifest.inputs import Inputs
from reactor.resource.diagnostic import ManifestError


def problems(path, facts):
    try:
        load(str(path), Inputs(facts or host_facts(Given(None, ())), dict(os.environ)))
    except ManifestError as error:
        return error.diagnostics
    return []


def is_taken(case):
    """Whether the manifest is to be taken: where CCM is wrong, as it is recommended."""
    recommended = case.get("recommended", "")
    return False if "reject" in recommended else True if "accept" in recommended else case["ok"]


@pytest.mark.parametrize("case", ccm_cases.named("manifest_validation"))
def test_a_manifest_is_taken_or_refused_as_it_is_there(case, world):
    found = problems(world(case), case.get("facts"))
    if kinds := ccm_cases.awaited(case):
        assert all(any(f"kind {kind!r}" in each.message for each in found) for kind in kinds)
        return
    said = "\n".join(f"{each.place}: {each.message} ({each.hint})" for each in found)
    assert is_taken(case) is not bool(found), said
    assert all(each.place is not None for each in found)
    if found and not case["ok"]:
        assert matters(case["error_contains"], said), said
