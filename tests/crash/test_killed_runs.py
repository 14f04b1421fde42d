"""SIGKILL at any instant leaves the old state or the new, and the next run finishes the work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from lives import WORLDS

LIVES = Path(__file__).with_name("lives.py")


@pytest.mark.parametrize("kind", WORLDS)
def test_nothing_is_torn_lost_or_left_over_by_40_runs_that_are_killed(kind):
    if kind in ("packages", "services") and os.geteuid():
        pytest.skip("needs root")
    done = subprocess.run(
        [sys.executable, LIVES, "--lives", "40", "--kind", kind, "--seed", "18"],
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"40 lives, {kind}, seed 18\nnothing was torn, lost or left over\n"
