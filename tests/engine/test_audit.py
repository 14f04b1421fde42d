"""When the audit marks what, on a jumping clock."""

from __future__ import annotations

from itertools import groupby, pairwise
from types import SimpleNamespace

import pytest
import trio

from reactor.engine.audit import CHUNK, PAUSE, Audit
from reactor.engine.events import Cause

VERTICES = 2 * CHUNK + 5


class Marked:
    """A dispatcher that notes when which vertices are marked, and why."""

    def __init__(self, **of_resource):
        resource = SimpleNamespace(
            meta=SimpleNamespace(now=of_resource.pop("now", "load")), declared=SimpleNamespace(**of_resource)
        )
        self.vertex_table = SimpleNamespace(
            present=set(range(VERTICES)), resources=dict.fromkeys(range(VERTICES), resource)
        )
        self.marks = []

    def mark_each(self, vertices, causes):
        self.marks += [(trio.current_time(), vertex, causes) for vertex in vertices]


async def test_every_interval_all_are_marked_in_portions(autojump_clock):
    marked = Marked()
    with trio.move_on_after(10_000):
        await Audit(marked, 100.0).run()
    portions = [(time, list(of_time)) for time, of_time in groupby(marked.marks, key=lambda mark: mark[0])]
    assert [len(portion) for _, portion in portions[:3]] == [CHUNK, CHUNK, 5]
    assert portions[1][0] - portions[0][0] == pytest.approx(PAUSE)
    assert [vertex for _, vertex, _ in marked.marks[:VERTICES]] == list(range(VERTICES))
    starts = [time for time, _ in portions[::3]]
    gaps = [after - before for before, after in pairwise(starts)]
    assert 90 <= min(gaps) < 95
    assert 105 < max(gaps) <= 110 + 3 * PAUSE


class Clock:
    advanced = 0

    def advance_clock(self):
        self.advanced += 1


@pytest.mark.parametrize(
    ("now", "is_late", "causes"),
    [
        ("load", True, Cause.AUDIT),
        ("audit", False, Cause.AUDIT),
        ("audit", True, Cause.AUDIT | Cause.INTENT),
    ],
)
async def test_a_change_may_be_intended_only_where_the_clock_of_the_manifest_advances(
    autojump_clock, now, is_late, causes
):
    clock = Clock()
    marked = Marked(now=now, deferred=clock if is_late else None)
    await Audit(marked, 100.0).mark_all()
    assert {cause for _, _, cause in marked.marks} == {causes}
    assert clock.advanced == (VERTICES if Cause.INTENT in causes else 0)
