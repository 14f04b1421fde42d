"""A short soak: the whole of it is ``python tests/soak/run.py --minutes 100``."""

import subprocess
import sys
from pathlib import Path

RUN = Path(__file__).with_name("run.py")


def test_two_minutes_of_everything_that_goes_wrong_is_repaired_and_announced():
    """What it is judged by stands in run.py: nothing missed, nothing left to the audit, no status that was not so."""
    command = [sys.executable, RUN, "--minutes", "2", "--files", "1000"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "drifts: " in done.stdout
