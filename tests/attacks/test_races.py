"""The attacks that need a race, 10 s each; `python tests/attacks/run.py` runs them for longer."""

import os
from concurrent.futures import ThreadPoolExecutor

import more_races  # noqa: F401 - adds its own
import pytest
from races import RACES
from run import run_race

AT_ONCE = 3
"""Races side by side. Each has processes and directories of its own; one that waits for a processor meets other moments."""
SECONDS = float(os.environ.get("REACTOR_ATTACK_SECONDS", "10"))
NEVER_DONE = {"scaffold: the templates swapped, with purge"}
"""Templates that another user can change are not rendered at all."""
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="acts as another user")


@pytest.fixture(scope="module")
def started(request):
    """The races that were asked for, by name: each is a future of its outcome."""
    names = [item.callspec.params["name"] for item in request.session.items if item.path == request.path]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {name: pool.submit(run_race, name, SECONDS) for name in names}


@pytest.mark.parametrize("name", RACES)
def test_whoever_is_faster_gets_nothing_of_roots(started, name):
    outcome = started[name].result()
    assert outcome.leaks == []
    assert outcome.attempts >= SECONDS
    done = set(outcome.outcomes) - {"refused", "failed"}
    assert bool(done) is (name not in NEVER_DONE), f"what was done: {outcome}"
