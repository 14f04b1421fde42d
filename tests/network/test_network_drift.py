"""Drift of links, addresses and routes is announced by the kernel and undone by a running engine."""

import os
import random
from contextlib import suppress
from functools import partial

import pytest
import trio
from network_worlds import ip, namespace
from trio.testing import wait_all_tasks_blocked

from reactor.engine.events import Cause, Checked, EventsLost, Flapping, Result, WatcherChanged
from reactor.resource.watch import WatchState
from reactor.resources.network import Address, Link, Route
from reactor.testing.story import graph_of, running
from reactor.watchers import netlink_socket


def network(netns):
    """A bridge with one end of a veth in it, addresses and routes; with fixed MAC addresses, to compare."""
    inside = {"netns": netns}
    return [
        Link(name="br0", type="bridge", address="02:00:00:00:00:01", **inside),
        Link(name="br1", type="bridge", address="02:00:00:00:00:02", **inside),
        Link(
            name="w0", type="veth", peer="w1", master="br0", mtu=1400, address="02:00:00:00:00:03", **inside
        ),
        Link(name="w1", state="down", address="02:00:00:00:00:04", **inside),
        Link(name="gone", ensure="absent", **inside),
        Address(name="192.0.2.1/24", link="br0", **inside),
        Address(name="2001:db8::1/64", link="br0", **inside),
        Address(name="192.0.2.7/24", link="br0", ensure="absent", **inside),
        Route(name="10.0.0.0/8", gateway="192.0.2.9", link="br0", **inside),
        Route(name="10.1.0.0/16", gateway="192.0.2.9", metric=5, **inside),
        Route(name="2001:db8:1::/48", gateway="2001:db8::9", link="br0", **inside),
        Route(name="10.2.0.0/16", link="br0", table=1000, **inside),
        Route(name="10.3.0.0/16", ensure="absent", **inside),
    ]


DRIFTS = {
    "link down": "link set br0 down",
    "link up": "link set w1 up",
    "mtu": "link set w0 mtu 1300",
    "MAC address": "link set w1 address 02:00:00:00:00:99",
    "master taken away": "link set w0 nomaster",
    "another master": "link set w0 master br1",
    "link deleted": "link delete w0",
    "bridge deleted": "link delete br0",
    "link replaced": "link delete br1 \n link add br1 type bridge",
    "link renamed": "link set br1 down \n link set br1 name gone",
    "unwanted link": "link add gone type bridge",
    "address deleted": "address delete 192.0.2.1/24 dev br0",
    "IPv6 address deleted": "address delete 2001:db8::1/64 dev br0",
    "addresses flushed": "address flush dev br0",
    "unwanted address": "address add 192.0.2.7/24 dev br0",
    "another prefix length": "address add 192.0.2.1/25 dev br0 \n address delete 192.0.2.1/24 dev br0",
    "route deleted": "route delete 10.0.0.0/8",
    "IPv6 route deleted": "-6 route delete 2001:db8:1::/48",
    "route replaced": "route replace 10.0.0.0/8 via 192.0.2.8",
    "route put before": "route prepend 10.0.0.0/8 via 192.0.2.8",
    "route of another table deleted": "route delete 10.2.0.0/16 table 1000",
    "unwanted route": "route add 10.3.0.0/16 via 192.0.2.9",
    "routes flushed": "route flush table 1000 \n route flush proto static",
    "all at once": "link delete br0 \n link delete br1 \n link delete w0 \n link add gone type bridge",
}


def repaired(story, since=0):
    """What was repaired, in order, leaving out the first ``since`` events."""
    checks = [event for event in story.events[since:] if isinstance(event, Checked)]
    return [check.ref for check in checks if Cause.DRIFT in check.causes and check.result is Result.CHANGED]


async def settled(story):
    """Wait for the end of the first convergence and of what it set off itself; how many events that were."""
    await story.converged()
    await wait_all_tasks_blocked(0.01)
    await story.rest()
    return len(story.events)


async def told_all(world, *links):
    """Wait until the kernel has told that the links are up or down: it does so a second late, after other changes."""
    with trio.fail_after(60):
        while any(world.link(name)["operstate"] == "UNKNOWN" for name in links):
            await trio.lowlevel.checkpoint()


@pytest.mark.parametrize("drift", DRIFTS)
async def test_drift_is_undone(drift):
    with namespace() as world:
        async with running(*network(world.name)) as story:
            since = await settled(story)
            desired = world.everything()
            world.run(DRIFTS[drift])
            await story.until(lambda: repaired(story, since) and world.everything() == desired)
            assert not story.all(Flapping)
            assert not story.all(EventsLost)


