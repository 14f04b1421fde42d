"""Run the tests of containers with docker and with podman: ``python tests/container/run.py``.

CI runs them with docker alone. Both programs must be installed; further arguments are those of pytest.
"""

import os
import sys
from pathlib import Path

import pytest

if __name__ == "__main__":
    os.environ["REACTOR_CONTAINER_RUNTIMES"] = "podman docker"
    sys.exit(pytest.main(["-n0", str(Path(__file__).parent), *sys.argv[1:]]))
