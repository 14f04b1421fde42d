"""TCP ports for the servers of tests. No other test gets the same one."""

import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path

RANGE = range(10_000, 32_000)
"""Below the ports that the kernel gives to clients and to servers that ask for port 0 (from 32,768).

The kernel gives these ports to nobody, so a server that is started again finds its port free.
"""
_CLAIMS = Path(tempfile.gettempdir(), f"reactor-test-ports-{os.getuid()}")
_held = []


def free_port():
    """Return a port on which nothing listens. No other call, in any process of the tests, returns the same one."""
    _CLAIMS.mkdir(mode=0o700, exist_ok=True)
    while True:
        port = random.choice(RANGE)
        claim = open(_CLAIMS / str(port), "w")  # noqa: SIM115 - it is held until the process ends
        if _is_locked(claim) and _is_free(port):
            _held.append(claim)
            return port
        claim.close()


def free_ports(count):
    return [free_port() for _ in range(count)]


def _is_locked(file):
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_free(port):
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
