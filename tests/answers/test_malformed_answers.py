"""The benchmark of hostile answers, with fewer of them."""

import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "malformed_answers.py"


def test_5000_hostile_answers_are_no_traceback_and_cost_little_time_and_memory(tmp_path):
    command = [sys.executable, BENCHMARK, "5000", "--dir", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    assert "hostile answers: 5,000" in done.stdout
