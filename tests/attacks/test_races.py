"""The attacks that need a race, 10 s each; `python tests/attacks/run.py` runs them for longer."""

import os

import more_races  # noqa: F401 - adds its own
import pytest
from races import RACES
from run import run_race

SECONDS = float(os.environ.get("REACTOR_ATTACK_SECONDS", "10"))
NEVER_DONE = {"scaffold: the templates swapped, with purge"}
"""Templates that another user can change are not rendered at all."""
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="acts as another user")


@pytest.mark.parametrize("name", RACES)
def test_whoever_is_faster_gets_nothing_of_roots(name):
    outcome = run_race(name, SECONDS)
    assert outcome.leaks == []
    assert outcome.attempts >= SECONDS
    done = set(outcome.outcomes) - {"refused", "failed"}
    assert bool(done) is (name not in NEVER_DONE), f"what was done: {outcome}"
