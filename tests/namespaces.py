"""Python programs that may mount what they like: nobody else sees it, and it is gone with them."""

import os
import subprocess
import sys


def run_in_namespaces(program, *arguments, options=("--mount",)):
    """The lines that ``program`` writes in new namespaces, those that ``options`` tell unshare; it imports what we can."""
    ran = subprocess.run(
        ["unshare", *options, sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()
