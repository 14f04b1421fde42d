"""The network kinds on the real kernel, each test in its own namespace: made, changed, removed, refused."""

from functools import partial

import pytest
from network_worlds import types_the_kernel_lacks

from reactor import RunOptions
from reactor.engine.events import Checked, Result
from reactor.resources.network import Address, Link, Route
from reactor.testing.story import converge_once


async def converge(*resources, noop=False):
    """The checks of one run, by name."""
    _, story = await converge_once(*resources, options=RunOptions(noop=noop))
    return {check.ref: check for check in story.all(Checked)}


async def apply(resource):
    """The one check of one resource, which must not have to be done twice."""
    (check,) = (await converge(resource)).values()
    if check.result is not Result.FAILED:
        (again,) = (await converge(resource)).values()
        assert again.result is Result.OK, again
    return check


async def test_a_new_bridge_keeps_its_mtu_and_address_when_a_port_comes(world):
    inside = {"netns": world.name}
    bridge = Link(name="x", type="bridge", mtu=1400, address="fe:00:00:00:00:01", **inside)
    resources = bridge, Link(name="p", type="veth", peer="q", master="x", **inside)
    await converge(*resources)
    assert (world.link("x")["mtu"], world.link("x")["address"]) == (1400, "fe:00:00:00:00:01")
    assert {check.result for check in (await converge(*resources)).values()} == {Result.OK}


MADE = {
    "bridge": {},
    "veth": {"peer": "y"},
    "vlan": {"parent": "v0", "id": 5},
    "macvlan": {"parent": "v0"},
    "vxlan": {"id": 5, "remote": "192.0.2.9", "parent": "v0"},
    "bond": {"mode": "active-backup"},
    "dummy": {},
}


@pytest.mark.parametrize("kind", MADE)
async def test_a_link_is_made_or_the_kernel_is_said_to_lack_its_type(world, kind):
    before = set(world.links())
    check = await apply(Link(name="x", type=kind, netns=world.name, mtu=1400, **MADE[kind]))
    if kind in types_the_kernel_lacks():
        assert check.error.startswith(f"this kernel can't make a {kind}")
        assert "module" in check.hint
        assert set(world.links()) == before
        return
    found = world.link("x")
    assert check.actions == (f"created the {kind} x",)
    assert found["linkinfo"]["info_kind"] == kind
    assert "UP" in found["flags"]
    assert found["mtu"] == 1400


def test_the_kernel_of_the_tests_has_some_types():
    assert not {"bridge", "veth", "macvlan", "vxlan"} & types_the_kernel_lacks()


async def test_a_whole_network_is_made_in_one_run_and_left_alone_in_the_next(world):
    inside = {"netns": world.name}

    def network():
        return (
            Route(name="default", gateway="192.0.2.9", link="br0", **inside),
            Route(
                name="default6", destination="default", gateway="2001:db8::9", link="br0", metric=7, **inside
            ),
            Route(name="10.0.0.0/8", link="br0", table=1000, **inside),
            Address(name="192.0.2.1/24", link="br0", **inside),
            Address(name="2001:db8::1/64", link="br0", **inside),
            Link(name="w0", type="veth", peer="w1", master="br0", **inside),
            Link(name="w1", address="02:00:00:00:00:01", mtu=1400, **inside),
            Link(name="br0", type="bridge", **inside),
        )

    first = await converge(*network())
    assert {check.result for check in first.values()} == {Result.CHANGED}
    assert world.addresses("br0") == {"192.0.2.1/24", "2001:db8::1/64"}
    assert world.link("w0")["master"] == "br0"
    assert (world.link("w1")["address"], world.link("w1")["mtu"]) == ("02:00:00:00:00:01", 1400)
    assert world.routes() == {
        "default via 192.0.2.9 dev br0 proto static",
        "default via 2001:db8::9 dev br0 proto static metric 7 pref medium",
        "10.0.0.0/8 dev br0 table 1000 proto static scope link",
    }
    before = world.everything()
    again = await converge(*network())
    assert {check.result for check in again.values()} == {Result.OK}
    assert world.everything() == before


