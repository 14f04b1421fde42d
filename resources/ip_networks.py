"""IP networks in manifests."""

from __future__ import annotations

import ipaddress

IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network


def exact_network(text: str, refusal: str) -> IPNetwork:
    """The network ``text``; an address alone is one, too. Raises ValueError: ``refusal``, or for bits after the prefix."""
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        pass
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise ValueError(refusal) from None
    raise ValueError(f"{text!r} has bits set after its prefix: write {network}")
