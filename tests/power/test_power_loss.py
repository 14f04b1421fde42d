"""A power failure at any moment leaves the old file or the new one, and loses no refresh."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).with_name("run.py")
CASES = 4


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs"])
def test_nothing_is_torn_lost_or_left_over_when_the_power_fails(kind):
    if os.geteuid():
        pytest.skip("only root may mount a disk")
    done = subprocess.run(
        [sys.executable, RUN, "--cases", str(CASES), "--filesystem", kind, "--seed", "21"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == (
        f"{CASES} power failures on {kind}: 0 with something torn, lost or left over"
    )
