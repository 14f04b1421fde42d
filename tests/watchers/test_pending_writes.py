"""When the check of a file is due that is written and not closed, by times that the tests choose."""

from math import inf

import pytest

from reactor.resource.watch import ChangedPaths
from reactor.watchers.pending_writes import INPUT, MANAGED, PendingWrites


def test_a_write_is_due_when_no_other_has_come_for_the_quiet_time():
    writes = PendingWrites()
    writes.add(1, 10.0, MANAGED)
    assert writes.wake_at == pytest.approx(10.005)
    assert writes.take_due(10.004) == set()
    writes.add(1, 10.004, MANAGED)
    assert writes.take_due(10.006) == set()
    assert writes.take_due(10.0091) == {1}
    assert writes.wake_at == inf


def test_writes_without_end_are_due_at_the_latest_time():
    writes = PendingWrites()
    for number in range(40):
        writes.add(1, 10.0 + number * 0.003, MANAGED)
        if writes.take_due(10.0 + number * 0.003):
            break
    assert number * 0.003 == pytest.approx(0.1, abs=0.003)


def test_a_file_that_is_only_read_gets_more_time():
    writes = PendingWrites()
    writes.add(1, 10.0, INPUT)
    assert writes.take_due(10.099) == set()
    assert writes.take_due(10.101) == {1}


def test_each_is_due_at_its_own_time_and_the_next_one_is_known():
    writes = PendingWrites()
    writes.add(1, 10.0, INPUT)
    writes.add(2, 10.0, MANAGED)
    assert writes.take_due(10.006) == {2}
    assert writes.wake_at == pytest.approx(10.1)
    writes.discard(1)
    assert writes.wake_at == inf
    assert writes.take_due(11.0) == set()


def test_all_writes_of_one_vertex_are_forgotten_and_those_of_others_are_kept():
    writes = PendingWrites()
    for vertex, path in ((1, "a"), (1, "b"), (2, "a")):
        writes.add(vertex, 10.0, MANAGED, path)
    writes.discard_all(1)
    assert writes.take_due(11.0) == {2}


def test_a_path_in_a_tree_is_reported_when_it_is_due_and_not_before():
    writes, changed = PendingWrites(), ChangedPaths()
    changed.take()
    writes.add(1, 10.0, MANAGED, "/tree/a", changed)
    writes.take_due(10.001)
    assert not changed.take()
    writes.take_due(10.006)
    assert changed.take() == {"/tree/a"}
