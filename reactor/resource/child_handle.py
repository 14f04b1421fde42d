"""A descriptor that tells when a child process has ended, also where pidfd_open(2) is missing or refused.

Linux has it since 5.3, and the sandboxes of old container engines refuse it.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress


def child_handle(pid: int) -> int:
    """Return a descriptor that is readable once the child ``pid``, which is not reaped yet, has ended.

    The caller closes it. Raises OSError.
    """
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EPERM):
            raise
    return _end_of_pipe(pid)


def _end_of_pipe(pid: int) -> int:
    """Return the reading end of a pipe that a thread closes when the child has ended."""
    import threading  # noqa: PLC0415 - a run where pidfds work needs no thread for this

    reading, writing = os.pipe()

    def wait() -> None:
        with suppress(ChildProcessError):  # it was reaped meanwhile
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        os.close(writing)

    try:
        threading.Thread(target=wait, daemon=True).start()
    except RuntimeError as error:
        os.close(reading)
        os.close(writing)
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from error
    return reading