async def test_noop_says_all_that_would_be_done_and_does_nothing(world):
    before = world.everything()
    inside = {"netns": world.name}
    checks = await converge(
        Link(name="br0", type="bridge", **inside),
        Link(name="w0", type="veth", peer="w1", master="br0", **inside),
        Link(name="w1", **inside),
        Address(name="192.0.2.1/24", link="br0", **inside),
        Route(name="default", gateway="192.0.2.9", link="br0", **inside),
        noop=True,
    )
    assert {check.result for check in checks.values()} == {Result.WOULD_CHANGE}
    assert checks["link#w1"].actions == ("Would have set up the link",)
    assert world.everything() == before


FAR = "the gateway is on no network of the link v0"
GATEWAYS = [
    ("192.0.2.9", "v0", [], FAR),
    ("192.0.2.9", "v0", ["address add 192.0.2.1/24 dev v0"], None),
    ("192.0.2.9", "v0", ["address add 192.0.2.1/24 dev v1"], FAR),
    ("192.0.2.1", "v0", ["address add 192.0.2.1/24 dev v0"], None),
    ("2001:db8::1", "v0", ["address add 2001:db8::1/64 dev v0 nodad"], FAR),
    ("192.0.2.9", None, ["address add 192.0.2.1/24 dev v1"], None),
    ("192.0.2.9", None, ["address add 198.51.100.1/24 dev v1"], "the gateway is on no link that is up"),
    ("2001:db8::9", "v0", [], FAR),
    ("2001:db8::9", "v0", ["address add 2001:db8::1/64 dev v0 nodad"], None),
    ("fe80::9", "v0", [], None),
]


@pytest.mark.parametrize(("gateway", "link", "there", "problem"), GATEWAYS)
async def test_a_dry_run_fails_where_the_kernel_refuses_a_gateway(world, gateway, link, there, problem):
    for each in there:
        world.run(each)
    route = Route(name="default", gateway=gateway, link=link, netns=world.name)
    before = world.everything()
    dry = (await converge(route, noop=True))[route.ref]
    assert world.everything() == before
    real = (await converge(route))[route.ref]
    expected = (Result.WOULD_CHANGE, Result.CHANGED) if problem is None else (Result.FAILED, Result.FAILED)
    assert (dry.result, real.result) == expected, (dry.error, real.error)
    assert problem is None or dry.error.endswith(problem)


TABLES = [
    ("192.0.2.9", [], "the gateway is on no link that is up"),
    ("192.0.2.9", ["address add 192.0.2.1/24 dev v0"], None),
    ("192.0.2.9", ["route add 192.0.2.0/24 dev v0 table 77"], None),
    ("192.0.2.9", ["route add default dev v0 table 77"], None),
    ("192.0.2.9", ["route add 192.0.2.0/24 dev v0 table 78"], "the gateway is on no link that is up"),
    ("2001:db8::9", ["-6 route add 2001:db8::/64 dev v0 table 77"], None),
    ("2001:db8::9", ["-6 route add 2001:db9::/64 dev v0 table 77"], "the gateway is on no link that is up"),
]


@pytest.mark.parametrize(("gateway", "there", "problem"), TABLES)
async def test_a_dry_run_fails_where_the_kernel_refuses_a_gateway_in_another_table(
    world, gateway, there, problem
):
    for each in there:
        world.run(each)
    network = "198.51.100.0/24" if "." in gateway else "2001:db8:5::/64"
    route = Route(name=network, gateway=gateway, table=77, netns=world.name)
    before = world.everything()
    dry = (await converge(route, noop=True))[route.ref]
    assert world.everything() == before
    real = (await converge(route))[route.ref]
    expected = (Result.WOULD_CHANGE, Result.CHANGED) if problem is None else (Result.FAILED, Result.FAILED)
    assert (dry.result, real.result) == expected, (dry.error, real.error)
    assert problem is None or dry.error.endswith(problem)


LINKS = {
    "a bridge in a bridge": {"name": "br1", "master": "br0"},
    "a new bridge in a bridge": {"name": "br2", "type": "bridge", "master": "br0"},
    "a member of a veth": {"name": "br1", "master": "v0"},
    "a large vlan": {"name": "v0.5", "type": "vlan", "parent": "v0", "id": 5, "mtu": 9000},
    "a large one whose parent is not declared": {"name": "m0", "mtu": 9000},
    "the loopback link in a bridge": {"name": "lo", "master": "br0"},
    "a vlan on the loopback link": {"name": "lo.5", "type": "vlan", "parent": "lo", "id": 5},
    "a macvlan on the loopback link": {"name": "m1", "type": "macvlan", "parent": "lo"},
}


