"""The benchmark of malformed manifests, with fewer of them."""

import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "malformed.py"


def test_5000_malformed_manifests_are_no_traceback_and_cost_little_time_and_memory(tmp_path):
    command = [sys.executable, BENCHMARK, "5000", "--dir", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    assert "malformed manifests: 5,000" in done.stdout