@pytest.mark.parametrize(
    "change",
    [
        "address add 192.0.2.99/24 dev br0",
        "address add 198.51.100.1/24 dev br1",
        "route add 10.99.0.0/16 via 192.0.2.9",
        "route add 10.0.0.0/8 via 192.0.2.8 metric 9",
        "link add other type bridge",
    ],
)
async def test_what_is_not_managed_is_left_alone(change):
    with namespace() as world:
        async with running(*network(world.name)) as story:
            since = await settled(story)
            world.run(change)
            changed = world.everything()
            world.run("link set w0 mtu 1300")  # is heard after that
            await story.until(lambda: "link#w0" in repaired(story, since))
            await story.rest()
            assert repaired(story, since) == ["link#w0"]
            assert world.everything() == changed


async def test_only_what_a_change_is_about_is_checked():
    with namespace() as world:
        async with running(*network(world.name)) as story:
            await settled(story)
            await told_all(world, "br0", "br1")
            since = await settled(story)
            world.run("address delete 192.0.2.1/24 dev br0")
            await story.until(lambda: "address#192.0.2.1/24" in repaired(story, since))
            await story.rest()
            checked = {event.ref for event in story.events[since:] if isinstance(event, Checked)}
            routes_of_br0 = {"route#10.0.0.0/8", "route#2001:db8:1::/48", "route#10.2.0.0/16"}
            routes_of_any_link = {"route#10.1.0.0/16"}
            assert checked <= {"address#192.0.2.1/24"} | routes_of_br0 | routes_of_any_link


async def test_random_drift_of_many_addresses_is_undone_each_time_once():
    """200 deletions among 50 addresses, by a process that does not wait for us."""
    chance = random.Random(5)
    with namespace() as world:
        world.run("link add v0 type veth peer name v1 \n link set v0 up")
        names = [f"10.0.{number}.1/24" for number in range(40)] + [
            f"2001:db8::{n:x}/64" for n in range(1, 11)
        ]
        deleted = dict.fromkeys(names, 0)
        async with running(*(Address(name=name, link="v0", netns=world.name) for name in names)) as story:
            since = await settled(story)
            for _ in range(10):
                chosen = chance.sample(names, 20)
                world.run_at_once(f"address delete {name} dev v0" for name in chosen)
                for name in chosen:
                    deleted[name] += 1
                await story.until(lambda: len(repaired(story, since)) >= sum(deleted.values()))
                assert world.addresses("v0") == set(names)
            await story.rest()
            assert sum(deleted.values()) == 200
            assert {name: repaired(story, since).count(f"address#{name}") for name in names} == deleted
            assert not story.all(Flapping)


async def test_a_primary_address_that_takes_the_others_with_it_brings_them_all_back():
    with namespace() as world:
        world.run("link add v0 type veth peer name v1")
        names = {f"192.0.2.{number}/24" for number in range(1, 51)}
        async with running(*(Address(name=name, link="v0", netns=world.name) for name in names)) as story:
            since = await settled(story)
            first = world.ip("address", "show", "dev", "v0", "primary").split("inet ")[1].split()[0]
            world.run(f"address delete {first} dev v0")
            await story.until(lambda: len(repaired(story, since)) >= 50)
            assert world.addresses("v0") == names


async def test_a_failed_address_is_added_as_soon_as_its_link_comes(world):
    async with running(Address(name="192.0.2.1/24", link="late", netns=world.name)) as story:
        await story.until(lambda: story.result("address#192.0.2.1/24") is Result.FAILED)
        world.run("link add late type bridge")
        await story.converged()
        assert world.addresses("late") == {"192.0.2.1/24"}


ON_A_PARENT = [
    ({"type": "macvlan", "mtu": 1400}, 1400),
    ({"type": "vxlan", "id": 5, "mtu": 1350}, 1400),
    ({"type": "vxlan", "id": 5, "mtu": 1350, "remote": "2001:db8::9"}, 1420),
]


@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize(("properties", "needed"), ON_A_PARENT)
async def test_the_mtu_that_the_parent_has_no_room_for_is_set_as_soon_as_it_has(
    world, properties, needed, is_there
):
    child = Link(name="x", parent="v0", netns=world.name, meta={"retry": 0}, **properties)
    async with running(*([child] if is_there else [Link(name="v0", netns=world.name)])) as story:
        await settled(story)
        world.run(f"link set v0 mtu {needed - 1}")
        if is_there:
            world.run(f"link set x mtu {child.mtu - 1}")
        else:
            story.engine.reload(graph_of([child]))
        await story.until(lambda: story.result("link#x") is Result.FAILED)
        check = story.checks("link#x")[-1]
        assert check.error == f"v0 has an mtu of {needed - 1}, and for {child.mtu} on x it needs {needed}"
        assert check.hint == f"raise it: ip link set v0 mtu {needed}"
        world.run(f"link set v0 mtu {needed}")
        await story.until(lambda: story.result("link#x") is not Result.FAILED)
        assert world.link("x")["mtu"] == child.mtu


