"""Sockets for questions to the kernel, kept for the next question.

To enter another network namespace takes a thread of its own, which was most of the work of a small repair there.
"""

from __future__ import annotations

import os
import socket
from typing import NamedTuple

from reactor.watchers.netlink_socket import NAMESPACES, SOL_NETLINK, open_socket

_NETLINK_CAP_ACK = 10  # an error does not repeat the request
_NETLINK_EXT_ACK = 11  # it tells in words what is wrong
_NETLINK_GET_STRICT_CHK = 12  # a dump is only of what the question names

MOST = 2
"""For one namespace: who waits for a table that is read for many holds one, and who reads that the other."""


class PooledSocket(NamedTuple):
    """A socket for questions. ``namespace`` is which one it is in: that had the name just before it was opened."""

    socket: socket.socket
    netns: str | None
    namespace: tuple[int, int] | None


class SocketPool:
    """A few for each namespace that is listened to anyway.

    A socket keeps its namespace alive. So it is kept no longer than that has a name, as the one that listens.
    """

    def __init__(self) -> None:
        self._idle: dict[str | None, list[PooledSocket]] = {}

    def allow(self, netns: str | None) -> None:
        """Keep some from now on."""
        self._idle.setdefault(netns, [])

    def forbid(self, netns: str | None) -> None:
        """Keep none any more."""
        for pooled in self._idle.pop(netns, ()):
            pooled.socket.close()

    def take(self, netns: str | None) -> PooledSocket:
        """One that was kept, or a new one. Raises OSError as `open_socket`."""
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
        """Take it back from who has had all answers: it is kept, or closed."""
        idle = self._idle.get(pooled.netns)
        if idle is not None and len(idle) < MOST:
            idle.append(pooled)
        else:
            pooled.socket.close()


def _namespace(netns: str | None) -> tuple[int, int] | None:
    """What tells the namespace of that name from others that have had it. That of this process stays."""
    if netns is None:
        return None
    found = os.stat(f"{NAMESPACES}/{netns}")
    return found.st_dev, found.st_ino


socket_pool = SocketPool()
"""Those of this process: who listens and who asks know nothing of each other."""
