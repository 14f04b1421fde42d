"""What the kernel takes along with an address or a link: it is kept where that can be, told where it can't."""

import json
import re
from functools import partial

import pytest
from network_worlds import types_the_kernel_lacks

from reactor import RunOptions
from reactor.engine.events import Checked, Result
from reactor.resources.network import Address, Link, Route
from reactor.testing.story import converge_once


async def checked(resource, *, noop=False):
    """The one check of the resource in one run."""
    _, story = await converge_once(resource, options=RunOptions(noop=noop))
    (check,) = story.all(Checked)
    return check


def details(world, link, family="-4"):
    """All that `ip` tells of the addresses of a link, by address; what only counts down is left out."""
    (found,) = json.loads(world.ip("-d", "-j", family, "address", "show", "dev", link))
    moving = ("valid_life_time", "preferred_life_time", "secondary")
    return {
        f"{each['local']}/{each['prefixlen']}": {
            name: value for name, value in each.items() if name not in moving
        }
        for each in found["addr_info"]
    }


def labelled(world, label):
    """The one address of v0 with that label."""
    (found,) = json.loads(world.ip("-j", "-4", "address", "show", "dev", "v0"))
    (address,) = [each for each in found["addr_info"] if each.get("label") == label]
    return address


def promotes(world, link):
    """Whether the link promotes secondary addresses by itself."""
    return world.ip("netns", "exec", world.name, "sysctl", "-n", f"net.ipv4.conf.{link}.promote_secondaries")


@pytest.fixture
def secondaries(world):
    """The first address of v0 with three more in its network, the last of them with all that an address may have."""
    world.run(
        """
        address add 192.0.2.1/24 dev v0
        address add 192.0.2.2/24 dev v0
        address add 192.0.2.3/24 brd 192.0.2.255 dev v0 label v0:web valid_lft 5000 preferred_lft 4000
        address add 192.0.2.4/24 dev v0 noprefixroute
        address add 198.51.100.1/24 dev v0
        route add 10.0.0.0/8 via 192.0.2.9 src 192.0.2.3
        """
    )
    return world


async def test_the_addresses_beside_a_removed_one_stay_with_all_that_they_have(secondaries):
    world = secondaries
    expected = details(world, "v0")
    del expected["192.0.2.1/24"]
    routes = world.routes()
    check = await checked(Address(name="192.0.2.1/24", link="v0", ensure="absent", netns=world.name))
    assert check.result is Result.CHANGED
    assert details(world, "v0") == expected
    assert world.routes() == routes
    assert 0 < labelled(world, "v0:web")["valid_life_time"] <= 5000


async def test_the_kernel_promotes_no_more_and_no_less_than_before(secondaries):
    world = secondaries
    before = promotes(world, "v0")
    await checked(Address(name="192.0.2.1/24", link="v0", ensure="absent", netns=world.name))
    assert promotes(world, "v0") == before
    world.ip("netns", "exec", world.name, "sysctl", "-qw", "net.ipv4.conf.v0.promote_secondaries=1")
    await checked(Address(name="192.0.2.2/24", link="v0", ensure="absent", netns=world.name))
    assert promotes(world, "v0").strip() == "1"
    assert {"192.0.2.3/24", "192.0.2.4/24"} <= world.addresses("v0")


@pytest.mark.parametrize("noop", [True, False])
async def test_what_is_kept_is_reported(secondaries, noop):
    world = secondaries
    before = world.everything()
    resource = Address(name="192.0.2.1/24", link="v0", ensure="absent", netns=world.name)
    check = await checked(resource, noop=noop)
    kept = "192.0.2.2/24, 192.0.2.3/24 and 192.0.2.4/24"
    would = "Would have removed" if noop else "removed"
    assert check.actions == (f"{would} 192.0.2.1/24 from v0, which keeps {kept} of its network",)
    assert (world.everything() == before) is noop


