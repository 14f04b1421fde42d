"""The order between network resources that is found by itself, and the manifests that can't come true."""

import pytest

from reactor import ManifestError, load
from reactor.resources.exec import Exec
from reactor.resources.network import Address, Link, Route
from reactor.testing.story import graph_of


def edges(*resources):
    return {(edge.first, edge.second) for edge in graph_of(resources).edges}


@pytest.mark.parametrize("netns", [None, "blue"])
def test_what_is_on_a_link_goes_after_it(netns):
    inside = {"netns": netns}
    found = edges(
        Route(name="default", gateway="192.0.2.9", link="br0", **inside),
        Route(name="2001:db8:1::/48", link="br0", **inside),
        Address(name="192.0.2.1/24", link="br0", **inside),
        Link(name="v1", **inside),
        Link(name="v0.5", type="vlan", parent="v0", id=5, **inside),
        Link(name="v0", type="veth", peer="v1", master="br0", **inside),
        Link(name="br0", type="bridge", **inside),
    )
    assert found == {
        ("link#br0", "link#v0"),
        ("link#v0", "link#v1"),
        ("link#v0", "link#v0.5"),
        ("link#br0", "address#192.0.2.1/24"),
        ("address#192.0.2.1/24", "route#default"),
        ("link#br0", "route#2001:db8:1::/48"),
    }


@pytest.mark.parametrize("netns", [None, "blue"])
def test_a_route_without_a_link_goes_after_the_addresses_that_reach_its_gateway(netns):
    inside = {"netns": netns}
    found = edges(
        Route(name="default", gateway="192.0.2.9", **inside),
        Route(name="six", destination="default", gateway="2001:db8::9", **inside),
        Route(name="away", destination="10.0.0.0/8", ensure="absent", gateway="192.0.2.9", **inside),
        Address(name="192.0.2.1/24", link="br0", **inside),
        Address(name="192.0.3.1/24", link="br0", **inside),
        Address(name="2001:db8::1/64", link="br0", **inside),
        Address(name="elsewhere", address="192.0.2.2/24", link="br0", netns="red"),
    )
    assert found == {("address#192.0.2.1/24", "route#default"), ("address#2001:db8::1/64", "route#six")}


def test_what_is_in_a_namespace_goes_after_what_makes_it():
    found = edges(
        Link(name="br0", type="bridge", netns="blue"),
        Route(name="default", gateway="192.0.2.9", netns="blue"),
        Link(name="br1", type="bridge"),
        Exec(name="ip netns add blue", creates="/run/netns/blue"),
    )
    assert found == {("exec#ip netns add blue", "link#br0"), ("exec#ip netns add blue", "route#default")}


def test_equal_names_in_two_namespaces_have_nothing_to_do_with_each_other():
    assert not edges(
        Link(name="eth0", netns="blue"),
        Address(name="192.0.2.1/24", link="eth0"),
        Address(name="red", address="192.0.2.1/24", link="eth0", netns="red"),
    )


def test_what_is_not_to_be_there_goes_before_the_link_does():
    found = edges(
        Link(name="br0", ensure="absent"), Address(name="192.0.2.1/24", link="br0", ensure="absent")
    )
    assert found == {("address#192.0.2.1/24", "link#br0")}


def diagnostics(tmp_path, *resources):
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text("\n".join(["resources:", *(f"  - {{{resource}}}" for resource in resources)]))
    try:
        load(str(manifest))
    except ManifestError as error:
        return [each.message for each in error.diagnostics]
    return []


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (
            "link: [a: {mtu: 1400}]",
            "link: [b: {link: a, mtu: 1500}]",
            "do not agree on mtu of the link a",
        ),
        (
            "link: [a: {netns: n}]",
            "link: [b: {link: a, netns: n, ensure: absent}]",
            "do not agree on ensure of the link a in n",
        ),
        (
            "link: [a: {}]",
            "link: [b: {link: a, state: down}]",
            "do not agree on state of the link a",
        ),
        (
            "address: [192.0.2.1/24: {link: a}]",
            "address: [192.0.2.1/32: {link: a}]",
            "do not agree on address of the address 192.0.2.1 on a",
        ),
        (
            "route: [default: {link: a}]",
            "route: [0.0.0.0/0: {link: b}]",
            "do not agree on link of the route to 0.0.0.0/0 with metric 0 in table 254",
        ),
        (
            'route: ["::/0": {gateway: "2001:db8::1"}]',
            'route: [x: {destination: "::/0", gateway: "2001:db8::2", metric: 1024}]',
            "do not agree on gateway of the route to ::/0",
        ),
        (
            "link: [a: {ensure: absent}]",
            "address: [192.0.2.1/24: {link: a}]",
            "link#a removes /sys/class/net/a, and address#192.0.2.1/24 needs",
        ),
    ],
)
def test_two_that_can_not_both_come_true_are_refused(tmp_path, first, second, words):
    (message,) = diagnostics(tmp_path, first, second)
    assert words in message


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("link: [a: {mtu: 1400}]", "link: [b: {link: a, master: br0}]"),
        ("link: [a: {mtu: 1400, netns: n}]", "link: [b: {link: a, mtu: 1500}]"),
        ("address: [192.0.2.1/24: {link: a}]", "address: [x: {address: 192.0.2.1/32, link: b}]"),
        ("address: [192.0.2.1/24: {link: a}]", "address: [192.0.2.2/24: {link: a}]"),
        ("route: [default: {link: a}]", "route: [x: {destination: default, link: b, metric: 5}]"),
        ("route: [default: {link: a}]", "route: [x: {destination: default, link: b, table: 5}]"),
        ("route: [default: {link: a}]", "route: [x: {destination: default, link: b, netns: n}]"),
    ],
)
def test_two_that_can_both_come_true_are_not(tmp_path, first, second):
    assert diagnostics(tmp_path, first, second) == []