async def test_a_veth_is_made_as_soon_as_the_name_of_its_other_end_is_free(world):
    world.run("link add x1 type bridge")
    async with running(Link(name="x0", type="veth", peer="x1", netns=world.name, meta={"retry": 0})) as story:
        await story.until(lambda: story.result("link#x0") is Result.FAILED)
        check = story.checks("link#x0")[-1]
        assert check.error == "there is a link x1, which is not the other end of a veth x0"
        assert check.hint == "remove or rename it first: ip link delete x1"
        world.run("link delete x1")
        await story.converged()
        assert world.link("x1")["link"] == "x0"


async def test_an_address_that_another_host_has_is_an_error_until_it_is_given_up_there(world):
    ip("netns", "exec", world.name, "sysctl", "-qw", "net.ipv6.conf.v0.accept_dad=1")
    world.run("address add 2001:db8::1/64 dev v1")
    async with running(Address(name="2001:db8::1/64", link="v0", netns=world.name)) as story:
        await story.until(lambda: story.result("address#2001:db8::1/64") is Result.FAILED)
        check = story.checks("address#2001:db8::1/64")[-1]
        assert check.error == "another host on v0 has 2001:db8::1, so the kernel does not use it here"
        world.run("address delete 2001:db8::1/64 dev v1")
        world.run(check.hint.partition(": ip ")[2])
        await story.until(lambda: story.checks("address#2001:db8::1/64")[-1].result is not Result.FAILED)
        assert world.addresses("v0") == {"2001:db8::1/64"}


async def test_a_failed_route_is_added_as_soon_as_its_gateway_can_be_reached(world):
    async with running(Route(name="10.0.0.0/8", gateway="192.0.2.9", netns=world.name)) as story:
        await story.until(lambda: story.result("route#10.0.0.0/8") is Result.FAILED)
        world.run("address add 192.0.2.1/24 dev v0")
        await story.converged()
        assert world.routes() == {"10.0.0.0/8 via 192.0.2.9 dev v0 proto static"}


NEXTHOPS = {
    "one": ("10.0.0.0/8", "192.0.2.9", "nexthop add id 1 via 192.0.2.9 dev v0"),
    "a group": (
        "10.0.0.0/8",
        "192.0.2.9",
        "nexthop add id 9 via 192.0.2.9 dev v0 \n nexthop add id 1 group 9",
    ),
    "one of IPv6": ("2001:db8:1::/48", "2001:db8::9", "nexthop add id 1 via 2001:db8::9 dev v0"),
}


@pytest.mark.parametrize("nexthop", NEXTHOPS)
async def test_a_route_comes_back_that_goes_with_its_nexthop_object(world, nexthop):
    destination, gateway, commands = NEXTHOPS[nexthop]
    world.run("address add 192.0.2.1/24 dev v0 \n address add 2001:db8::1/64 dev v0")
    world.run(f"{commands} \n route add {destination} nhid 1")
    async with running(Route(name=destination, gateway=gateway, netns=world.name)) as story:
        await settled(story)
        assert story.result(f"route#{destination}") is Result.OK
        world.run("nexthop delete id 1")
        await story.until(lambda: repaired(story))
        (route,) = world.routes()
        assert route.startswith(f"{destination} via {gateway} dev v0 proto static")


def switch_ipv6(world, value):
    ip("netns", "exec", world.name, "sysctl", "-qw", f"net.ipv6.conf.v0.disable_ipv6={value}")


@pytest.mark.parametrize(
    "resource",
    [partial(Address, name="2001:db8::1/64", link="v0"), partial(Route, name="2001:db8:1::/48", link="v0")],
)
async def test_what_went_with_ipv6_is_back_as_soon_as_that_is_switched_on_again(world, resource):
    """By what is heard: it is not tried again after a while, and no link-local address comes."""
    ip("netns", "exec", world.name, "sysctl", "-qw", "net.ipv6.conf.v0.addr_gen_mode=1")
    wanted = resource(netns=world.name, meta={"retry": 0})
    async with running(wanted) as story:
        await settled(story)
        before = world.everything()
        switch_ipv6(world, 1)
        await story.until(lambda: story.result(wanted.ref) is Result.FAILED)
        switch_ipv6(world, 0)
        await story.until(lambda: repaired(story))
        assert world.everything() == before


