"""The network kinds `link`, `address` and `route`, on the kernel's own interface for them (rtnetlink)."""

from reactor.resources.network.address import Address
from reactor.resources.network.link import Link
from reactor.resources.network.route import Route

__all__ = ["Address", "Link", "Route"]
