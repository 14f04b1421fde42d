"""The netlink watcher: what a notification is about, who is marked for it, and who is not."""

import os
import subprocess
import sys
from contextlib import suppress
from types import SimpleNamespace

import pytest
import trio
from netlink_descriptors import netlink_sockets
from network_worlds import ip, namespace
from trio.testing import wait_all_tasks_blocked

from reactor.engine.events import EventsLost, WatcherChanged
from reactor.resource.watch import WatchSink, WatchState
from reactor.resources.network.rtnetlink import message
from reactor.testing.scripted import Scripted
from reactor.testing.story import running
from reactor.watchers import netlink, netlink_socket
from reactor.watchers.mounts import MountTable
from reactor.watchers.netlink import NetlinkWatch, NetlinkWatcher
from reactor.watchers.netlink_socket import unpack
from reactor.watchers.netlink_topics import LinkNames, Topic, WatchedTopic

NEW_LINK, DEL_LINK, NEW_ADDRESS, DEL_ADDRESS, NEW_ROUTE, DEL_ROUTE = 16, 17, 20, 21, 24, 25
NEIGHBOUR, DEL_NEXTHOP = 28, 105
BRIDGE_FAMILY = 7
V4, V6 = 2, 10


def link(kind, name, index, family=0):
    return message(kind, [("IFLA_MTU", 1500), ("IFLA_IFNAME", name)], index=index, family=family)


def address(kind, ip_address, index, **other):
    attrs = [("IFA_ADDRESS", other.get("peer", ip_address)), ("IFA_LOCAL", ip_address)]
    return message(kind, attrs, index=index, family=V6 if ":" in ip_address else V4, prefixlen=24)


def route(kind, destination, length, table, family=V4):
    attrs = [("RTA_TABLE", table), *([("RTA_DST", destination)] if destination else [])]
    return message(kind, attrs, family=family, dst_len=length, table=min(table, 252))


LINK_2 = {"link a", "link "}
SUBJECTS = [
    (link(NEW_LINK, "a", 2), LINK_2),
    (link(NEW_LINK, "b", 2), {"presence a", "presence b", "link a", "link b", "link "}),
    (link(NEW_LINK, "c", 3), {"presence c", "link c", "link "}),
    (link(DEL_LINK, "a", 2), {"presence a", *LINK_2}),
    (link(DEL_LINK, "a", 2, BRIDGE_FAMILY), LINK_2),
    (link(NEW_LINK, "a", 2, BRIDGE_FAMILY), LINK_2),
    (address(NEW_ADDRESS, "192.0.2.1", 2), {"address c0000201", "addresses a", "addresses "}),
    (address(DEL_ADDRESS, "192.0.2.1", 9), {"address c0000201", "addresses "}),
    (
        address(DEL_ADDRESS, "192.0.2.1", 2, peer="192.0.2.9"),
        {"address c0000201", "address c0000209", "addresses a", "addresses "},
    ),
    (address(NEW_ADDRESS, "::1", 2), {f"address {'0' * 31}1", "addresses a", "addresses "}),
    (route(NEW_ROUTE, "10.0.0.0", 8, 254), {"route 254 0a000000/8"}),
    (route(DEL_ROUTE, "10.0.0.0", 8, 1000), {"route 1000 0a000000/8"}),
    (route(DEL_ROUTE, None, 0, 254), {"route 254 00000000/0"}),
    (route(DEL_ROUTE, None, 0, 254, V6), {f"route 254 {'0' * 32}/0"}),
    (link(NEW_LINK, "a", 2, V6), {"ipv6 a", "ipv6 "}),
    (link(DEL_LINK, "a", 2, V6), {"ipv6 a", "ipv6 "}),
    (message(NEW_LINK)._replace(type=DEL_NEXTHOP), {"nexthops "}),
    (message(NEW_LINK)._replace(type=NEIGHBOUR), set()),
]


@pytest.mark.parametrize(("frame", "subjects"), SUBJECTS)
def test_what_a_notification_is_about(frame, subjects):
    names = LinkNames()
    list(names.subjects(link(NEW_LINK, "a", 2)))
    assert {f"{each.topic.value[0]} {each.key}" for each in names.subjects(frame)} == subjects


def test_names_are_learnt_from_the_kernel_and_kept(world):
    names = LinkNames()
    names.load(world.name)
    index = world.link("v0")["ifindex"]
    assert WatchedTopic(Topic.ADDRESSES, "v0") in names.subjects(address(NEW_ADDRESS, "192.0.2.1", index))
    list(names.subjects(link(DEL_LINK, "v0", index)))
    assert WatchedTopic(Topic.ADDRESSES, "v0") not in names.subjects(address(NEW_ADDRESS, "192.0.2.1", index))


def listener(name, world, *subjects):
    return Scripted(name=name).watch_for(
        *(NetlinkWatch(world and world.name, subject) for subject in subjects)
    )


async def begun(scripted, times):
    with trio.fail_after(60):
        await scripted.script.begun(times)


