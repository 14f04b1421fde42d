"""docs/engine.md is true: its tables are read from the page and played on the engine."""

import random
import re
from pathlib import Path

import pytest
import trio
from page_tables import rows

from reactor.engine import flapping, scheduler
from reactor.engine.events import Cause, Reloaded, Result
from reactor.engine.options import DEFAULT_JOBS, RunOptions
from reactor.engine.retries import JITTER, Backoff
from reactor.graph.graph import Edge, EdgeKind, Graph
from reactor.loading import load
from reactor.resources.exec import Exec, ExecState
from reactor.resources.service.planner import Desired, plan_service
from reactor.resources.service.state import UnitState
from reactor.resources.service.systemd import Job
from reactor.testing.scripted import Scripted, scripted
from reactor.testing.story import converge_once, graph_of, running

PAGE = (Path(__file__).parents[2] / "docs" / "engine.md").read_text()
PROSE = " ".join(PAGE.split())
ENOUGH = 20
"""So many attempts are taken for no end of them."""


def table(first_cell):
    return rows(PAGE, first_cell)


def pair(kind, first, second):
    return Graph({each.ref: each for each in (first, second)}, [Edge(first.ref, second.ref, kind, "a test")])


def test_every_cause_and_every_result_is_on_the_page():
    assert [cause for cause, _ in table("cause")] == [word for cause in Cause for word in cause.words]
    assert [result for result, _ in table("result")] == list(Result)


def test_every_edge_is_on_the_page():
    assert {kind for kind, *_ in table("edge")} == set(EdgeKind)
    said = re.search(r"the strongest counts: (.*)\. A cycle", PROSE)[1]
    assert re.findall(r"`(\w+)`", said) == list(reversed(EdgeKind))


@pytest.mark.parametrize(("kind", "first", "refreshes", "blocks"), [[r[0], *r[2:]] for r in table("edge")])
async def test_an_edge_does_what_the_page_says(kind, first, refreshes, blocks, autojump_clock):
    above, below = scripted("above"), scripted("below")
    above.script.takes = 1
    await converge_once(graph=pair(EdgeKind(kind), above, below))
    assert (below.script.checks[0] >= above.script.checks[0] + 1) == (first == "yes")
    assert bool(below.script.refreshes) == (refreshes == "yes")
    broken, below = scripted("above", failures=1), scripted("below")
    _, story = await converge_once(graph=pair(EdgeKind(kind), broken, below))
    assert (story.result(below.ref) is Result.BLOCKED) == (blocks == "yes")


class Halfway(Scripted, kind="halfway"):
    """Changes something and fails; the next time there is nothing left to do."""

    async def _repair(self):
        await super()._repair()
        self.script.failures = 1

    async def verify(self):
        await self.observe()
        return ()


SKIPPED = """
resources:
  - exec:
      - above: {command: /bin/true, control: {if: "false"}}
      - below: {command: /bin/true, refreshonly: true, subscribe: [exec#above]}
"""

ABOVE = {
    "ok": lambda: [scripted("above", drifted=False)],
    "changed": lambda: [scripted("above")],
    "would_change": lambda: [scripted("above", meta={"noop": True})],
    "failed before anything was changed": lambda: [
        scripted("above", failures=1, drifted=False, meta={"retry": 1})
    ],
    "failed halfway": lambda: [Halfway(name="above", meta={"retry": 1})],
    "blocked": lambda: [scripted("culprit", failures=1), scripted("above", require=["scripted#culprit"])],
}


@pytest.mark.parametrize(("above", "effect"), [row for row in table("above") if row[0] != "skipped"])
async def test_subscribers_are_refreshed_as_the_page_says(above, effect, autojump_clock):
    resources = ABOVE[above]()
    below = scripted("below", drifted=False, subscribe=[resources[-1].ref])
    _, story = await converge_once(*resources, below)
    assert bool(below.script.refreshes) == effect.startswith("gets a refresh")
    would = scripted("below", drifted=False, subscribe=[resources[-1].ref], meta={"noop": True})
    _, story = await converge_once(*ABOVE[above](), would)
    tells = effect.startswith("gets a refresh") or "says that it would" in effect
    assert (story.result(would.ref) is Result.WOULD_CHANGE) == tells


async def test_a_skipped_resource_refreshes_no_other(tmp_path):
    assert ["skipped", "is not refreshed"] in table("above")
    manifest = tmp_path / "site.yaml"
    manifest.write_text(SKIPPED)
    ended, story = await converge_once(graph=load(str(manifest)).graph)
    assert story.result("exec#above") is Result.SKIPPED
    assert story.checks("exec#below")[0].result is Result.OK
    assert not ended.changes


@pytest.mark.parametrize(("ensure", "unit", "idle", "refreshed"), table("`ensure`"))
def test_a_service_is_treated_as_the_page_says(ensure, unit, idle, refreshed):
    state = UnitState("loaded", active="active" if unit == "runs" else "inactive", sub="", files="enabled")
    desired = Desired("a.service", ensure, None, None, Job.RESTART)
    for refresh, cell in ((False, idle), (True, refreshed)):
        steps = [step.value for step in plan_service(desired, state, refresh=refresh)]
        word = re.match(r"on_refresh: (\w+)|(\w+)", cell)
        assert steps == [each for each in word.groups() if each and each != "nothing"]


GUARDS = {
    "none": ({}, ExecState()),
    "refreshonly: true": ({"refreshonly": True}, ExecState()),
    "creates, and the path exists": ({"creates": "/a"}, ExecState(creates_exists=True)),
    "creates, and it does not": ({"creates": "/a"}, ExecState(creates_exists=False)),
    "onlyif returns 0": ({"onlyif": "a"}, ExecState(onlyif_ok=True)),
    "onlyif returns anything else": ({"onlyif": "a"}, ExecState(onlyif_ok=False)),
    "unless returns 0": ({"unless": "a"}, ExecState(unless_ok=True)),
    "unless returns anything else": ({"unless": "a"}, ExecState(unless_ok=False)),
}


