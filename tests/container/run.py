"""Run the tests of containers with docker and with podman: ``python tests/container/run.py``.

CI runs them with docker alone. Both programs must be installed; further arguments are those of pytest.
"""

import os
import sys
from pathlib import Path

import pytest
from container_worlds import RUNTIMES, VARIABLE

if __name__ == "__main__":
    os.environ[VARIABLE] = " ".join(RUNTIMES)
    sys.exit(pytest.main(["-n0", str(Path(__file__).parent), *sys.argv[1:]]))