@pytest.mark.parametrize(
    ("subject", "change"),
    [
        (WatchedTopic(Topic.LINK, "v0"), "link set v0 mtu 1400"),
        (WatchedTopic(Topic.LINK, ""), "link set v0 mtu 1400"),
        (WatchedTopic(Topic.LINK, "v1"), "link delete v0"),
        (WatchedTopic(Topic.LINK, "new"), "link add new type bridge"),
        (WatchedTopic(Topic.LINK, "v0"), "link set v0 name w0"),
        (WatchedTopic(Topic.PRESENCE, "v0"), "link set v0 name w0"),
        (WatchedTopic(Topic.PRESENCE, "new"), "link add new type bridge"),
        (WatchedTopic(Topic.ADDRESS, "c0000201"), "address add 192.0.2.1/24 dev v0"),
        (WatchedTopic(Topic.ADDRESS, f"20010db8{'0' * 23}1"), "address add 2001:db8::1/64 dev v0"),
        (WatchedTopic(Topic.ADDRESSES, "v0"), "address add 192.0.2.1/24 dev v0"),
        (WatchedTopic(Topic.ADDRESSES, "v0"), "address add 2001:db8::1/64 dev v0"),
        (WatchedTopic(Topic.ROUTE, "1000 0a000000/8"), "route add 10.0.0.0/8 dev v0 table 1000"),
        (WatchedTopic(Topic.ROUTE, f"254 20010db8{'0' * 24}/32"), "route add 2001:db8::/32 dev v0"),
    ],
)
async def test_a_change_marks_who_listens_for_it_and_no_other(world, subject, change):
    about_it, bystander = (
        listener("a", world, subject),
        listener("b", world, WatchedTopic(Topic.PRESENCE, "no")),
    )
    async with running(about_it, bystander, watchers={NetlinkWatch: NetlinkWatcher}) as story:
        await story.converged()
        before = len(about_it.script.checks)
        world.run(change)
        await begun(about_it, before + 1)
        assert len(bystander.script.checks) == 1


async def test_changed_settings_of_a_link_do_not_mark_who_asks_whether_it_is_there(world):
    asks, hears = (
        listener("a", world, WatchedTopic(Topic.PRESENCE, "v0")),
        listener("b", world, WatchedTopic(Topic.LINK, "v0")),
    )
    async with running(asks, hears, watchers={NetlinkWatch: NetlinkWatcher}) as story:
        await story.converged()
        world.run("link set v0 mtu 1400 \n link set v0 down")
        await begun(hears, 2)
        assert len(asks.script.checks) == 1


async def test_equal_names_in_another_namespace_are_something_else(world):
    with namespace() as other:
        other.run("link add v0 type bridge")
        here, there = (
            listener(name, each, WatchedTopic(Topic.LINK, "v0"))
            for name, each in (("a", world), ("b", other))
        )
        async with running(here, there, watchers={NetlinkWatch: NetlinkWatcher}) as story:
            await story.converged()
            other.run("link set v0 mtu 1400")
            await begun(there, 2)
            world.run("link set v0 mtu 1400")
            await begun(here, 2)


async def test_the_namespace_of_the_process_is_noticed_too():
    near, far = (f"r{os.getpid()}{end}" for end in "ab")
    hears = listener("a", None, WatchedTopic(Topic.LINK, near))
    async with running(hears, watchers={NetlinkWatch: NetlinkWatcher}) as story:
        await story.converged()
        ip("link", "add", near, "type", "veth", "peer", "name", far)
        try:
            await begun(hears, 2)
        finally:
            ip("link", "delete", near)


class Sink(WatchSink):
    """Takes what it is told."""

    def __init__(self):
        self.marks, self.reports = [], []

    def mark(self, vertex, delay=0.0):
        self.marks.append(vertex)

    def mark_all(self, reason):
        raise AssertionError(reason)

    def report(self, state, reason, vertex=None):
        self.reports.append((state, vertex))


async def test_there_is_one_socket_for_each_namespace_and_none_when_no_one_listens(world):
    before = netlink_sockets()
    watcher = NetlinkWatcher(Sink())
    watches = [
        NetlinkWatch(netns, WatchedTopic(Topic.LINK, f"l{n}"))
        for n in range(20)
        for netns in (None, world.name)
    ]
    for vertex, watch in enumerate(watches):
        await watcher.arm(watch, vertex)
    assert netlink_sockets() - before == 2
    for vertex, watch in enumerate(watches):
        watcher.disarm(watch, vertex)
    assert netlink_sockets() - before == 0
    await watcher.arm(watches[0], 0)
    assert netlink_sockets() - before == 1
    watcher.close()
    assert netlink_sockets() - before == 0


async def test_a_user_who_was_disarmed_is_not_marked(world):
    sink = Sink()
    watcher = NetlinkWatcher(sink)
    watch = NetlinkWatch(world.name, WatchedTopic(Topic.LINK, "v0"))
    for vertex in (1, 2):
        await watcher.arm(watch, vertex)
    watcher.disarm(watch, 1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watcher.run)
        world.run("link set v0 mtu 1400")
        with trio.fail_after(60):
            while not sink.marks:
                await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert set(sink.marks) == {2}
    watcher.close()