@pytest.mark.parametrize(("guards", "first", "later", "refresh"), table("guards"))
def test_a_command_runs_when_the_page_says(guards, first, later, refresh):
    properties, found = GUARDS[guards]
    command = Exec(name="/bin/true", **properties)
    again = ExecState(found.creates_exists, found.onlyif_ok, found.unless_ok, ran=True)
    plans = (
        command.plan(found, refresh=False),
        command.plan(again, refresh=False),
        command.plan(found, refresh=True),
    )
    assert ["runs" if plan else "-" for plan in plans] == [first, later, refresh]


@pytest.mark.parametrize("watch", [False, True], ids=["ends", "stays"])
@pytest.mark.parametrize(("retry", "once", "staying"), table("`retry`"))
async def test_a_failure_is_tried_as_often_as_the_page_says(retry, once, staying, watch, autojump_clock):
    said = staying if watch else once
    meta = {} if retry == "not set" else {"retry": int(retry)}
    resource = scripted("a", failures=float("inf"), meta=meta)
    async with running(resource, options=RunOptions(watch=watch, audit_interval=None)) as story:
        if said == "without end":
            await resource.script.begun(ENOUGH)
        else:
            await trio.sleep(3600)
            assert len(resource.script.checks) == int(said)
        story.engine.stop()


@pytest.mark.parametrize(("failure", "wait"), table("after failure"))
def test_the_waits_are_those_of_the_page(failure, wait):
    backoff = Backoff(1.0, rng=random.Random(1))
    now = 0.0
    for _ in range(int(failure.split()[0])):
        last = backoff.next_wait(now)
        now += last
    assert last == pytest.approx(float(wait.removesuffix(" s")), rel=JITTER + 0.001)


RELOADS = {
    "nothing, or comments and order": lambda: [scripted("b"), scripted("a")],
    "a property": lambda: [scripted("a", provider=None, alias="other"), scripted("b")],
    "only meta": lambda: [scripted("a", meta={"retry": 7}), scripted("b")],
    "a resource is new": lambda: [scripted("a"), scripted("b"), scripted("c")],
    "a resource is gone": lambda: [scripted("b")],
    "a name": lambda: [scripted("c"), scripted("b")],
}


@pytest.mark.parametrize(
    ("difference", "checks"), [(r[0], int(r[2])) for r in table("what differs") if "invalid" not in r[0]]
)
async def test_a_reload_checks_what_the_page_says(difference, checks, autojump_clock):
    async with running(scripted("a"), scripted("b")) as story:
        await story.converged()
        begun = sum(len(story.checks(ref)) for ref in story.engine.vertex_table.refs)
        story.engine.reload(graph_of(RELOADS[difference]()))
        await story.rest()
        await trio.sleep(1)
        assert sum(len(story.checks(ref)) for ref in story.engine.vertex_table.refs) - begun == checks
        assert len(story.all(Reloaded)) == 1


LOOKING = {cells[0]: cells[1:] for cells in table("")}


@pytest.mark.parametrize(("column", "meta"), [(0, {"noop": True}), (1, {"mode": "warn"}), (2, None)])
async def test_looking_without_touching_is_what_the_page_says(column, meta, autojump_clock):
    cells = {question: answers[column] for question, answers in LOOKING.items()}
    subject = scripted("subject", drifted=False, **({"meta": meta} if meta else {}))
    needs, hears = scripted("needs", require=[subject.ref], drifted=False), scripted("hears", subscribe=[subject.ref], drifted=False)  # fmt: skip
    async with running(subject, needs, hears) as story:
        await story.converged()
        if meta is None:
            story.engine.dispatcher.pause(story.engine.vertex_table.number(subject.ref))
        before = len(subject.script.checks), len(needs.script.checks)
        subject.script.drifted = True
        story.drift(subject.ref)
        story.drift(needs.ref)
        await trio.sleep(1)
        assert (len(subject.script.checks) > before[0]) == (cells["is it watched and checked"] == "yes")
        assert subject.script.drifted, cells["is it changed"]
        assert (story.result(subject.ref) is Result.WOULD_CHANGE) == (
            cells["the changes it would make"] == "reported"
        )
        assert (len(needs.script.checks) > before[1]) == (cells["resources that require it"] == "continue")
        assert not hears.script.refreshes


def test_the_numbers_of_the_page_are_those_of_the_code():
    assert (flapping.REPAIRS, flapping.WINDOW) == (50, 10.0)
    assert "repaired fifty times within 10 seconds is flapping" in PROSE
    assert (flapping.SLOW_REPAIRS, flapping.SHARE) == (10, 3)
    assert (
        "repaired ten times in a row is flapping, too, if the repairs take a third of the time or more"
        in PROSE
    )
    assert (flapping.FIRST_WAIT, flapping.LONGEST_WAIT) == (0.01, 1.0)
    assert "from every 10 ms to at most one each second" in PROSE
    assert f"up to `jobs` ({DEFAULT_JOBS})" in PROSE
    assert RunOptions().audit_interval == 30 * 60


def test_the_promises_are_those_of_the_scheduler():
    ours = re.findall(r"^\d\. \*\*(.*?)\.\*\*", PAGE, re.MULTILINE)
    theirs = [line.split(":")[0] for line in re.findall(r"^\d\. (.*)", scheduler.__doc__, re.MULTILINE)]
    assert ours == [promise.rstrip(".") for promise in theirs]