@pytest.mark.parametrize("properties", LINKS.values(), ids=LINKS)
async def test_a_dry_run_of_a_link_fails_with_the_words_of_the_run(world, properties):
    for name in ("br0", "br1"):
        world.run(f"link add {name} type bridge")
    world.run("link add m0 link v0 type macvlan")
    link = Link(netns=world.name, **properties)
    before = world.everything()
    dry = (await converge(link, noop=True))[link.ref]
    assert world.everything() == before
    real = (await converge(link))[link.ref]
    assert (dry.result, real.result) == (Result.FAILED, Result.FAILED)
    assert (dry.error, dry.hint) == (real.error, real.hint)
    assert "could not" not in real.error
    assert real.hint


async def test_a_dry_run_waits_for_the_address_that_a_gateway_needs(world):
    address = Address(name="192.0.2.1/24", link="v0", netns=world.name)
    route = Route(name="default", gateway="192.0.2.9", link="v0", netns=world.name)
    for noop, expected in ((True, Result.WOULD_CHANGE), (False, Result.CHANGED)):
        checks = await converge(route, address, noop=noop)
        assert {check.result for check in checks.values()} == {expected}


async def test_a_dry_run_looks_past_the_bridge_that_would_come_for_the_parent_that_would_not(world):
    inside = {"netns": world.name}
    bridge = Link(name="br0", type="bridge", **inside)
    vlan = Link(name="x", type="vlan", parent="none", id=5, master="br0", **inside)
    checks = await converge(bridge, vlan, noop=True)
    assert checks[bridge.ref].result is Result.WOULD_CHANGE
    assert (checks[vlan.ref].result, checks[vlan.ref].error) == (Result.FAILED, "there is no link none")


ADDRESSES = [
    ([], "192.0.2.1/24", "present", ["added 192.0.2.1/24 to v0"], {"192.0.2.1/24"}),
    ([], "2001:db8::1/64", "present", ["added 2001:db8::1/64 to v0"], {"2001:db8::1/64"}),
    ([], "2001:DB8:0::1/64", "present", ["added 2001:db8::1/64 to v0"], {"2001:db8::1/64"}),
    ([], "::ffff:192.0.2.1/128", "present", None, {"::ffff:192.0.2.1/128"}),
    (
        ["192.0.2.1/32"], "192.0.2.1/24", "present",
        ["added 192.0.2.1/24 to v0", "removed 192.0.2.1/32 from v0"], {"192.0.2.1/24"},
    ),
    (
        ["192.0.2.1/32", "192.0.2.1/24"], "192.0.2.1/24", "present",
        ["removed 192.0.2.1/32 from v0"], {"192.0.2.1/24"},
    ),
    (
        ["2001:db8::1/128"], "2001:db8::1/64", "present",
        ["changed the prefix length of 2001:db8::1 on v0 from /128 to /64"], {"2001:db8::1/64"},
    ),
    (["192.0.2.1/24", "192.0.2.2/24"], "192.0.2.2/24", "absent", ["removed 192.0.2.2/24 from v0"], {"192.0.2.1/24"}),
    (["2001:db8::1/64"], "2001:db8::1/64", "absent", ["removed 2001:db8::1/64 from v0"], set()),
    (["192.0.2.1 peer 192.0.2.9/32"], "192.0.2.1/32", "absent", ["removed 192.0.2.1/32 from v0"], set()),
    ([], "192.0.2.1/24", "absent", [], set()),
]  # fmt: skip


@pytest.mark.parametrize("row", ADDRESSES, ids=str)
async def test_an_address_is_added_changed_or_removed_and_others_stay(world, row):
    there, name, ensure, said, left = row
    for each in there:
        world.run(f"address add {each} dev v0")
    check = await apply(Address(name=name, link="v0", ensure=ensure, netns=world.name))
    assert said is None or list(check.actions) == said
    assert world.addresses("v0") == left