async def test_routes_wake_no_one_who_did_not_ask_for_them(world):
    sink = Sink()
    watcher = NetlinkWatcher(sink)
    await watcher.arm(NetlinkWatch(world.name, WatchedTopic(Topic.LINK, "v0")), 1)
    world.run("route add 10.0.0.0/8 dev v0")
    (listener,) = watcher._listeners.values()
    assert NEW_ROUTE not in types_waiting_at(listener)
    await watcher.arm(NetlinkWatch(world.name, WatchedTopic.route(254, bytes(4), 0)), 2)
    world.run("route add 10.1.0.0/16 dev v0")
    assert NEW_ROUTE in types_waiting_at(listener)
    watcher.close()


def types_waiting_at(listener):
    """Of what has come and was not read yet. Links may have more to say: that they have a carrier now."""
    found = set()
    with suppress(BlockingIOError):
        while data := listener._socket.recv(65536):
            found |= {frame.type for frame in unpack(data)}
    return found


async def test_a_namespace_that_may_not_be_entered_is_said_and_spoils_no_other(world):
    """In a user namespace of its own, where it has no rights over the network of others."""
    code = (
        "import trio\n"
        "from test_netlink_watcher import *\n"
        "async def main():\n"
        "    sink = Sink()\n"
        "    watcher = NetlinkWatcher(sink)\n"
        f"    await watcher.arm(NetlinkWatch({world.name!r}, WatchedTopic(Topic.LINK, 'v0')), 1)\n"
        "    await watcher.arm(NetlinkWatch(None, WatchedTopic(Topic.LINK, 'v0')), 2)\n"
        "    assert sink.reports == [(WatchState.DEGRADED, 1)], sink.reports\n"
        "    watcher.close()\n"
        "trio.run(main)\n"
    )
    command = ["unshare", "--user", sys.executable, "-c", code]
    paths = f"{os.getcwd()}:{os.path.dirname(__file__)}"
    done = subprocess.run(command, env={"PYTHONPATH": paths}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


async def test_an_overflow_is_reported_once_and_names_are_read_afresh(monkeypatch, world):
    monkeypatch.setattr(netlink_socket, "RECEIVE_BUFFER", 4096)
    hears, renamed = (
        listener("a", world, WatchedTopic(Topic.LINK, "v0")),
        listener("b", world, WatchedTopic(Topic.ADDRESSES, "w1")),
    )
    async with running(hears, renamed, watchers={NetlinkWatch: NetlinkWatcher}) as story:
        await story.converged()
        world.run_at_once([*(f"link set v0 mtu {1400 + n}" for n in range(50)), "link set v1 name w1"])
        await begun(hears, 2)
        await begun(renamed, 2)
        await wait_all_tasks_blocked(0.01)
        (lost,) = story.all(EventsLost)
        assert "overflowed" in lost.reason
        before = len(renamed.script.checks)
        world.run("address add 192.0.2.1/24 dev w1")
        await begun(renamed, before + 1)


async def test_a_burst_of_a_thousand_changes_fits_into_the_buffer(world):
    hears = listener("a", world, WatchedTopic(Topic.ADDRESSES, "v0"))
    async with running(hears, watchers={NetlinkWatch: NetlinkWatcher}) as story:
        await story.converged()
        world.run_at_once(f"address add 10.0.{n // 250}.{n % 250 + 1}/32 dev v0" for n in range(1000))
        await begun(hears, 2)
        await wait_all_tasks_blocked(0.01)
        assert not story.all(EventsLost)


async def test_a_watcher_whose_socket_is_dead_is_replaced_and_nothing_is_missed(world, monkeypatch):
    hears = listener("a", world, WatchedTopic(Topic.LINK, "v0"))
    async with running(hears, watchers={NetlinkWatch: NetlinkWatcher}) as story:
        await story.converged()
        with monkeypatch.context() as broken:
            broken.setattr(netlink, "unpack", lambda _: 1 / 0)
            world.run("link set v0 mtu 1400")
            await story.until(
                lambda: any(event.state is WatchState.DOWN for event in story.all(WatcherChanged))
            )
        await begun(hears, 2)
        await story.until(lambda: story.all(WatcherChanged)[-1].state is WatchState.ARMED)
        before = len(hears.script.checks)
        world.run("link set v0 mtu 1401")
        await begun(hears, before + 1)


async def test_a_mount_before_the_wait_begins_is_reported():
    table, told = MountTable(), []
    with namespace() as world, trio.move_on_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(
                table.follow, lambda points: (told.extend(points), nursery.cancel_scope.cancel())
            )
    # Others mount as well: the machine has one table.
    assert f"/run/netns/{world.name}".encode() in told


async def test_only_a_mount_of_a_namespace_leads_to_its_name():
    watcher, reopened = NetlinkWatcher(Sink()), []
    watcher._listeners = {"blue": SimpleNamespace(reopen=lambda: reopened.append("blue"))}
    watcher._on_mounts([b"/run/netns/red", b"/a/blue", b"/var/blue", b"/run/netns/blue/blue", b"/"])
    assert reopened == []
    watcher._on_mounts([b"/run/netns/blue"])
    assert reopened == ["blue"]
