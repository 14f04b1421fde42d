"""The decision table of `link`, and the requests for types that the kernel of the tests may lack."""

import pytest

from reactor import ResourceError
from reactor.resources.network import Link
from reactor.resources.network.link_planner import impending_loss
from reactor.resources.network.link_requests import change, creation
from reactor.resources.network.link_state import LinkState
from reactor.resources.network.losses import Loss
from reactor.resources.network.rtnetlink import NLM_F_CREATE, NLM_F_EXCL, decoded

UP = LinkState("up", 1500, "02:00:00:00:00:01")
DOWN = LinkState("down", 1500, "02:00:00:00:00:01")
CARRIER = LinkState("up", carries_default=True)
VLAN = LinkState("up", type="vlan", parent="eth0", id=5)
VXLAN = LinkState("up", type="vxlan", id=5, remote="192.0.2.1")

SAID = [
    ({}, UP, []),
    ({"mtu": 1500, "address": "02:00:00:00:00:01"}, UP, []),
    ({}, DOWN, ["changed state from down to up"]),
    ({"state": "down"}, DOWN, []),
    ({"state": "down"}, UP, ["changed state from up to down"]),
    ({"mtu": 9000}, UP, ["changed mtu from 1500 to 9000"]),
    ({"master": "br0"}, UP, ["changed master from none to br0"]),
    ({"mtu": 9000, "master": "br0"}, DOWN, ["changed mtu from 1500 to 9000, master from none to br0, state from down to up"]),
    ({"ensure": "absent"}, None, []),
    ({"ensure": "absent"}, UP, ["removed the link"]),
    ({}, None, ["set up the link"]),
    ({"type": "bridge"}, None, ["created the bridge x"]),
    ({"type": "vlan", "parent": "eth0", "id": 5}, VLAN, []),
    ({"type": "vxlan", "id": 5, "remote": "192.0.2.1"}, VXLAN, []),
    ({"type": "vxlan", "id": 5}, VXLAN, []),
    ({"type": "veth", "peer": "y"}, LinkState("up", type="veth"), []),
    ({"state": "down", "force": True}, CARRIER, ["changed state from up to down"]),
    ({"ensure": "absent", "force": True}, CARRIER, ["removed the link"]),
    (
        {"type": "vlan", "parent": "eth0", "id": 6, "force": True}, VLAN,
        ["removed a link x with id 5", "created the vlan x"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("properties", "state", "said"), SAID)
def test_each_state_leads_to_its_plan(properties, state, said):
    plan = Link(name="x", **properties).plan(state, refresh=False)
    assert [action.did for action in plan] == said
    assert all(action.would.lower().startswith("would have ") for action in plan)


REFUSED = [
    ({"state": "down"}, CARRIER, "refusing to take down x: it carries the default route"),
    ({"ensure": "absent"}, CARRIER, "refusing to remove x: it carries the default route"),
    ({"type": "bridge"}, UP, "there is a link x with type of the hardware, which can't be changed"),
    ({"type": "bridge"}, VLAN, "with type vlan"),
    ({"type": "vlan", "parent": "eth1", "id": 6}, VLAN, "with parent eth0 and id 5"),
    ({"type": "vxlan", "id": 5, "remote": "192.0.2.2"}, VXLAN, "with remote 192.0.2.1"),
]


@pytest.mark.parametrize(("properties", "state", "words"), REFUSED)
def test_what_only_force_does(properties, state, words):
    with pytest.raises(ResourceError, match=words) as caught:
        Link(name="x", **properties).plan(state, refresh=False)
    assert "force: true" in caught.value.hint
    assert Link(name="x", **properties, force=True).plan(state, refresh=False)


@pytest.mark.parametrize(("state", "goes_down_first"), [("up", True), ("down", False)])
def test_a_link_goes_down_before_it_joins_a_bond(state, goes_down_first):
    (action,) = Link(name="x", master="bond0").plan(LinkState(state, joins_down=True), refresh=False)
    assert action.run.keywords == {"goes_down_first": goes_down_first}


DATA = [
    ({"type": "dummy"}, None, None),
    ({"type": "bridge"}, None, None),
    ({"type": "veth", "peer": "y"}, None, {"VETH_INFO_PEER": {"IFLA_IFNAME": "y"}}),
    ({"type": "vlan", "parent": "p", "id": 5}, 7, {"IFLA_VLAN_ID": 5}),
    ({"type": "macvlan", "parent": "p"}, 7, {"IFLA_MACVLAN_MODE": "bridge"}),
    ({"type": "macvlan", "parent": "p", "mode": "private"}, 7, {"IFLA_MACVLAN_MODE": "private"}),
    ({"type": "bond"}, None, None),
    ({"type": "bond", "mode": "active-backup"}, None, {"IFLA_BOND_MODE": 1}),
    ({"type": "bond", "mode": "802.3ad"}, None, {"IFLA_BOND_MODE": 4}),
    ({"type": "vxlan", "id": 5}, None, {"IFLA_VXLAN_ID": 5, "IFLA_VXLAN_PORT": 4789}),
    (
        {"type": "vxlan", "id": 5, "parent": "p", "remote": "239.1.1.1"}, 7,
        {"IFLA_VXLAN_ID": 5, "IFLA_VXLAN_PORT": 4789, "IFLA_VXLAN_LINK": 7, "IFLA_VXLAN_GROUP": "239.1.1.1"},
    ),
    (
        {"type": "vxlan", "id": 5, "remote": "2001:db8::1"}, None,
        {"IFLA_VXLAN_ID": 5, "IFLA_VXLAN_PORT": 4789, "IFLA_VXLAN_GROUP6": "2001:db8::1"},
    ),
]  # fmt: skip


def plain(attributes):
    return {name: plain(value["attrs"]) if isinstance(value, dict) else value for name, value in attributes}


@pytest.mark.parametrize(("properties", "parent", "data"), DATA)
def test_a_new_link_is_asked_for_in_one_request(properties, parent, data):
    frame = creation(Link(name="x", mtu=1400, master="m", **properties), parent, 9)
    found = decoded(frame)
    assert frame.flags == NLM_F_CREATE | NLM_F_EXCL
    assert (found["index"], found["flags"], found["change"]) == (0, 1, 1)
    mtu = None if properties["type"] == "bridge" else 1400  # set afterwards, or else ports would change it
    assert (found.get_attr("IFLA_IFNAME"), found.get_attr("IFLA_MTU"), found.get_attr("IFLA_MASTER")) == (
        "x",
        mtu,
        9,
    )
    assert found.get_attr("IFLA_LINK") == (None if properties["type"] == "vxlan" else parent)
    assert found.get_nested("IFLA_LINKINFO", "IFLA_INFO_KIND") == properties["type"]
    nested = found.get_nested("IFLA_LINKINFO", "IFLA_INFO_DATA")
    assert (None if nested is None else plain(nested["attrs"])) == data


@pytest.mark.parametrize(
    ("names", "attributes", "flags"),
    [
        (["mtu"], {"IFLA_MTU": 1400}, (0, 0)),
        (["state"], {}, (1, 1)),
        (["master"], {"IFLA_MASTER": 9}, (0, 0)),
        (["address", "mtu", "state"], {"IFLA_MTU": 1400, "IFLA_ADDRESS": "02:00:00:00:00:01"}, (1, 1)),
    ],
)
def test_only_what_differs_is_asked_for(names, attributes, flags):
    link = Link(name="x", mtu=1400, address="02:00:00:00:00:01", master="m")
    found = decoded(change(link, names, 3, 9 if "master" in names else None))
    assert found["index"] == 3
    assert plain(found["attrs"]) == attributes
    assert (found["flags"], found["change"]) == flags


LOSSES = [
    ({}, UP, None),
    ({"mtu": 1400}, UP, None),
    ({"mtu": 1200}, UP, Loss.NO_IPV6),
    ({"mtu": 1200}, LinkState("up", 1200), None),
    ({"state": "down"}, UP, Loss.DOWN),
    ({"state": "down"}, DOWN, None),
    ({"master": "bond0"}, LinkState("up", joins_down=True), Loss.DOWN),
    ({"master": "bond0"}, LinkState("down", joins_down=True), None),
    ({"master": "br0"}, UP, None),
    ({"ensure": "absent"}, DOWN, Loss.REMOVED),
    ({"type": "bridge", "force": True}, UP, Loss.REMOVED),
]


@pytest.mark.parametrize(("wanted", "state", "loss"), LOSSES)
def test_what_makes_the_kernel_take_more_along(wanted, state, loss):
    assert impending_loss(Link(name="x", **wanted), state) is loss
