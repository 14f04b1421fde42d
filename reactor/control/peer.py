"""Finds the user at the other end of a connection, so that one user can't take all connection slots.

For TCP this is used for fairness only, never for permissions: a client may close its end before the lookup, and a program
that forwards connections, such as sshd, is the peer of all of them.
"""

from __future__ import annotations

import socket
import struct
from ipaddress import IPv6Address, ip_address
from typing import Any

Peer = tuple[str, int | str]
"""``("user", uid)``, or ``("host", address)`` if the user is unknown."""

_CREDENTIALS = struct.Struct("3i")  # struct ucred: pid, uid, gid

# sock_diag(7): struct nlmsghdr with struct inet_diag_req_v2, and with struct inet_diag_msg.
_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_NLM_F_REQUEST = 1
_ANY_STATE = 0xFFFFFFFF
_NO_COOKIE = b"\xff" * 8
_REQUEST = struct.Struct("=IHHII BBBxI 2s2s16s16sI8s")
_ANSWER = struct.Struct("=IHHII BBBB 2s2s16s16sI8s IIIII")
_ESTABLISHED = 1


def user_of(connection: Any) -> int:
    """The uid of the process that has connected to a Unix socket."""
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    uid: int = _CREDENTIALS.unpack(found)[1]
    return uid


def peer_of(connection: Any) -> Peer:
    """The peer of a TCP connection. Raises OSError if it is closed already."""
    ours, theirs = connection.getsockname()[:2], connection.getpeername()[:2]
    if (
        _is_on_this_host(theirs[0], ours[0])
        and (user := _local_user(connection.family, theirs, ours)) is not None
    ):
        return "user", user
    return "host", _network(theirs[0])


def _is_on_this_host(theirs: str, ours: str) -> bool:
    return theirs == ours or ip_address(theirs.partition("%")[0]).is_loopback


def _network(host: str) -> str:
    """The address; for IPv6 its /64 network, because a host can choose the other bits freely."""
    address = ip_address(host.partition("%")[0])
    return f"{IPv6Address(int(address) >> 64 << 64)}/64" if address.version == 6 else host  # noqa: PLR2004


def _local_user(family: int, client: tuple[str, int], server: tuple[str, int]) -> int | None:
    """The uid that owns the ``client`` end of a connection within this host, from the kernel; None if unknown."""
    ends = (
        *(port.to_bytes(2) for _, port in (client, server)),
        *(_packed(family, host) for host, _ in (client, server)),
    )
    request = _REQUEST.pack(
        _REQUEST.size, _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 0, 0,
        family, socket.IPPROTO_TCP, 0, _ANY_STATE, *ends, 0, _NO_COOKIE,
    )  # fmt: skip
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _NETLINK_SOCK_DIAG) as kernel:
            kernel.sendto(request, (0, 0))
            answer = kernel.recv(4096, socket.MSG_DONTWAIT)
    except OSError:
        return None
    if len(answer) < _ANSWER.size:  # an error, such as ENOENT for a connection that is gone
        return None
    _, kind, *_, user, inode = found = _ANSWER.unpack_from(answer)
    is_open = kind == _SOCK_DIAG_BY_FAMILY and found[6] == _ESTABLISHED and inode != 0
    return user if is_open else None  # a closed socket has uid 0


def _packed(family: int, host: str) -> bytes:
    return socket.inet_pton(family, host.partition("%")[0]).ljust(16, b"\0")