async def test_another_prefix_length_takes_the_address_of_no_other(world):
    world.run(
        """
        address add 192.0.2.1/16 dev v0
        address add 192.0.2.2/16 dev v0
        """
    )
    check = await checked(Address(name="192.0.2.1/24", link="v0", netns=world.name))
    assert world.addresses("v0") == {"192.0.2.1/24", "192.0.2.2/16"}
    assert check.actions == (
        "added 192.0.2.1/24 to v0",
        "removed 192.0.2.1/16 from v0, which keeps 192.0.2.2/16 of its network",
    )


@pytest.mark.parametrize("length", [24, 32])
async def test_a_repaired_prefix_length_keeps_what_else_the_address_had(world, length):
    world.run(
        f"""
        address add 192.0.2.1/{56 - length} dev v0 label v0:web valid_lft 5000 preferred_lft 4000 noprefixroute
        address add 198.51.100.1/24 dev v0
        """
    )
    await checked(Address(name=f"192.0.2.1/{length}", link="v0", netns=world.name))
    left = labelled(world, "v0:web")
    assert (left["local"], left["prefixlen"], left["noprefixroute"]) == ("192.0.2.1", length, True)
    assert 0 < left["preferred_life_time"] <= 4000


async def test_a_repaired_prefix_length_keeps_the_routes_from_that_address(world):
    world.run(
        """
        address add 2001:db8::1/128 dev v0 nodad
        address add 2001:db8::2/64 dev v0 nodad
        route add 2001:db8:1::/48 via 2001:db8::9 src 2001:db8::1
        route add 2001:db8:2::/48 via 2001:db8::9 src 2001:db8::2
        address add 192.0.2.1/32 dev v0
        address add 192.0.2.2/24 dev v0
        route add 10.0.0.0/8 via 192.0.2.9 src 192.0.2.1
        """
    )
    routes = world.routes()
    await checked(Address(name="2001:db8::1/64", link="v0", netns=world.name))
    await checked(Address(name="192.0.2.1/24", link="v0", netns=world.name))
    assert world.routes() == routes


