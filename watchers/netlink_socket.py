"""Sockets of the kernel's routing family (rtnetlink) in any network namespace, and the frame of all netlink messages.

The layouts are those of netlink(7) and rtnetlink(7). They are read with `struct`: a message that pyroute2
decodes is some 190 objects in cycles, too many for a notification, which only says what to check.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
import threading
from collections.abc import Iterator
from typing import NamedTuple

NAMESPACES = "/run/netns"
"""The directory in which `ip netns add` keeps the namespaces by name."""
SOL_NETLINK = 270
NETLINK_ADD_MEMBERSHIP = 1
NLMSG_ERROR, NLMSG_DONE = 2, 3
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP_INTR, NLM_F_DUMP = 0x1, 0x4, 0x10, 0x300
READ_SIZE = 256 * 1024
"""Longer than any message: a link with 200 virtual functions has 100 KiB."""
RECEIVE_BUFFER = 4 * 1024 * 1024
"""Bytes of notifications that may wait in the kernel: some thousands."""
_SO_RCVBUFFORCE = 33
_CLONE_NEWNET = 0x40000000
_HEADER = struct.Struct("=IHHII")
_ATTRIBUTE = struct.Struct("=HH")
_ATTRIBUTE_TYPE = 0x3FFF  # the upper two bits are flags
_libc = ctypes.CDLL(None, use_errno=True)
_NETLINK_CAP_ACK = 10  # an error does not repeat the request
_NETLINK_EXT_ACK = 11  # an error comes with a message
_NETLINK_GET_STRICT_CHK = 12  # a dump contains only what the request names
MOST = 2
"""The most idle sockets to keep for one namespace. Often two are in use at once: one check reads a table for many
checks, and another one waits for that table with a socket of its own."""


class Frame(NamedTuple):
    """One message: its header, without length and port, and what follows."""

    type: int
    flags: int
    sequence: int
    body: bytes


def pack(frame: Frame) -> bytes:
    """The bytes of a frame."""
    return (
        _HEADER.pack(_HEADER.size + len(frame.body), frame.type, frame.flags, frame.sequence, 0) + frame.body
    )


def unpack(data: bytes) -> Iterator[Frame]:
    """The frames in ``data``, which was read from a socket."""
    at = 0
    while at + _HEADER.size <= len(data):
        length, kind, flags, sequence, _ = _HEADER.unpack_from(data, at)
        yield Frame(kind, flags, sequence, data[at + _HEADER.size : at + length])
        at += max(_aligned(length), _HEADER.size)


def attributes(data: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    """The type and value of each attribute that follows a fixed part of ``at`` bytes."""
    while at + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, at)
        yield kind & _ATTRIBUTE_TYPE, data[at + _ATTRIBUTE.size : at + length]
        at += max(_aligned(length), _ATTRIBUTE.size)


def pack_attribute(kind: int, value: bytes) -> bytes:
    """The bytes of an attribute, padded so that another may follow."""
    length = _ATTRIBUTE.size + len(value)
    return _ATTRIBUTE.pack(length, kind) + value + bytes(_aligned(length) - length)


def open_socket(netns: str | None) -> socket.socket:
    """A non-blocking socket in the network namespace ``netns``; None is the namespace of this process.

    Raises FileNotFoundError when there is no such namespace, PermissionError when this process may not enter it, and
    OSError when no descriptor or no thread is left.
    """
    if netns is None:
        return open_here(socket.NETLINK_ROUTE)
    # A thread of its own enters the namespace for each socket, so that the other threads stay in theirs.
    result: list[socket.socket | OSError] = []
    thread = threading.Thread(
        target=_open_there, args=(f"{NAMESPACES}/{netns}", result), name=f"netns {netns}"
    )
    try:
        thread.start()
    except RuntimeError as error:
        reason = "no thread can be started, the limit of processes is reached"
        raise OSError(errno.EAGAIN, reason) from error
    thread.join()  # takes a fraction of a millisecond
    (opened,) = result
    if isinstance(opened, OSError):
        raise opened
    return opened


def enlarge_receive_buffer(opened: socket.socket) -> None:
    """Set the receive buffer to `RECEIVE_BUFFER`, as far as this process is allowed to."""
    try:
        opened.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, RECEIVE_BUFFER)
    except PermissionError:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)


def _aligned(length: int) -> int:
    return (length + 3) & ~3


def open_here(family: int) -> socket.socket:
    """A non-blocking netlink socket of this ``family`` in the network namespace of this process. Raises OSError."""
    kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
    opened = socket.socket(socket.AF_NETLINK, kind, family)
    try:
        opened.bind((0, 0))
    except OSError:
        opened.close()
        raise
    return opened


def _open_there(path: str, result: list[socket.socket | OSError]) -> None:
    try:
        namespace = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if _libc.setns(namespace, _CLONE_NEWNET):
                raise _refusal(path, ctypes.get_errno())
            result.append(open_here(socket.NETLINK_ROUTE))
        finally:
            os.close(namespace)
    except OSError as error:
        result.append(error)


def _refusal(path: str, code: int) -> OSError:
    """The error for the namespace at ``path``.

    A file that is no namespace means that `ip netns add` has not finished, or has failed: the namespace does not
    exist.
    """
    code = errno.ENOENT if code == errno.EINVAL else code
    return OSError(code, os.strerror(code), path)


class PooledSocket(NamedTuple):
    """A socket for requests.

    ``namespace`` identifies the namespace that had the name just before the socket was opened.
    """

    socket: socket.socket
    netns: str | None
    namespace: tuple[int, int] | None


class SocketPool:
    """Keeps a few open sockets for each watched network namespace.

    A socket keeps its namespace alive, so the sockets of a namespace are closed when its name disappears.
    """

    def __init__(self) -> None:
        self._idle: dict[str | None, list[PooledSocket]] = {}

    def allow(self, netns: str | None) -> None:
        """Keep sockets of this namespace from now on."""
        self._idle.setdefault(netns, [])

    def forbid(self, netns: str | None) -> None:
        """Close the kept sockets of this namespace, and keep no more."""
        for pooled in self._idle.pop(netns, ()):
            pooled.socket.close()

    def take(self, netns: str | None) -> PooledSocket:
        """A socket that was kept, or a new one. Raises OSError as `open_socket` does."""
        namespace = _namespace(netns)
        idle = self._idle.get(netns)
        while idle:
            if (pooled := idle.pop()).namespace == namespace:
                return pooled
            pooled.socket.close()
        opened = open_socket(netns)
        for option in (_NETLINK_CAP_ACK, _NETLINK_EXT_ACK, _NETLINK_GET_STRICT_CHK):
            opened.setsockopt(SOL_NETLINK, option, 1)
        return PooledSocket(opened, netns, namespace)

    def give_back(self, pooled: PooledSocket) -> None:
        """Give a socket back after all answers were read. It is kept, or closed."""
        idle = self._idle.get(pooled.netns)
        if idle is not None and len(idle) < MOST:
            idle.append(pooled)
        else:
            pooled.socket.close()


def _namespace(netns: str | None) -> tuple[int, int] | None:
    """The device and inode of the namespace: another one may get the same name later.

    None for that of this process.
    """
    if netns is None:
        return None
    found = os.stat(f"{NAMESPACES}/{netns}")
    return found.st_dev, found.st_ino


socket_pool = SocketPool()
"""The sockets of this process, shared by the watcher and the checks."""