async def test_a_link_renamed_while_no_one_asked_for_links_is_known_by_its_name(world):
    unwanted = Route(name="10.3.0.0/16", ensure="absent", netns=world.name)
    wanted = Route(name="10.0.0.0/8", link="p0", netns=world.name)
    async with running(unwanted) as story:
        await story.converged()
        world.run(
            "link set v1 down \n link set v1 name p0 \n link set p0 up \n address add 192.0.2.1/24 dev p0"
        )
        with trio.fail_after(60):
            while world.link("p0")["operstate"] != "UP":  # until then, something of it is still to be told
                await trio.lowlevel.checkpoint()
        story.engine.reload(graph_of([unwanted, wanted]))
        await story.until(lambda: "10.0.0.0/8 dev p0 proto static scope link" in world.routes())
        await settled(story)
        world.run("address delete 192.0.2.1/24 dev p0")  # takes the routes of the link with it, unannounced
        await story.until(lambda: "route#10.0.0.0/8" in repaired(story))
        assert "10.0.0.0/8 dev p0 proto static scope link" in world.routes()


def heard(story):
    """How well the watcher of the link has heard, one state after the other."""
    return [event.state for event in story.all(WatcherChanged) if event.ref == "link#br0"]


async def test_a_namespace_may_come_go_and_come_again():
    with namespace() as world:
        ip("netns", "delete", world.name)
        resources = [Link(name="br0", type="bridge", netns=world.name)]
        async with running(*resources) as story:
            await story.until(lambda: story.result("link#br0") is Result.FAILED)
            for _ in range(2):
                ip("netns", "add", world.name)
                await story.until(lambda: story.result("link#br0") is not Result.FAILED)
                assert "br0" in world.links()
                world.run("link set br0 down")
                await story.until(lambda: "UP" in world.link("br0")["flags"])
                ip("netns", "delete", world.name)
                await story.until(lambda: story.result("link#br0") is Result.FAILED)
                await story.until(lambda: heard(story)[-1] is WatchState.DEGRADED)
        ip("netns", "add", world.name)
        assert heard(story) == [WatchState.DEGRADED, WatchState.ARMED] * 2 + [WatchState.DEGRADED]


async def test_a_namespace_that_is_another_one_at_once_is_noticed():
    with namespace() as world:
        async with running(Link(name="br0", type="bridge", netns=world.name)) as story:
            await story.converged()
            ip("netns", "delete", world.name)
            ip("netns", "add", world.name)
            await story.until(lambda: "br0" in world.links())
            world.run("link set br0 down")
            await story.until(lambda: "UP" in world.link("br0")["flags"])


async def test_a_deleted_namespace_is_not_kept_alive(world):
    """The far end of a veth goes when the namespace goes that its near end is in."""
    with namespace() as other:
        world.run(f"link add far type veth peer name near netns {other.name}")
        async with running(Link(name="near", netns=other.name), Link(name="far", netns=world.name)) as story:
            await story.converged()
            ip("netns", "delete", other.name)
            await story.until(lambda: story.result("link#far") is Result.FAILED)
            assert "far" not in world.links()


def namespaces_of_threads():
    """The network namespaces that this process is in."""
    tasks = f"/proc/{os.getpid()}/task"
    found = set()
    for task in os.listdir(tasks):
        with suppress(FileNotFoundError, ProcessLookupError, PermissionError):  # it has just ended
            found.add(os.readlink(f"{tasks}/{task}/ns/net"))
    return found


async def test_the_process_itself_stays_in_its_namespace(world):
    ours = {os.readlink("/proc/self/ns/net")}
    async with running(Link(name="v0", mtu=1400, netns=world.name)) as story:
        await story.converged()
        world.run("link set v0 mtu 1300")
        await story.until(lambda: repaired(story))
        with trio.fail_after(60):
            while namespaces_of_threads() != ours:  # the last helper is on its way out
                await trio.lowlevel.checkpoint()


async def test_lost_notifications_are_said_and_everything_is_checked(monkeypatch, world):
    monkeypatch.setattr(netlink_socket, "RECEIVE_BUFFER", 4096)
    names = [f"192.0.2.{number}/24" for number in range(1, 4)]
    resources = [Address(name=name, link="v0", netns=world.name) for name in names]
    async with running(*resources, Link(name="v1", mtu=1400, netns=world.name)) as story:
        await story.converged()
        burst = [
            f"{verb} 10.0.0.{n}/32 dev v1"
            for n in range(1, 100)
            for verb in ("address add", "address delete")
        ]
        world.run_at_once([*burst, f"address delete {names[2]} dev v0", "link set v1 mtu 1300"])
        await story.until(lambda: world.link("v1")["mtu"] == 1400 and world.addresses("v0") == set(names))
        (first, *_) = story.all(EventsLost)
        assert first.watcher == "netlink"
        assert first.reason == f"the netlink buffer of the network namespace {world.name} overflowed"
        await story.rest()
        world.run("link set v1 mtu 1300")
        await story.until(lambda: world.link("v1")["mtu"] == 1400)
