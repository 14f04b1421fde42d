"""Runs tell of every resource what CCM tells, in its order, and their exit code says how it went."""

import ccm_cases
import ccm_log
import pytest
import yaml
from ccm_wording import matters

from reactor.cli.inputs import Given, host_facts
from reactor.loading import load
from reactor.manifest.inputs import Inputs
from reactor.resource.diagnostic import ManifestError


@pytest.mark.parametrize("case", ccm_cases.named("apply_runs"))
def test_a_run_tells_what_it_tells_there(case, world, run):
    manifest = world(case)
    flags = [flag.replace("$DIR", str(manifest.parent)) for flag in case.get("flags", ())]
    if kinds := ccm_cases.awaited(case):
        with pytest.raises(ManifestError) as caught:
            load(str(manifest), Inputs(host_facts(Given(None, ()))))
        assert {f"unknown kind {kind!r}" for kind in kinds} <= {each.message for each in caught.value.diagnostics}
        return
    for expected in case["runs"]:
        code, events, output = run(manifest, flags)
        if "--render" in flags:
            assert (code, yaml.safe_load(output)) == (0, yaml.safe_load("\n".join(expected["log"])))
        else:
            compare(expected, code, events, manifest)


def compare(expected, code, events, manifest):
    graph = load(str(manifest), Inputs(host_facts(Given(None, ())))).graph
    theirs = ccm_log.expected(expected["log"], str(manifest.parent))
    ours = ccm_log.told(events, graph)
    if any("healthcheck=true" in text for text in expected["log"]):
        ours.lines = [line for line in ours.lines if line.verb != "stable" or line in theirs.lines]
    assert list(map(str, ours.lines)) == list(map(str, theirs.lines))
    assert ours == theirs
    for mine, other in zip(ours.verdicts, theirs.verdicts, strict=True):
        compare_words(mine, other)
    # CCM ends with 0 whatever failed; ours says so.
    assert code == (1 if any(line.is_trouble for line in ours.verdicts) else expected["rc"])


def compare_words(mine, other):
    if other.errors is not None:
        assert matters(other.errors, mine.errors), mine.errors
    if other.noop not in (None, "true"):
        assert mine.noop == other.noop
