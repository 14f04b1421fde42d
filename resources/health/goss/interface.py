"""The rule ``interface``: the network interfaces of this host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from resources.health.goss.matchers import Expected
from resources.health.goss.rule import Rule

_RTM_GETADDR = 22


class InterfaceRule(Rule):
    """A network interface and its addresses."""

    name: str | None = None
    """The name; by default the key."""
    exists: Expected = True
    addrs: Expected = None
    mtu: Expected = None

    async def find(self, key: str) -> Mapping[str, Any]:
        """Ask the kernel. Addresses have their prefix length: ``192.0.2.1/24``."""
        from resources.network.conversation import Conversation, decoded, message  # noqa: PLC0415 - all kinds
        from resources.network.links import find_link  # noqa: PLC0415 - of the network come with them

        with Conversation(None) as kernel:
            link = await find_link(kernel, self.name or key)
            if link is None:
                return {"exists": False}
            addresses = await kernel.dump(message(_RTM_GETADDR, index=link["index"]))
        return {
            "exists": True,
            "addrs": [_cidr(decoded(each)) for each in addresses],
            "mtu": link.get_attr("IFLA_MTU"),
        }


def _cidr(found: Any) -> str:
    """One address; of a peer-to-peer link, that of this end."""
    return f"{found.get_attr('IFA_LOCAL') or found.get_attr('IFA_ADDRESS')}/{found['prefixlen']}"
