"""The network kinds `link`, `address` and `route`, on the kernel's own interface for them (rtnetlink)."""

from resources.network.address import Address
from resources.network.link import Link
from resources.network.route import Route

__all__ = ["Address", "Link", "Route"]
