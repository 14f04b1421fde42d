"""What the network kinds accept, and what they say of what they do not."""

import subprocess
import sys

import pytest
from property_problems import problems, the_problem

from reactor import ManifestError, load
from reactor.resources.network import Address, Link, Route
from reactor.watchers.netlink import NetlinkWatch
from reactor.watchers.netlink_topics import Topic, WatchedTopic


@pytest.mark.parametrize("name", ["eth0", "br-lan", "eth0.100", "wg_1", "a", "x" * 15, "enp0s31f6", "a+b"])
def test_a_name_that_the_kernel_takes_is_accepted(name):
    assert Link(name=name).interface == name
    assert Link(name="any text", link=name).interface == name


BAD_NAMES = [
    "x" * 16,
    "a/b",
    "a b",
    "a;b",
    "$(reboot)",
    "eth%d",
    "a:b",
    "..",
    ".",
    "é",
    "a\0",
    "-rf\n",
    "a\tb",
    "`x`",
]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_what_can_not_be_the_name_of_a_link_is_refused_wherever_it_stands(name):
    assert the_problem(Link, name=name).path == ("name",)
    assert the_problem(Link, name="x", link=name).path == ("link",)
    assert the_problem(Link, name="x", master=name).path == ("master",)
    assert the_problem(Address, name="192.0.2.1/24", link=name).path == ("link",)
    assert the_problem(Route, name="default", link=name).path == ("link",)


@pytest.mark.parametrize("name", [name for name in BAD_NAMES if len(name) < 16])
@pytest.mark.parametrize("kind", [Link, Address, Route])
def test_what_can_not_be_the_name_of_a_namespace_is_refused(kind, name):
    rest = {
        Link: {"name": "eth0"},
        Address: {"name": "192.0.2.1/24", "link": "a"},
        Route: {"name": "::/0", "link": "a"},
    }
    assert the_problem(kind, netns=name, **rest[kind]).path == ("netns",)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("192.0.2.1", "has no prefix length: write it as 192.0.2.1/24"),
        ("2001:db8::1", "has no prefix length: write it as 2001:db8::1/64"),
        ("192.0.2.1/33", "must be a number from 0 to 32"),
        ("192.0.2.1/255.255.255.0", "must be a number from 0 to 32"),
        ("2001:db8::1/129", "must be a number from 0 to 128"),
        ("192.0.2.1/", "must be a number"),
        ("192.0.2.1/²", "must be a number"),
        ("192.0.2.1/24/24", "must be a number"),
        ("192.0.2.01/24", "is not an IP address"),
        ("192.0.2/24", "is not an IP address"),
        ("eth0", "is not an IP address"),
        ("fe80::1%eth0/64", "names a link after %"),
        ("0.0.0.0/8", "can't be the address of a link"),
        ("224.0.0.1/4", "can't be the address of a link"),
        ("ff02::1/128", "can't be the address of a link"),
    ],
)
def test_what_can_not_be_an_address_is_refused_with_its_remedy(name, words):
    path, message, hint = the_problem(Address, name=name, link="eth0")
    assert path == ("name",)
    assert words in f"{message}; {hint}"
    assert hint == "correct it, or add address"
    path, message, hint = the_problem(Address, name="x", address=name, link="eth0")
    assert path == ("address",)
    assert words in f"{message}; {hint}"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("192.0.2.1/24", "has bits set after its prefix: write 192.0.2.0/24"),
        ("2001:db8::1/64", "has bits set after its prefix: write 2001:db8::/64"),
        ("192.0.2.0/33", "is not a network"),
        ("Default", "is not an IP address"),
        ("everywhere", "is not an IP address"),
    ],
)
def test_what_can_not_be_a_destination_is_refused_with_its_remedy(name, words):
    path, message, hint = the_problem(Route, name=name, link="eth0")
    assert path == ("name",)
    assert words in f"{message}; {hint}"
    path, message, hint = the_problem(Route, name="x", destination=name, link="eth0")
    assert path == ("destination",)
    assert words in f"{message}; {hint}"


