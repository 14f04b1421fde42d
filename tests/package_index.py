"""The package index that pip is configured for."""

import subprocess
import sys


def index_answers(directory):
    """Whether pip gets at libraries. The smallest of them is asked for."""
    download = ["download", "-q", "--retries=2", "--timeout=20", "--no-deps", "--dest", directory, "h11"]
    return (
        subprocess.run([sys.executable, "-m", "pip", *download], capture_output=True, check=False).returncode
        == 0
    )
