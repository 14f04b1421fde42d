"""Python programs that may mount what they like: nobody else sees it, and it is gone with them."""

import ctypes
import os
import subprocess
import sys

CLONE_NEWNS = 0x20000


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


def enter_own_mounts():
    """Let this thread, and what it starts from now on, see the mounts of the host, and let nobody else see its own.

    Raises OSError where that is not permitted.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "the process gets no mounts of its own")
    subprocess.run(["mount", "--make-rslave", "/"], check=True)