ALONG = [
    (
        """
        address add 192.0.2.1/24 dev v0
        address add 198.51.100.1/24 dev v0
        route add 10.0.0.0/8 via 192.0.2.9 src 192.0.2.1
        route add 10.1.0.0/16 via 192.0.2.9
        route add 10.2.0.0/16 via 192.0.2.9 table 7 src 192.0.2.1
        """,
        partial(Address, name="192.0.2.1/24", link="v0", ensure="absent"),
        "removed 192.0.2.1/24 from v0; with it goes the route 10.0.0.0/8 via 192.0.2.9 on v0",
    ),
    (
        """
        address add 192.0.2.1/24 dev v0
        route add 10.1.0.0/16 via 192.0.2.9
        route add 10.2.0.0/16 dev v1
        """,
        partial(Address, name="192.0.2.1/24", link="v0", ensure="absent"),
        "removed 192.0.2.1/24 from v0; with it goes the route 10.1.0.0/16 via 192.0.2.9 on v0",
    ),
    (
        """
        address add 192.0.2.1/24 dev v0
        address add 2001:db8::1/64 dev v0 nodad
        route add 10.1.0.0/16 via 192.0.2.9
        route add 2001:db8:1::/48 via 2001:db8::9
        """,
        partial(Link, name="v0", state="down"),
        ("changed state from up to down; with it go the address 2001:db8::1/64"
        " and the routes 10.1.0.0/16 via 192.0.2.9 on v0 and 2001:db8:1::/48 via 2001:db8::9 on v0"),
    ),
    (
        """
        address add 192.0.2.1/24 dev v0
        address add 2001:db8::1/64 dev v0 nodad
        route add 10.1.0.0/16 via 192.0.2.9
        route add 2001:db8:1::/48 via 2001:db8::9
        """,
        partial(Link, name="v0", mtu=1200),
        ("changed mtu from 1500 to 1200; with it go the address 2001:db8::1/64"
        " and the route 2001:db8:1::/48 via 2001:db8::9 on v0"),
    ),
    (
        """
        address add 192.0.2.1/24 dev v0
        link add m0 link v0 type macvlan
        link add m1 link v1 type macvlan
        address add 198.51.100.1/24 dev m0
        link set m0 up
        """,
        partial(Link, name="v0", ensure="absent"),
        "removed the link; with it go the links v1, m0 and m1 and the addresses 192.0.2.1/24 and 198.51.100.1/24 on m0",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("commands", "resource", "words"), ALONG)
async def test_what_goes_along_is_reported_before_and_after(world, commands, resource, words):
    world.run(commands)
    before = world.everything()
    planned = await checked(resource(netns=world.name), noop=True)
    assert planned.actions == (f"Would have {words}",)
    assert world.everything() == before
    check = await checked(resource(netns=world.name))
    assert check.actions == (words,)
    _, addresses, routes = world.everything()
    lost = {name for name in before[0] if name not in addresses}
    assert lost == ({"v0", "v1", "m0", "m1"} if "links" in words else set())
    assert {route.split()[0] for route in before[2] - routes} == set(re.findall(r"\S+(?= via)", words))


async def test_a_link_that_is_replaced_by_force_names_what_goes_along(world):
    world.run("link add x type bridge \n address add 192.0.2.1/24 dev x")
    check = await checked(Link(name="x", type="macvlan", parent="v0", force=True, netns=world.name))
    assert check.actions == (
        "removed a link x with type bridge; with it goes the address 192.0.2.1/24",
        "created the macvlan x",
    )


CUT_OFF = {
    "the last address of the link": (
        "address add 192.0.2.1/24 dev v0 \n route add default via 192.0.2.9",
        partial(Address, name="192.0.2.1/24", link="v0", ensure="absent"),
        "refusing to remove 192.0.2.1/24 from v0: the default route would be removed with it",
    ),
    "the address from which it is": (
        """
        address add 192.0.2.1/24 dev v0
        address add 198.51.100.1/24 dev v0
        route add default via 192.0.2.9 src 192.0.2.1
        """,
        partial(Address, name="192.0.2.1/24", link="v0", ensure="absent"),
        "refusing to remove 192.0.2.1/24 from v0: the default route would be removed with it",
    ),
    "an mtu too small for IPv6": (
        "address add 2001:db8::1/64 dev v0 nodad \n route add default via 2001:db8::9",
        partial(Link, name="v0", mtu=1200),
        "refusing to set mtu 1200 on v0, which leaves no IPv6: it carries the default route",
    ),
}


@pytest.mark.parametrize("case", CUT_OFF)
async def test_what_takes_the_default_route_along_needs_force(world, case):
    await needs_force(world, *CUT_OFF[case])


async def test_a_member_of_a_bond_needs_force_or_the_kernel_is_said_to_lack_bonds(world):
    if "bond" in types_the_kernel_lacks():
        check = await checked(Link(name="bond0", type="bond", netns=world.name))
        assert check.error.startswith("this kernel can't make a bond")
        return
    await needs_force(
        world,
        """
        link add bond0 type bond
        address add 192.0.2.1/24 dev v0
        route add default via 192.0.2.9
        """,
        partial(Link, name="v0", master="bond0"),
        "refusing to take down v0, as bond0 asks of a member: it carries the default route",
    )


async def needs_force(world, commands, resource, words):
    """After the commands, the resource is refused with these words, changes nothing, and is applied by force."""
    world.run(commands)
    before = world.everything()
    check = await checked(resource(netns=world.name))
    assert (check.error, check.hint) == (words, "set force: true if that is intended")
    assert world.everything() == before
    check = await checked(resource(netns=world.name, force=True))
    assert check.result is Result.CHANGED
    assert "default via" in check.actions[0]
    assert not world.routes()


async def test_a_replaced_route_keeps_what_else_it_had(world):
    world.run(
        """
        address add 192.0.2.1/24 dev v0
        address add 192.0.2.2/24 dev v0
        route add 10.0.0.0/8 via 192.0.2.8 src 192.0.2.2 mtu 1400 initcwnd 20 proto bird
        """
    )
    await checked(Route(name="10.0.0.0/8", gateway="192.0.2.9", netns=world.name))
    (route,) = world.routes()
    assert route == "10.0.0.0/8 via 192.0.2.9 dev v0 proto static src 192.0.2.2 mtu 1400 initcwnd 20"
