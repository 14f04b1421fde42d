"""A run that hears no events checks once more what reads a file that another resource has changed since."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace

import pytest

from reactor.engine.follow_up_checks import _CLOCK_TICK_NS, MOST_PASSES, ChangeLog, StaleReads
from reactor.resource.declared import Declared


class Reads:
    def __init__(self, *paths, **declared):
        self.paths = paths
        self.declared = Declared("reads#it", **declared)

    def source_files(self):
        return self.paths


def rereading(*resources):
    log = ChangeLog()
    return StaleReads(SimpleNamespace(resources=resources), log), log


def begin(looks, log, *vertices):
    """The checks of ``vertices`` begin."""
    for vertex in vertices:
        log.begins(vertex)
        looks.reads(vertex)


def write(path):
    with open(path, "a") as file:
        file.write("x")


def change(log, vertex):
    """The check of ``vertex`` that has begun changes something."""
    log.changing(vertex)
    log.ends(vertex)


@pytest.fixture
def source(tmp_path):
    write(path := tmp_path / "source")
    return str(path)


def test_what_was_covered_is_checked_again_after_a_change_by_another():
    covered = Reads(is_covered=True)
    looks, log = rereading(covered, Reads())
    begin(looks, log, 0, 1)
    change(log, 1)
    assert looks.take([0, 1]) == [0]


def test_what_read_a_file_before_another_changed_it_is_checked_again(source):
    looks, log = rereading(Reads(source), Reads())
    begin(looks, log, 0, 1)
    write(source)
    change(log, 1)
    assert looks.is_due
    assert looks.take([0, 1]) == [0]
    assert not looks.is_due


def test_what_a_resource_changed_itself_is_no_reason(source):
    looks, log = rereading(Reads(source))
    begin(looks, log, 0)
    change(log, 0)
    assert looks.take([0]) == []


def test_a_file_that_stayed_as_it_was_is_no_reason_however_new_it_is(source):
    looks, log = rereading(Reads(source), Reads())
    begin(looks, log, 0, 1)
    change(log, 1)
    assert looks.take([0, 1]) == []


def test_a_check_that_began_after_the_last_change_has_read_it(source):
    looks, log = rereading(Reads(source), Reads())
    begin(looks, log, 1)
    change(log, 1)
    begin(looks, log, 0)
    assert looks.take([0, 1]) == []


@pytest.mark.parametrize(
    ("older", "is_checked"), [(-1, True), (_CLOCK_TICK_NS - 1, True), (_CLOCK_TICK_NS, False)]
)
def test_a_file_that_only_the_check_found_out_about_counts_as_changed_if_it_is_less_than_a_tick_older(
    source, monkeypatch, older, is_checked
):
    looks, log = rereading(Reads(), Reads())
    monkeypatch.setattr(time, "time_ns", lambda: os.stat(source).st_ctime_ns + older)
    begin(looks, log, 0, 1)
    looks._vertex_table.resources[0].paths = (source,)
    change(log, 1)
    assert looks.take([0, 1]) == ([0] if is_checked else [])


def test_all_below_a_directory_may_have_changed(tmp_path):
    looks, log = rereading(Reads(f"{tmp_path}/"), Reads())
    begin(looks, log, 0, 1)
    change(log, 1)
    assert looks.take([0, 1]) == [0]


def test_two_that_change_what_each_other_reads_do_not_keep_a_run_from_ending(source):
    looks, log = rereading(Reads(source), Reads(source))
    passes = 0
    due = [0, 1]
    while due:
        begin(looks, log, *due)
        for vertex in due:
            write(source)
            change(log, vertex)
        passes += 1
        assert passes <= MOST_PASSES + 1
        due = looks.take([0, 1]) if looks.is_due else []
    assert passes == MOST_PASSES + 1
