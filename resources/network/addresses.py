"""What is asked about the addresses of a link."""

from __future__ import annotations

import socket
from functools import lru_cache
from typing import NamedTuple

from resources.network.conversation import Conversation, message
from watchers.netlink_socket import Frame, attributes

_RTM_GETADDR = 22
_FIXED_SIZE = 8
_IFA_ADDRESS, _IFA_LOCAL = 1, 2
_IFA_F_DADFAILED = 0x08


class FoundAddress(NamedTuple):
    """An address as it is on the link: its bytes, with this prefix length, and in the kernel's own words."""

    packed: bytes
    prefix_length: int
    body: bytes

    @property
    def is_taken(self) -> bool:
        """Whether another host was found to have it, so that the kernel does not use it. Only IPv6 looks."""
        return bool(self.body[2] & _IFA_F_DADFAILED)

    def __str__(self) -> str:
        """As `ip` writes it."""
        return f"{socket.inet_ntop(self.body[0], self.packed)}/{self.prefix_length}"


async def addresses_of(
    kernel: Conversation, index: int, family: int = socket.AF_UNSPEC, holding: bytes = b""
) -> list[FoundAddress]:
    """The addresses of the link of that number, of one family or of both, that have the bytes ``holding`` in them.

    Raises OSError as the kernel does.
    """
    return [_found(frame.body) for frame in await kernel.dump(_question(index, family), holding)]


@lru_cache(maxsize=1024)
def _question(index: int, family: int) -> Frame:
    return message(_RTM_GETADDR, family=family, index=index)


def _found(body: bytes) -> FoundAddress:
    said = dict(attributes(body, _FIXED_SIZE))
    # Of a peer-to-peer address, LOCAL is this end; of any other in IPv6, there is only ADDRESS.
    return FoundAddress(said.get(_IFA_LOCAL) or said[_IFA_ADDRESS], body[1], body)
