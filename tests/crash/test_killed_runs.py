"""SIGKILL at any instant leaves the old state or the new, and the next run finishes the work."""

from __future__ import annotations

import pytest
from lives import kill_often


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_is_lost_half_written_or_left_over_by_runs_that_are_killed(tmp_path, seed):
    assert kill_often(tmp_path, kills=20, seed=seed) == []
