"""``meta: {mode: warn}``: drift is told, and nothing is changed for it."""

from __future__ import annotations

import pytest
from engine_worlds import managed
from hypothesis import given
from hypothesis import strategies as st

from reactor.cli import exitcodes
from reactor.engine.events import Cause, Ended, Result
from reactor.engine.options import RunOptions
from reactor.journal.journal import Journal
from reactor.resource.common_properties import Meta
from reactor.testing.scripted import scripted
from reactor.testing.story import Story, converge_once, graph_of, running

WARN = {"mode": "warn"}


async def test_drift_is_reported_and_left_alone(tmp_path):
    path = tmp_path / "watched"
    path.write_text("good\n")
    path.chmod(0o644)
    async with running(managed(path, meta=WARN)) as story:
        await story.converged()
        path.write_text("bad\n")
        await story.until(lambda: story.result(f"file#{path}") is Result.WOULD_CHANGE)
        assert path.read_text() == "bad\n"
        last = story.checks(f"file#{path}")[-1]
        assert last.causes is Cause.DRIFT
        assert last.actions == ("Would have updated the file",)
        path.write_text("good\n")
        await story.until(lambda: story.result(f"file#{path}") is Result.OK)


@pytest.mark.parametrize("properties", [{}, {"meta": WARN}], ids=["dry run", "only reports"])
async def test_what_would_change_names_the_cause_that_a_change_would_name(tmp_path, properties):
    path = tmp_path / "file"
    journal = Journal.open(str(tmp_path), "/site.yaml", pytest.fail)
    await converge_once(managed(path, "old\n"), run_store=journal)
    again = managed(path, "new\n", **properties)
    _, story = await converge_once(again, options=RunOptions(noop=not properties), run_store=journal)
    (check,) = story.checks(again.ref)
    assert (check.result, check.causes) == (Result.WOULD_CHANGE, Cause.INTENT)
    journal.close()


async def test_what_would_change_refreshes_nothing(autojump_clock):
    a, b = scripted("a", meta=WARN), scripted("b", drifted=False, subscribe=["scripted#a"])
    await converge_once(a, b)
    assert not b.script.refreshes
    assert not a.script.applies


async def test_a_refresh_that_only_reports_stays_pending_until_it_may_be_made(tmp_path):
    """Detecting only pays nothing: when the mode becomes enforce, also by a reload, the refresh is made."""
    journal = Journal.open(str(tmp_path), "/site.yaml", pytest.fail)
    a, b = scripted("a"), scripted("b", drifted=False, subscribe=["scripted#a"], meta=WARN)
    async with running(a, b, run_store=journal) as story:
        await story.converged()
        assert story.result("scripted#b") is Result.WOULD_CHANGE
        assert not b.script.refreshes
        enforced = scripted("b", drifted=False, subscribe=["scripted#a"])
        story.engine.reload(graph_of([scripted("a", drifted=False), enforced]))
        await story.converged(times=2)
    assert len(enforced.script.refreshes) == 1
    assert journal.pending_refreshes() == {}
    journal.close()


@pytest.mark.parametrize(
    ("meta", "is_read_only"),
    [({}, False), ({"noop": True}, True), (WARN, True), ({"noop": True, **WARN}, True), ({"mode": "enforce"}, False)],
)  # fmt: skip
def test_a_dry_run_and_detecting_only_are_the_same_to_the_engine(meta, is_read_only):
    assert Meta.model_validate(meta).is_read_only is is_read_only
    story = Story(graph_of([scripted("a", meta=meta)]), RunOptions())
    assert story.engine.vertex_table.noop(0) is is_read_only


@given(told=st.integers(0, 2), changes=st.integers(0, 2), failed=st.integers(0, 2))
def test_detailed_exit_codes_count_what_is_only_reported_as_a_change(told, changes, failed):
    counts = {str(result): 0 for result in Result} | {"would_change": told, "failed": failed}
    ended = Ended(0.0, counts, changes, 1.0, "nothing is left to do", left=0)
    code = exitcodes.run_code(ended, once=True, detailed=True)
    assert bool(code & exitcodes.CHANGED_BIT) == bool(told or changes)
    assert bool(code & exitcodes.FAILED_BIT) == bool(failed)
