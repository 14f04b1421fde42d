"""Which link was called by a name before somebody renamed it: the kernel keeps no former names, so we do."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any

from reactor.hostfs import read_record, write_record
from reactor.resources.network.link_properties import LinkProperties
from reactor.resources.network.link_state import LinkState
from reactor.resources.network.links import find_link
from reactor.resources.network.rtnetlink import RtnetlinkSocket, decoded, message
from reactor.watchers.netlink_topics import RTM_GETLINK

_BOOT = "/proc/sys/kernel/random/boot_id"
_KIND = "link"
_ANONYMOUS = "00:00:00:00:00:00"


class Renames:
    """What was last seen of one link, in the state directory: its number and hardware address during this boot."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._seen: dict[str, Any] | None = None

    def remember(self, state: LinkState) -> None:
        """Keep what tells the link from others, if that is new. Where it can't be kept, this process knows it."""
        seen = {"index": state.index, "address": state.address, "boot": _boot()}
        if self._last() != seen:
            self._seen = seen
            with suppress(OSError):
                write_record(_KIND, self._name, seen)

    async def found(self, kernel: RtnetlinkSocket, wanted: LinkProperties) -> str | None:
        """What is to be said of the link that was called so, or has the address that is wanted; None without any.

        Raises OSError as the kernel does.
        """
        last = self._last() or {}
        if last.get("boot") == _boot() and isinstance(index := last.get("index"), int):
            link = await find_link(kernel, index)
            if link is not None and link.get_attr("IFLA_ADDRESS") == last.get("address"):
                other = link.get_attr("IFLA_IFNAME")
                return f"{wanted.interface} is gone: the link {other} was called so until it was renamed"
        if wanted.address is not None and (other := await _with_address(kernel, wanted.address)):
            return f"{wanted.interface} is not there: the link {other} has the address {wanted.address}"
        return None

    def _last(self) -> dict[str, Any] | None:
        if self._seen is None:
            self._seen = read_record(_KIND, self._name)
        return self._seen


async def _with_address(kernel: RtnetlinkSocket, address: str) -> str | None:
    """The name of the first link with that hardware address."""
    if address == _ANONYMOUS:
        return None
    links = [decoded(frame) for frame in await kernel.dump(message(RTM_GETLINK))]
    names = (link.get_attr("IFLA_IFNAME") for link in links if link.get_attr("IFLA_ADDRESS") == address)
    return next(names, None)


@cache
def _boot() -> str:
    with open(_BOOT, encoding="ascii") as file:
        return file.read().strip()
