"""A continuous run hands Python's interpreter over often: repairs take turns with threads."""

import os
import sys

import pytest

from reactor.cli.running.engine_run import RunServices, converge
from reactor.console.display import Display
from reactor.engine.options import RunOptions
from reactor.resources.file import File
from reactor.testing.story import graph_of

REPAIR = 0.0002
"""Seconds that a repair of a file takes."""


USUAL = 0.005
"""Seconds, as Python has it."""


@pytest.fixture(autouse=True)
def usual_interval():
    """As in a new process, whatever other tests of this one have run."""
    sys.setswitchinterval(USUAL)
    yield
    sys.setswitchinterval(USUAL)


def interval_during(tmp_path, options):
    owned = {"owner": str(os.getuid()), "group": str(os.getgid()), "mode": "0644", "content": "x"}
    found = []
    display = Display("text", resources=1, continuous=options.watch)
    services = RunServices(tally=lambda _: found.append(sys.getswitchinterval()))
    converge(graph_of([File(name=f"{tmp_path}/a", ensure="present", **owned)]), options, display, services)
    return max(found)


def test_a_turn_of_a_thread_is_shorter_than_a_repair(tmp_path):
    assert interval_during(tmp_path, RunOptions(watch=True, converged_timeout=0.0)) < REPAIR


def test_a_run_that_ends_leaves_it_as_python_has_it(tmp_path):
    assert interval_during(tmp_path, RunOptions(watch=False)) == pytest.approx(USUAL)
