"""Finds out what already has the addresses that a network of containers wants."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Mapping
from contextlib import suppress
from ipaddress import ip_network
from typing import Any

from reactor import ResourceError


def pools(network: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """The subnets of a network, each with its gateway, as the daemon lists them."""
    return tuple((network.get("IPAM") or {}).get("Config") or ())


def networks_in(subnet: str, networks: Iterable[Mapping[str, Any]], own: str) -> list[str]:
    """The names of those of ``networks`` that share addresses with ``subnet``, except ``own``."""
    found = (
        str(each.get("Name"))
        for each in networks
        if any(_overlap(subnet, str(pool.get("Subnet") or "")) for pool in pools(each))
    )
    return sorted(name for name in found if name != own)


async def link_in(subnet: str) -> str | None:
    """The first interface of this host with an address in ``subnet``; None if there is none, or the kernel does not say."""
    # They import all kinds of networks.
    from reactor.resources.network.address_table import addresses_of  # noqa: PLC0415
    from reactor.resources.network.rtnetlink import RtnetlinkSocket  # noqa: PLC0415

    with suppress(OSError, ResourceError), RtnetlinkSocket(None) as kernel:
        for index, name in socket.if_nameindex():
            if any(_overlap(subnet, str(each)) for each in await addresses_of(kernel, index)):
                return name
    return None


def is_bridge(link: str) -> bool:
    """Whether the interface is a bridge, as daemons make for their networks."""
    return os.path.isdir(f"/sys/class/net/{link}/bridge")


def _overlap(subnet: str, other: str) -> bool:
    try:
        there = ip_network(other, strict=False)
    except ValueError:  # a network without a subnet
        return False
    wanted = ip_network(subnet)
    return wanted.version == there.version and wanted.overlaps(there)
