"""Kills a process just before any of its changes on disk."""

import os
import signal
import sys

CHANGES = {"os.mkdir", "os.rename", "os.symlink", "os.remove", "os.rmdir", "shutil.rmtree", "fcntl.flock"}


def killed_before_step(fatal, work):
    """Do ``work`` in a process that is killed just before its change number ``fatal``. Return how it ended."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    steps = 0

    def count(event, arguments):
        nonlocal steps
        writes = (
            event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        )
        if event in CHANGES or writes:
            steps += 1
            if steps == fatal:
                os.kill(os.getpid(), signal.SIGKILL)

    try:
        sys.addaudithook(count)
        work()
        os._exit(0)
    finally:
        os._exit(1)
