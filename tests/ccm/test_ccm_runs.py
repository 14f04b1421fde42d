"""Runs tell of every resource what CCM tells, in its order, and their exit code says how it went."""

import ccm_cases
import ccm_log
import click
import pytest
import yaml
from ccm_wording import matters

from reactor.cli import exitcodes
from reactor.cli.options.inputs import inputs_options
from reactor.loading import load
from reactor.resource.diagnostic import ManifestError

MODES = {"--noop", "--monitor-only", "--render"}


@click.command
@inputs_options
def inputs_of(inputs):
    """What the options of a run say of facts and data."""
    return inputs()


@pytest.mark.parametrize("case", ccm_cases.named("apply_runs"))
def test_a_run_reports_what_it_reports_there(case, world, run):
    manifest = world(case)
    flags = [flag.replace("$DIR", str(manifest.parent)) for flag in case.get("flags", ())]
    inputs = inputs_of([flag for flag in flags if flag not in MODES], standalone_mode=False)
    if kinds := ccm_cases.awaited(case):
        with pytest.raises(ManifestError) as caught:
            load(str(manifest), inputs)
        assert all(f"kind {kind!r}" in str(caught.value) for kind in kinds)
        return
    for expected in case["runs"]:
        code, events, output = run(manifest, flags)
        if "--render" in flags:
            assert (code, yaml.safe_load(output)) == (0, yaml.safe_load("\n".join(expected["log"])))
        elif code == exitcodes.BAD_USAGE:  # before anything is touched, where CCM ends half-way
            assert (case["policy"], expected["rc"]) == ("fix", 1)
            assert any(matters(line, event["message"]) for line in expected["log"] for event in events)
        else:
            compare(expected, code, events, load(str(manifest), inputs).graph, str(manifest.parent))


def compare(expected, code, events, graph, directory):
    theirs = ccm_log.expected(expected["log"], directory)
    ours = ccm_log.told(events, graph)
    if any("healthcheck=true" in text for text in expected["log"]):  # CCM is silent on what has no checks
        ours.lines = [line for line in ours.lines if line.verb != "stable" or line in theirs.lines]
    assert list(map(str, ours.lines)) == list(map(str, theirs.lines))
    assert ours == theirs
    for mine, other in zip(ours.verdicts, theirs.verdicts, strict=True):
        compare_words(mine, other)
    troubled = {line.ref for line in ours.verdicts if line.is_trouble}
    assert {line.unmet for line in theirs.verdicts if line.unmet} <= troubled
    # CCM ends with 0 whatever failed; ours says so.
    assert code == (exitcodes.NOT_CONVERGED if any(line.is_trouble for line in ours.verdicts) else 0)


def compare_words(mine, other):
    if other.errors is not None:
        assert matters(other.errors, mine.errors), mine.errors
    if other.noop not in (None, "true"):
        assert mine.noop in (other.noop, *ccm_log.BETTER.get(other.noop, ()))
