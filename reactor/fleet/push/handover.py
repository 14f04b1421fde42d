"""Hands a session of `reactor receive` over to the standby process that the push before has left on this host.

The messages, on a socket of packets in the state directory::

    session -> standby   its identity and its environment, with stdin, stdout and stderr
    standby -> session   the id of the process that does the work
    session -> standby   go
    standby -> session   the exit code

Nothing is read from stdin before "go", so without an answer the session does its work itself. Little is imported here:
the standby process has all modules already, and that is what it is for.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
from contextlib import ExitStack, closing, contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING

from reactor.own_process import session_identity
from reactor.trust.inputs import require_own_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

GO = b"go"
LONGEST = 64 * 1024
"""The most bytes of a message."""
ANSWER = 2.0
"""Seconds in which the other side must answer. The work itself may take any time."""
_NAME = "fleet/standby"
_CREDENTIALS = struct.Struct("3i")
_FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_BROKEN = 1


@contextmanager
def socket_address(state: str) -> Iterator[str]:
    """The address of the socket of the state directory ``state``, short enough for the kernel.

    Raises OSError, also if other users could put a socket there, or a symlink to that of a daemon.
    """
    directory, name = os.path.split(os.path.join(state, _NAME))
    require_own_directory(directory)
    descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{name}"
    finally:
        os.close(descriptor)


def peer(connection: socket.socket) -> tuple[int, int]:
    """The process at the other end, and its user."""
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    process, user, _group = _CREDENTIALS.unpack(data)
    return process, user


def hand_over(state: str) -> int | None:
    """Let the standby process do the work of this session; return the exit code. None if no standby process takes it."""
    with ExitStack() as stack:
        try:
            connection = stack.enter_context(closing(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)))
            connection.settimeout(ANSWER)
            connection.connect(stack.enter_context(socket_address(state)))
            if peer(connection)[1] != os.geteuid():
                return None
            socket.send_fds(connection, [_message()], [0, 1, 2])
            process = _worker(connection)
            connection.send(GO)
        except (OSError, ValueError):
            return None
        connection.settimeout(None)
        return _exit_code(connection, process)


def _message() -> bytes:
    environment = (name + b"=" + value for name, value in os.environb.items())
    message = b"\0".join((session_identity(), *environment))
    if len(message) > LONGEST:
        raise ValueError("the environment is too large")
    return message


def _worker(connection: socket.socket) -> int:
    """The process that does the work. Raises OSError and ValueError if there is none.

    A standby process that does not answer is killed: stdout, which waits in its socket, would stay open with it.
    """
    try:
        return int(connection.recv(LONGEST))
    except TimeoutError:
        # 0 is a process that our namespace hides, and for `os.kill` our own group.
        if process := peer(connection)[0]:
            os.kill(process, signal.SIGKILL)
        raise


def _exit_code(connection: socket.socket, process: int) -> int:
    """Wait for the end of the work. Signals to this process are signals to the one that does it."""

    def forward(number: int, _frame: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            os.kill(process, number)

    for number in _FORWARDED:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, forward)
    with suppress(OSError):
        if code := connection.recv(1):
            return code[0]
    return _BROKEN
