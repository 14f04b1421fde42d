"""The rule ``interface``: the network interfaces of this host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reactor.resources.health.goss.matchers import Expected
from reactor.resources.health.goss.rule import Rule


class InterfaceRule(Rule):
    """A network interface and its addresses."""

    name: str | None = None
    """The name; by default the key."""
    exists: Expected = True
    addrs: Expected = None
    mtu: Expected = None

    async def find(self, key: str) -> Mapping[str, Any]:
        """Ask the kernel. Addresses have their prefix length: ``192.0.2.1/24``."""
        from reactor.resources.network.addresses import addresses_of  # noqa: PLC0415 - all kinds of the network
        from reactor.resources.network.links import find_link  # noqa: PLC0415 - as above
        from reactor.resources.network.rtnetlink import RtnetlinkSocket  # noqa: PLC0415 - come with them

        with RtnetlinkSocket(None) as kernel:
            link = await find_link(kernel, self.name or key)
            if link is None:
                return {"exists": False}
            addresses = await addresses_of(kernel, link["index"])
        return {"exists": True, "addrs": list(map(str, addresses)), "mtu": link.get_attr("IFLA_MTU")}