VIA, ON = "via 192.0.2.9 dev v0", "dev v0"
ROUTES = [
    ([], {"gateway": "192.0.2.9"}, f"10.0.0.0/8 {VIA} proto static"),
    ([], {"link": "v0"}, f"10.0.0.0/8 {ON} proto static scope link"),
    ([], {"gateway": "192.0.2.9", "link": "v0", "metric": 5}, f"10.0.0.0/8 {VIA} proto static metric 5"),
    ([f"10.0.0.0/8 {VIA}"], {"gateway": "192.0.2.9"}, f"10.0.0.0/8 {VIA}"),
    (["10.0.0.0/8 via 192.0.2.8"], {"gateway": "192.0.2.9"}, f"10.0.0.0/8 {VIA} proto static"),
    (["10.0.0.0/8 dev v1"], {"link": "v0"}, f"10.0.0.0/8 {ON} proto static scope link"),
    (["blackhole 10.0.0.0/8"], {"gateway": "192.0.2.9"}, f"10.0.0.0/8 {VIA} proto static"),
    (
        ["10.0.0.0/8 nexthop via 192.0.2.8 nexthop via 192.0.2.9"],
        {"gateway": "192.0.2.9"}, f"10.0.0.0/8 {VIA} proto static",
    ),
    (["10.0.0.0/8 via inet6 fe80::1 dev v0"], {"gateway": "192.0.2.9"}, f"10.0.0.0/8 {VIA} proto static"),
]  # fmt: skip


@pytest.mark.parametrize(("there", "properties", "left"), ROUTES)
async def test_there_is_one_route_as_declared_whatever_was_there(world, there, properties, left):
    world.run("address add 192.0.2.1/24 dev v0")
    for each in there:
        world.run(f"route add {each}")
    check = await apply(Route(name="10.0.0.0/8", netns=world.name, **properties))
    assert check.error is None
    assert world.routes() == {left}


NEXTHOPS = {
    "one": ("10.0.0.0/8", "nexthop add id 1 via 192.0.2.9 dev v0"),
    "one of IPv6": ("2001:db8:1::/48", "nexthop add id 1 via 2001:db8::9 dev v0"),
    "one to nowhere": ("10.0.0.0/8", "link set lo up \n nexthop add id 1 blackhole"),
    "a group": (
        "10.0.0.0/8",
        """
        nexthop add id 8 via 192.0.2.8 dev v0
        nexthop add id 9 via 192.0.2.9 dev v0
        nexthop add id 1 group 8/9
        """,
    ),
}


@pytest.mark.parametrize("nexthop", NEXTHOPS)
async def test_a_route_by_a_nexthop_object_is_removed(world, nexthop):
    destination, commands = NEXTHOPS[nexthop]
    world.run("address add 192.0.2.1/24 dev v0 \n address add 2001:db8::1/64 dev v0 nodad")
    world.run(f"{commands} \n route add {destination} nhid 1")
    check = await apply(Route(name=destination, ensure="absent", netns=world.name))
    assert check.error is None
    assert world.routes() == set()


async def test_the_extra_routes_go_and_the_one_in_use_is_replaced_in_place(world):
    world.run(
        """
        address add 192.0.2.1/24 dev v0
        route append 10.0.0.0/8 via 192.0.2.7
        route append 10.0.0.0/8 via 192.0.2.8
        route append 10.0.0.0/8 via 192.0.2.9
        """
    )
    check = await apply(Route(name="10.0.0.0/8", gateway="192.0.2.9", netns=world.name))
    assert check.actions == (
        "changed the route from via 192.0.2.7 on v0 and via 192.0.2.8 on v0 and via 192.0.2.9 on v0 to via 192.0.2.9",
    )
    assert world.routes() == {f"10.0.0.0/8 {VIA} proto static"}


async def test_other_metrics_tables_and_types_of_service_are_left_alone(world):
    world.run(
        """
        address add 192.0.2.1/24 dev v0
        route add 10.0.0.0/8 via 192.0.2.8 metric 9
        route add 10.0.0.0/8 via 192.0.2.8 table 7
        route add 10.0.0.0/8 via 192.0.2.8 tos 0x10
        route add 10.0.0.0/9 via 192.0.2.8
        """
    )
    before = world.routes()
    await apply(Route(name="10.0.0.0/8", gateway="192.0.2.9", netns=world.name))
    assert world.routes() == before | {f"10.0.0.0/8 {VIA} proto static"}
    await apply(Route(name="10.0.0.0/8", ensure="absent", netns=world.name))
    assert world.routes() == before