@pytest.mark.parametrize(
    ("properties", "path", "words"),
    [
        ({}, (), "leads nowhere"),
        ({"gateway": "2001:db8::1"}, ("gateway",), "its gateway of IPv6"),
        ({"gateway": "192.0.2"}, ("gateway",), "is not an IP address"),
        ({"name": "::/0", "gateway": "fe80::1"}, ("gateway",), "add link: NAME"),
        ({"gateway": "192.0.2.1", "metric": -1}, ("metric",), "greater than or equal to 0"),
        ({"gateway": "192.0.2.1", "metric": 2**32}, ("metric",), "less than or equal"),
        ({"gateway": "192.0.2.1", "table": 0}, ("table",), "greater than or equal to 1"),
    ],
)
def test_what_can_not_be_a_route_is_refused(properties, path, words):
    found = the_problem(Route, **{"name": "10.0.0.0/8", **properties})
    assert found.path == path
    assert words in f"{found.message}; {found.hint}"


@pytest.mark.parametrize(
    ("properties", "path", "words"),
    [
        ({"type": "veth"}, ("type",), "a veth needs peer; add peer: NAME"),
        ({"type": "vlan", "parent": "eth1"}, ("type",), "a vlan needs id; add id: 5"),
        ({"type": "vlan", "id": 5}, ("type",), "a vlan needs parent"),
        ({"type": "macvlan"}, ("type",), "a macvlan needs parent"),
        ({"type": "vxlan"}, ("type",), "a vxlan needs id"),
        ({"type": "bridge", "id": 5}, ("id",), "a bridge has no id; remove it, or write type: vlan or vxlan"),
        ({"type": "dummy", "peer": "b"}, ("peer",), "a dummy has no peer; remove it, or write type: veth"),
        ({"parent": "eth1"}, ("parent",), "a link without a type has no parent"),
        ({"type": "vlan", "parent": "eth1", "id": 4095}, ("id",), "from 1 to 4094, not 4095"),
        ({"type": "vlan", "parent": "eth1", "id": 0}, ("id",), "from 1 to 4094, not 0"),
        ({"type": "vxlan", "id": 1 << 24}, ("id",), "from 0 to 16777215"),
        ({"type": "bond", "mode": "bridge"}, ("mode",), "choose one of balance-rr, active-backup"),
        ({"type": "macvlan", "parent": "eth1", "mode": "vlan"}, ("mode",), "choose one of bridge, private"),
        ({"type": "vxlan", "id": 5, "remote": "239.1.1.1"}, ("remote",), "add parent: NAME"),
        ({"type": "veth", "peer": "eth0"}, ("peer",), "can't be its own peer"),
        ({"master": "eth0"}, ("master",), "can't be its own master"),
        ({"mtu": 67}, ("mtu",), "greater than or equal to 68"),
        ({"address": "02:00:00:00:00"}, ("address",), "write it as 02:00:00:00:00:01"),
        ({"address": "01:00:5e:00:00:01"}, ("address",), "group or empty"),
        ({"address": "00:00:00:00:00:00"}, ("address",), "group or empty"),
    ],
)
def test_what_does_not_go_together_is_refused_with_its_remedy(properties, path, words):
    found = the_problem(Link, name="eth0", **properties)
    assert found.path == path
    assert words in f"{found.message}; {found.hint}"


def test_every_problem_is_said_at_once():
    found = problems(Link, name="a b", type="vlan", peer="c")
    assert [each.path for each in found] == [("name",), ("peer",), ("type",), ("type",)]


def test_problems_have_their_place_in_the_manifest(tmp_path):
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(
        "resources:\n"
        "  - link:\n"
        "      - $(reboot): {mtu: 1500}\n"
        "      - v0: {type: veth, mode: bridge}\n"
        "  - address:\n"
        "      - 192.0.2.1: {link: v0}\n"
        "      - 192.0.2.2/24: {link: v0, netns: a/b}\n"
        "  - route:\n"
        "      - 10.0.0.1/8: {gateway: 192.0.2.9}\n"
    )
    with pytest.raises(ManifestError) as caught:
        load(str(manifest))
    places = {(each.place.line, each.place.column) for each in caught.value.diagnostics}
    assert places == {(3, 9), (4, 20), (4, 32), (6, 9), (7, 41), (9, 9)}


