"""Who is at the other end of a connection, so that one user can't take the places of all others.

What is found out about a TCP connection is for fairness only and never gives a right: a client may close its end before
it is looked up, and a program that forwards connections, such as sshd, is the peer of them all.
"""

from __future__ import annotations

import socket
import struct
from ipaddress import IPv6Address, ip_address
from typing import Any

Peer = tuple[str, int | str]
"""``("user", uid)``, or ``("host", address)`` where the user is not known."""

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
    """The user who has connected to a Unix socket."""
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    uid: int = _CREDENTIALS.unpack(found)[1]
    return uid


def peer_of(connection: Any) -> Peer:
    """Who is at the other end of a TCP connection. Raises OSError when it has gone already."""
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
    """The address; of IPv6 only the part that one customer can't choose."""
    address = ip_address(host.partition("%")[0])
    return f"{IPv6Address(int(address) >> 64 << 64)}/64" if address.version == 6 else host  # noqa: PLR2004


def _local_user(family: int, client: tuple[str, int], server: tuple[str, int]) -> int | None:
    """The user to whom the ``client``'s end of a connection within this host belongs, as the kernel says now."""
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
    return user if is_open else None  # one that was closed looks like root's


def _packed(family: int, host: str) -> bytes:
    return socket.inet_pton(family, host.partition("%")[0]).ljust(16, b"\0")
