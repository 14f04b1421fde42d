"""Where the control socket is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

SOCKET_FILE = "control.sock"


@contextmanager
def at_home(directory: str) -> Iterator[str]:
    """The socket's path in a form that is short enough for any directory: the kernel allows 107 bytes."""
    descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET_FILE}"
    finally:
        os.close(descriptor)
