"""These tests ask engines under control, and processes of the command line."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / name) for name in ("cli", "control")]
