"""What health checks and diffs make of the result of a check."""

from __future__ import annotations

import pytest

from reactor.engine.check import CheckResult, check
from reactor.engine.health_examination import MOST_OUTPUT, examined
from reactor.engine.outcome import Outcome
from reactor.testing.scripted import Scripted, scripted


def checked_by(*commands):
    return scripted("a", health_checks=[{"command": each, "tries": 1} for each in commands])


@pytest.mark.parametrize(
    ("before", "outcome", "code", "error"),
    [
        (CheckResult(Outcome.OK), Outcome.UNHEALTHY, "R0507", "health check "),
        (CheckResult(Outcome.CHANGED, ("did",)), Outcome.UNHEALTHY, "R0507", "health check "),
        (CheckResult(Outcome.FAILED, error="no", code="R0501"), Outcome.FAILED, "R0501", "no\nhealth check "),
    ],
)
async def test_bad_health_is_a_failure_which_keeps_what_went_wrong_before(before, outcome, code, error):
    found = await examined(checked_by("true", "false"), before)
    assert (found.outcome, found.code, found.actions) == (outcome, code, before.actions)
    assert found.error.startswith(error)
    assert [str(each.status) for each in found.health] == ["ok", "warning"]


async def test_good_health_changes_no_result_and_a_plan_is_not_examined():
    found = await examined(checked_by("true"), CheckResult(Outcome.CHANGED, ("did",)))
    assert found._replace(health=()) == CheckResult(Outcome.CHANGED, ("did",))
    assert len(found.health) == 1
    planned = CheckResult(Outcome.WOULD_CHANGE, ("would",))
    assert await examined(checked_by("false"), planned) == planned


async def test_the_output_of_a_health_check_is_cut():
    writes_much = f"sh -c 'yes | tr -d \"\\n\" | head -c {MOST_OUTPUT + 10}; exit 1'"
    found = await examined(checked_by(writes_much), CheckResult(Outcome.OK))
    assert found.health[0].output == "y" * MOST_OUTPUT


class Diffed(Scripted, kind="diffed"):
    """Its plan shows a diff."""

    def plan(self, state, *, refresh):
        async def text():
            return "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n"

        async def diff():
            return text

        plan = super().plan(state, refresh=refresh)
        for action in plan:
            action.diff = diff
        return plan


async def test_the_former_lines_are_shown_of_what_has_no_secret():
    resource = Diffed(name="a")

    async def nothing(_):
        """Nothing is in the way."""

    result = await check(resource, refresh=False, noop=True, diff=True, before_apply=nothing)
    assert result.diffs == ("--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n",)
    assert (await check(resource, refresh=False, noop=True, diff=False, before_apply=nothing)).diffs == ()