def test_a_mac_address_is_compared_in_small_letters():
    assert Link(name="a", address="02:AB:00:00:00:01").address == "02:ab:00:00:00:01"


@pytest.mark.parametrize(
    ("properties", "network", "metric"),
    [
        ({"name": "default", "link": "a"}, "0.0.0.0/0", 0),
        ({"name": "default", "gateway": "192.0.2.1"}, "0.0.0.0/0", 0),
        ({"name": "default", "gateway": "2001:db8::1"}, "::/0", 1024),
        ({"name": "x", "destination": "default", "link": "a", "metric": 5}, "0.0.0.0/0", 5),
        ({"name": "::/0", "link": "a", "metric": 0}, "::/0", 1024),
        ({"name": "192.0.2.7", "link": "a"}, "192.0.2.7/32", 0),
        ({"name": "2001:DB8:0::/48", "link": "a"}, "2001:db8::/48", 1024),
    ],
)
def test_destination_and_metric_as_the_kernel_has_them(properties, network, metric):
    wanted = Route(**properties)._wanted
    assert (str(wanted.network), wanted.metric) == (network, metric)


def test_each_kind_watches_what_can_change_it():
    assert set(Link(name="a", master="b", type="vlan", parent="c", id=5, netns="n").watches()) == {
        NetlinkWatch("n", WatchedTopic(Topic.LINK, "a")),
        NetlinkWatch("n", WatchedTopic(Topic.PRESENCE, "b")),
        NetlinkWatch("n", WatchedTopic(Topic.PRESENCE, "c")),
    }
    assert set(Link(name="a", type="macvlan", parent="c", mtu=1400).watches()) == {
        NetlinkWatch(None, WatchedTopic(Topic.LINK, "a")),
        NetlinkWatch(None, WatchedTopic(Topic.LINK, "c")),
    }
    assert set(Link(name="a", type="veth", peer="p").watches()) == {
        NetlinkWatch(None, WatchedTopic(Topic.LINK, "a")),
        NetlinkWatch(None, WatchedTopic(Topic.PRESENCE, "p")),
    }
    assert set(Address(name="192.0.2.1/24", link="a").watches()) == {
        NetlinkWatch(None, WatchedTopic(Topic.ADDRESS, "c0000201")),
        NetlinkWatch(None, WatchedTopic(Topic.PRESENCE, "a")),
    }
    assert set(Address(name="2001:db8::1/64", link="a").watches()) == {
        NetlinkWatch(None, WatchedTopic(Topic.ADDRESS, f"20010db8{'0' * 23}1")),
        NetlinkWatch(None, WatchedTopic(Topic.PRESENCE, "a")),
        NetlinkWatch(None, WatchedTopic(Topic.IPV6, "a")),
    }
    assert set(Route(name="10.0.0.0/8", gateway="192.0.2.1", table=7).watches()) == {
        NetlinkWatch(None, WatchedTopic(Topic.ROUTE, "7 0a000000/8")),
        NetlinkWatch(None, WatchedTopic(Topic.LINK, "")),
        NetlinkWatch(None, WatchedTopic(Topic.ADDRESSES, "")),
        NetlinkWatch(None, WatchedTopic(Topic.NEXTHOPS, "")),
    }
    assert set(Route(name="2001:db8:1::/48", link="a").watches()) == {
        NetlinkWatch(None, WatchedTopic(Topic.ROUTE, f"254 20010db80001{'0' * 20}/48")),
        NetlinkWatch(None, WatchedTopic(Topic.LINK, "a")),
        NetlinkWatch(None, WatchedTopic(Topic.ADDRESSES, "a")),
        NetlinkWatch(None, WatchedTopic(Topic.IPV6, "a")),
    }


def test_the_kinds_and_their_watcher_load_no_pyroute2_before_they_need_it():
    code = (
        "import sys, reactor.resources.network, reactor.watchers.netlink; sys.exit('pyroute2' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