async def test_routes_for_some_sources_only_are_left_alone(world):
    world.run(
        """
        address add 2001:db8::1/64 dev v0 nodad
        route add 2001:db8:1::/48 from 2001:db8:2::/48 via 2001:db8::8
        """
    )
    before = world.routes()
    await apply(Route(name="2001:db8:1::/48", gateway="2001:db8::9", netns=world.name))
    wanted = "2001:db8:1::/48 via 2001:db8::9 dev v0 proto static metric 1024 pref medium"
    assert world.routes() == before | {wanted}
    await apply(Route(name="2001:db8:1::/48", ensure="absent", netns=world.name))
    assert world.routes() == before


@pytest.mark.parametrize(
    "resource",
    [
        partial(Address, name="2001:db8::1/64"),
        partial(Route, name="2001:db8::/64"),
        partial(Route, name="2001:db8::/64", gateway="fe80::1"),
    ],
)
async def test_a_link_whose_mtu_is_too_small_for_ipv6_is_said_to_be_so(world, resource):
    world.run("link set v0 mtu 1279")
    check = await apply(resource(link="v0", netns=world.name))
    assert check.error == "v0 has no IPv6: its mtu is 1279, and IPv6 needs 1280"
    assert check.hint == "raise it: ip link set v0 mtu 1280"


@pytest.mark.parametrize("noop", [False, True])
async def test_a_link_that_is_not_made_is_not_reported_to_be_managed(world, noop):
    (check,) = (await converge(Link(name="nope", netns=world.name), noop=noop)).values()
    assert check.error == "there is no link nope"
    assert check.hint.startswith("add its type")


REFUSED = [
    (lambda inside: Link(name="nope", **inside), "there is no link nope"),
    (lambda inside: Link(name="v0", master="nope", **inside), "there is no link nope"),
    (lambda inside: Link(name="x", type="macvlan", parent="nope", **inside), "there is no link nope"),
    (lambda inside: Link(name="v0", master="v1", **inside), "v1 is neither a bridge nor a bond"),
    (lambda inside: Link(name="x", type="bridge", master="v1", **inside), "v1 is neither a bridge nor a bond"),
    (lambda inside: Link(name="v0", type="bridge", **inside), "there is a link v0 with type veth"),
    (lambda inside: Link(name="lo", ensure="absent", **inside), "could not remove lo: "),
    (lambda inside: Address(name="192.0.2.1/24", link="nope", **inside), "there is no link nope"),
    (lambda inside: Route(name="10.0.0.0/8", link="nope", **inside), "there is no link nope"),
    (lambda inside: Route(name="10.0.0.0/8", gateway="192.0.2.9", **inside), "Nexthop has invalid gateway"),
    (lambda _: Link(name="lo", netns="reactor-nowhere"), "there is no network namespace reactor-nowhere"),
    (lambda _: Address(name="192.0.2.1/24", link="lo", netns="reactor-nowhere"), "there is no network namespace"),
    (lambda _: Route(name="default", link="lo", netns="reactor-nowhere"), "there is no network namespace"),
]  # fmt: skip


ROLES = [
    ("link add m0 link v0 type macvlan", partial(Link, name="v0", master="br0"), "v0 can't belong to br0"),
    (
        "link set v0 master br0",
        partial(Link, name="m0", type="macvlan", parent="v0"),
        "m0 can't be on v0",
    ),
]


@pytest.mark.parametrize(("commands", "resource", "words"), ROLES)
async def test_a_link_for_which_another_role_is_wanted_than_it_has_is_reported_which_there_are(
    world, commands, resource, words
):
    world.run(f"link add br0 type bridge \n {commands}")
    before = world.everything()
    check = await apply(resource(netns=world.name))
    assert check.error == words
    assert check.hint.startswith(
        "a link is a member of one bridge or bond, or has macvlans on it, but not both"
    )
    assert world.everything() == before


