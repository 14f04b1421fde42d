"""What somebody else undoes of links and routes between the apply and the look after it: drift, and no failure."""

from __future__ import annotations

import pytest
from foreign_writer import assert_repaired_after_foreign_writer

from reactor.resources.network import Address, Link, Route

FEW = 5
"""Rounds of what the kernel takes its time for; they are no fight yet."""


@pytest.mark.parametrize(
    ("wanted", "undo"),
    [
        ({"name": "d0", "type": "veth", "peer": "d1"}, "link delete d0"),
        ({"name": "v0", "mtu": 1400}, "link set v0 mtu 1500"),
        ({"name": "v0", "state": "down"}, "link set v0 up"),
        ({"name": "v0", "ensure": "absent"}, "link add v0 type veth peer name v1"),
    ],
)
async def test_a_link_undone_by_others_is_drift_again(world, wanted, undo):
    ours = Link(netns=world.name, **wanted)
    await assert_repaired_after_foreign_writer(ours, lambda: world.run(undo), FEW)


@pytest.mark.parametrize("before", ["", "route add 10.9.0.0/16 via 10.1.0.3"])
async def test_a_route_undone_by_others_is_flapping_and_not_a_failure(world, before):
    world.run("address add 10.1.0.1/24 dev v0")
    world.run(before)
    undo = before.replace("add", "replace") or "route delete 10.9.0.0/16"
    ours = Route(name="10.9.0.0/16", netns=world.name, gateway="10.1.0.2")
    await assert_repaired_after_foreign_writer(ours, lambda: world.run(undo))
    (route,) = [route for route in world.routes() if route.startswith("10.9")]
    assert "via 10.1.0.2 dev v0" in route


async def test_a_prefix_length_undone_by_others_is_flapping_and_not_a_failure(world):
    undo = """
        address delete 10.1.0.1/24 dev v0
        address add 10.1.0.1/16 dev v0
        """
    world.run("address add 10.1.0.1/16 dev v0")
    ours = Address(name="10.1.0.1/24", link="v0", netns=world.name)
    await assert_repaired_after_foreign_writer(ours, lambda: world.run(undo))
    assert world.addresses("v0") == {"10.1.0.1/24"}
