"""The contract of kinds, kept by the network kinds on the real kernel."""

import pytest

from reactor.resources.network import Address, Link, Route
from reactor.testing.contract import CONTRACT, Case

BY_HAND = "02:00:00:00:00:01"  # a MAC address, as the kernel's own would differ each time the link is made

CASES = {
    "bridge": (Link, {"name": "br0", "type": "bridge", "address": BY_HAND}, "link delete br0"),
    "macvlan": (
        Link, {"name": "x", "type": "macvlan", "parent": "v0", "address": BY_HAND}, "link set x down",
    ),
    "plain link": (Link, {"name": "v0", "mtu": 1400}, "link set v0 mtu 1300"),
    "absent link": (Link, {"name": "unwanted", "ensure": "absent"}, "link add unwanted type bridge"),
    "address": (Address, {"name": "192.0.2.1/24", "link": "v0"}, "address delete 192.0.2.1/24 dev v0"),
    "IPv6 address": (
        Address, {"name": "one", "address": "2001:db8::1/64", "link": "v0"}, "address delete 2001:db8::1/64 dev v0",
    ),
    "route": (Route, {"name": "10.0.0.0/8", "gateway": "198.51.100.2"}, "route delete 10.0.0.0/8"),
    "absent route": (Route, {"name": "10.9.0.0/16", "ensure": "absent"}, "route add 10.9.0.0/16 dev v0"),
}  # fmt: skip


@pytest.fixture
def prepared(world):
    world.run(
        """
        address add 198.51.100.1/24 dev v0
        link add unwanted type bridge
        route add 10.9.0.0/16 dev v0
        """
    )
    return world


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_network_kinds_keep_the_contract(promise, case, prepared):
    kind, properties, spoil = CASES[case]
    await promise(
        Case(
            make=lambda: kind(netns=prepared.name, **properties),
            world=prepared.everything,
            spoil=lambda: prepared.run(spoil),
        )
    )