async def test_a_macvlan_is_not_made_on_a_macvlan(world):
    """The kernel would make it on what that is on, and it would never be as desired."""
    world.run("link add m0 link v0 type macvlan")
    before = world.everything()
    check = await apply(Link(name="m1", type="macvlan", parent="m0", netns=world.name))
    assert check.error == "m0 is a macvlan, and m1 would be created on its parent instead"
    assert check.hint == "use that one as `parent`; see: ip link show m0"
    assert world.everything() == before


async def test_a_gateway_behind_a_link_that_is_down_is_said_to_need_one_that_is_up(world):
    world.run("address add 192.0.2.1/24 dev v0 \n link set v0 down")
    check = await apply(Route(name="10.0.0.0/8", gateway="192.0.2.9", netns=world.name))
    assert check.hint == "correct the gateway, or give a link that is up an address in its network"


ALTERNATIVE = [
    lambda inside: Link(name="enp0s3", mtu=1400, **inside),
    lambda inside: Link(name="x", type="macvlan", parent="enp0s3", **inside),
    lambda inside: Address(name="192.0.2.1/24", link="enp0s3", **inside),
    lambda inside: Route(name="10.0.0.0/8", link="enp0s3", **inside),
]


@pytest.mark.parametrize("make", ALTERNATIVE)
async def test_a_link_is_named_by_its_name_and_by_no_other(world, make):
    """The kernel would find it, but tells of what changes by its name only."""
    world.run("link property add dev v0 altname enp0s3")
    before = world.everything()
    check = await apply(make({"netns": world.name}))
    assert (check.error, check.hint) == ("enp0s3 is an alternative name of the link v0", "write v0")
    assert world.everything() == before


@pytest.mark.parametrize(("make", "words"), REFUSED)
async def test_what_can_not_be_done_is_said_in_words(world, make, words):
    before = world.everything()
    check = await apply(make({"netns": world.name}))
    assert words in check.error
    assert "Traceback" not in check.error
    assert "unexpectedly" not in check.error
    assert world.everything() == before


async def test_the_link_that_carries_the_default_route_is_not_cut_off(world):
    world.run(
        """
        link add m0 link v0 type macvlan mode bridge
        link set m0 up
        address add 192.0.2.1/24 dev m0
        route add default via 192.0.2.9
        """
    )
    before = world.everything()
    for name in ("m0", "v0", "v1"):  # the last two below it: what a macvlan is on, and the other end of that
        for properties, what in (({"state": "down"}, "take down"), ({"ensure": "absent"}, "remove")):
            check = await apply(Link(name=name, netns=world.name, **properties))
            assert check.error == f"refusing to {what} {name}: it carries the default route"
            assert check.hint == "set force: true if that is intended"
    assert world.everything() == before
    check = await apply(Link(name="m0", ensure="absent", force=True, netns=world.name))
    along = "the address 192.0.2.1/24 and the route default via 192.0.2.9 on m0"
    assert check.actions == (f"removed the link; with it go {along}",)


async def test_a_link_that_carries_no_default_route_is_taken_down_and_removed(world):
    world.run(
        """
        link add br0 type bridge
        address add 192.0.2.1/24 dev v0
        route add default via 192.0.2.9
        route add default via 192.0.2.9 table 7
        """
    )
    await apply(Link(name="br0", state="down", netns=world.name))
    await apply(Link(name="br0", ensure="absent", netns=world.name))
    assert "br0" not in world.links()


async def test_the_last_default_route_is_removed_only_by_force(world):
    world.run(
        """
        address add 192.0.2.1/24 dev v0
        route add default via 192.0.2.8
        route add default via 192.0.2.9 metric 5
        """
    )
    await apply(Route(name="default", ensure="absent", netns=world.name))
    (left,) = world.routes()
    check = await apply(Route(name="default", metric=5, ensure="absent", netns=world.name))
    assert check.error.startswith("refusing to remove the last default route")
    assert world.routes() == {left}
    await apply(Route(name="default", metric=5, ensure="absent", force=True, netns=world.name))
    assert not world.routes()


async def test_a_link_made_as_something_else_is_replaced_by_force(world):
    world.run("link add x link v0 type macvlan mode private")
    check = await apply(Link(name="x", type="macvlan", parent="v1", force=True, netns=world.name))
    assert check.actions == ("removed a link x with parent v0", "created the macvlan x")
    assert world.link("x")["link"] == "v1"
