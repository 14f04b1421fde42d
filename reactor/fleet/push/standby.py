"""The standby process: has imported what a run needs, and does the work of the next sessions of `reactor receive`.

Most of the time of a push that finds nothing to do is imports. So a session forks a standby process before it reads
anything of the host, and lets it stay when it has succeeded. For each session that follows, the standby process forks
one process more, which begins as the first did: with the modules, and with nothing that was read before. It listens in
the state directory, which only its user can enter. It ends `STAYS` seconds after the last session, or when the socket
is removed.
"""

from __future__ import annotations

import fcntl
import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module

from reactor.fleet.push.handover import ANSWER, GO, LONGEST, peer, socket_address
from reactor.fleet.push.ssh import STAYS
from reactor.own_process import FileStamp, are_current, loaded_files, rights_of, session_identity

_LOOKS = 1.0
"""Seconds after which the process looks whether its socket is still there."""
_WAITING = 20
_STANDARD = 3
_MOST_NAMES = 60 * 1024
"""Bytes that a pipe takes without a reader."""


class Standby:
    """The standby process, as the process sees it that has forked it."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._known = set(sys.modules)

    @classmethod
    def fork(cls, state: str, work: Callable[[], int], prepare: Callable[[], None]) -> Standby | None:
        """Fork it, before anything was read of the host. It ends with this process, unless `stay` is called.

        ``work`` does the work of a session from stdin, and returns the exit code. ``prepare`` is called once before it, with
        all modules there. None if this host has no resources for it.
        """
        try:
            identity = session_identity()
            read, write = os.pipe()
        except OSError:
            return None
        try:
            child = os.fork()
        except OSError:
            os.close(read)
            os.close(write)
            return None
        if child == 0:
            _in_child(lambda: _stand_by(read, state, work, prepare, identity))
        os.close(read)
        return cls(write)

    def stay(self) -> None:
        """Let it stay for the next session, with the modules that this one has needed."""
        names = "\n".join(["", *(name for name in sys.modules if name not in self._known)]).encode()
        with suppress(OSError):
            os.write(self._pipe, names[:_MOST_NAMES])

    def close(self) -> None:
        """End it, unless it stays."""
        os.close(self._pipe)


def _in_child(run: Callable[[], None]) -> None:
    """Run in a forked process, which ends there: nothing of its parent may run in it."""
    try:
        run()
    except Exception:  # noqa: BLE001 - reported as at the end of a process
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(0)


def _stand_by(
    pipe: int, state: str, work: Callable[[], int], prepare: Callable[[], None], identity: bytes
) -> None:
    _leave_session(pipe)
    files = loaded_files()  # before the session changes any
    with open(pipe, encoding="utf-8") as reader:
        names = reader.read().split("\n")
    if len(names) == 1:
        return  # the session has failed, and told nothing
    for name in names[1:]:
        with suppress(Exception):  # a module that is no longer there is the business of who needs it
            import_module(name)
    prepare()
    if not _can_fork():
        return
    gc.freeze()
    with suppress(OSError):
        _serve(state, work, identity, loaded_files() | files)


def _leave_session(pipe: int) -> None:
    """Close all that belongs to the session, which would not end otherwise. Signals to it are not for us."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(_STANDARD):
        os.dup2(null, descriptor)
    os.closerange(_STANDARD, pipe)
    os.closerange(pipe + 1, os.sysconf("SC_OPEN_MAX"))


def _can_fork() -> bool:
    """Whether a fork is like a process that has begun anew: no module has started a thread, or opened a file, when imported."""
    itself = 1
    threads, descriptors = (len(os.listdir(f"/proc/self/{name}")) for name in ("task", "fd"))
    return threads == 1 and descriptors == _STANDARD + itself


def _serve(state: str, work: Callable[[], int], identity: bytes, files: dict[str, FileStamp]) -> None:
    """Take one session after the other, until none has come for `STAYS` seconds. Raises OSError."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with socket_address(state) as path:
        with suppress(FileNotFoundError):
            os.unlink(path)  # of one before us, which finds out and ends
        listener.bind(path)
        own = os.stat(path)
        listener.listen(_WAITING)
        listener.settimeout(_LOOKS)
        last = time.monotonic()
        while time.monotonic() - last < STAYS and os.path.samestat(own, os.stat(path)):
            _reap()
            with suppress(TimeoutError):
                connection, _ = listener.accept()
                with connection:
                    if peer(connection)[1] != os.geteuid():
                        continue
                    last = time.monotonic()
                    if not _taken(connection, listener, work, identity, files):
                        break
        if os.path.samestat(own, os.stat(path)):
            os.unlink(path)


def _reap() -> None:
    """Let the kernel forget the processes that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _taken(
    connection: socket.socket,
    listener: socket.socket,
    work: Callable[[], int],
    identity: bytes,
    files: dict[str, FileStamp],
) -> bool:
    """Fork a process for a session. False if this process can't serve it: then it is of no more use."""
    connection.settimeout(ANSWER)
    try:
        message, descriptors, _, _ = socket.recv_fds(connection, LONGEST, _STANDARD)
    except OSError:
        return True
    if not message:
        return True  # it has left again
    try:
        found, *environment = message.split(b"\0")
        if found != identity or len(descriptors) != _STANDARD or not are_current(files):
            return False
        if rights_of(peer(connection)[0]) != rights_of("self"):
            return False
        if os.fork() == 0:
            listener.close()
            _in_child(lambda: _work(connection, descriptors, environment, work))
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    return True


def _work(
    connection: socket.socket, descriptors: list[int], environment: list[bytes], work: Callable[[], int]
) -> None:
    """Do the work of a session, in a process of its own."""
    connection.settimeout(None)  # after "go", nobody else does the work
    connection.send(str(os.getpid()).encode())
    if connection.recv(LONGEST) != GO:
        return  # it has waited long enough, and does the work itself
    _end_with(connection)
    _enter_session(descriptors, environment)
    code = 1
    try:
        code = work()
    finally:
        try:
            sys.stdout.flush()
        except OSError:
            code = code or 1
        with suppress(OSError):
            connection.send(bytes([code]))


def _end_with(connection: socket.socket) -> None:
    """Let the kernel send SIGTERM when the session is gone, which can't pass SIGKILL on."""
    fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(connection, fcntl.F_SETSIG, signal.SIGTERM)
    fcntl.fcntl(connection, fcntl.F_SETFL, fcntl.fcntl(connection, fcntl.F_GETFL) | os.O_ASYNC)


def _enter_session(descriptors: list[int], environment: list[bytes]) -> None:
    """Take the standard descriptors and the environment of a session."""
    os.environb.clear()
    for each in environment:
        name, _, value = each.partition(b"=")
        os.environb[name] = value
    time.tzset()
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
