"""What the network kinds write for the next boot, and what systemd-networkd makes of it."""

from __future__ import annotations

import pytest
from namespaces import run_in_namespaces
from property_problems import the_problem

from reactor.resources.network import Address, Link, Route

PROGRAM = """
import os, subprocess, sys, time, trio
from pathlib import Path
from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resources.network import Address, Link, Route
from reactor.testing.story import converge_once, running

HEAD = "# Managed by reactor: what is changed here is changed back.\\n\\n"
DIRECTORY = Path("/etc/systemd/network")
def sh(words):
    done = subprocess.run(words, shell=True, capture_output=True, text=True)
    assert not done.returncode, (words, done.stderr)
    return done.stdout
sh("mount -t tmpfs own /run && mount -t sysfs own /sys && mount -o remount,ro /sys && mkdir -p /etc/systemd && mount -t tmpfs own /etc/systemd")
sh("ip link add v0 type veth peer name v1 && ip link set v0 up && ip link set v1 up && ip link set lo up")

def files():
    return {str(path.relative_to(DIRECTORY)): path.read_text() for path in DIRECTORY.rglob("*") if path.is_file()} if DIRECTORY.exists() else {}

def converge(*resources, **options):
    ended, story = trio.run(lambda: converge_once(*resources, options=RunOptions(**options)))
    assert not ended.counts[Result.FAILED], [story.checks(each.ref)[-1].error for each in resources]
    return ended

def says(name, text):
    assert files()[name] == HEAD + text, files()[name]
"""

BODY = {
    "files": """
make = lambda ensure="present": (
    Address(name="192.0.2.1/24", link="v0", persist="networkd", ensure=ensure),
    Address(name="2001:db8::1/64", link="v0", persist="networkd", ensure=ensure),
    Route(name="198.51.100.0/24", gateway="192.0.2.254", link="v0", metric=50, persist="networkd", ensure=ensure),
)
before = files()
assert converge(*make(), noop=True).changes == 0
assert files() == before == {}
converge(*make())
says("10-reactor-v0.network", "[Match]\\nName=v0\\n")
drop_ins = "10-reactor-v0.network.d/reactor-"
says(drop_ins + "address-192.0.2.1_24.conf", "[Address]\\nAddress=192.0.2.1/24\\n")
says(drop_ins + "address-2001-db8--1_64.conf", "[Address]\\nAddress=2001:db8::1/64\\n")
says(drop_ins + "route-198.51.100.0_24-50-254.conf",
     "[Route]\\nDestination=198.51.100.0/24\\nGateway=192.0.2.254\\nMetric=50\\nTable=254\\n")
assert converge(*make()).changes == 0
converge(make("absent")[2], *make()[:2])
assert len(files()) == 3
converge(*make("absent"))
assert files() == {} and list(DIRECTORY.iterdir()) == []
assert converge(*make("absent")).changes == 0
""",
    "links": """
links = (
    Link(name="br0", type="bridge", mtu=1400, persist="networkd"),
    Link(name="v0", master="br0", persist="networkd"),
    Link(name="w0", type="veth", peer="w1", address="02:00:00:00:00:01", persist="networkd", state="down"),
)
converge(*links)
says("10-reactor-br0.netdev", "[NetDev]\\nName=br0\\nKind=bridge\\n")
says("10-reactor-br0.network.d/reactor-link.conf", "[Link]\\nMTUBytes=1400\\n")
says("10-reactor-v0.network.d/reactor-link.conf", "[Network]\\nBridge=br0\\n")
says("10-reactor-w0.netdev", "[NetDev]\\nName=w0\\nKind=veth\\nMACAddress=02:00:00:00:00:01\\n\\n[Peer]\\nName=w1\\n")
says("10-reactor-w0.network.d/reactor-link.conf", "[Link]\\nMACAddress=02:00:00:00:00:01\\nActivationPolicy=down\\n")
assert converge(*links).changes == 0
converge(Link(name="w0", type="veth", peer="w1", persist="networkd", ensure="absent"))
assert not [name for name in files() if "w0" in name]
""",
    "of others": """
index = Path("/sys/class/net/v0/ifindex").read_text().strip()
Path("/run/systemd/netif/links").mkdir(parents=True)
Path("/run/systemd/netif/links", index).write_text("ADMIN_STATE=configured\\nNETWORK_FILE=/run/systemd/network/10-netplan-v0.network\\n")
address = lambda ensure: Address(name="192.0.2.1/24", link="v0", persist="networkd", ensure=ensure)
converge(address("present"))
assert list(files()) == ["10-netplan-v0.network.d/reactor-address-192.0.2.1_24.conf"]
assert converge(address("present")).changes == 0
converge(address("absent"))
assert files() == {}
""",
    "drift": """
async def main():
    address = Address(name="192.0.2.1/24", link="v0", persist="networkd")
    async with running(address) as story:
        await story.converged()
        desired = files()
        for name in desired:
            (DIRECTORY / name).write_text("[Match]\\\\nName=other\\\\n")
            await story.until(lambda: files() == desired)
            (DIRECTORY / name).unlink()
            await story.until(lambda: files() == desired)
trio.run(main)
""",
    "networkd": """
converge(
    Link(name="br0", type="bridge", mtu=1400, persist="networkd"),
    Link(name="v1", master="br0", persist="networkd"),
    Address(name="192.0.2.1/24", link="v0", persist="networkd"),
    Address(name="192.0.2.2/24", link="v0", persist="networkd"),
    Address(name="10.1.0.1/16", link="br0", persist="networkd"),
    Route(name="198.51.100.0/24", gateway="192.0.2.254", link="v0", metric=50, persist="networkd"),
)
def state():
    routes = sorted(line.split(" proto ")[0] for line in sh("ip route show").splitlines() if "198.51" in line)
    addresses = sorted(word for word in sh("ip -4 -o address show scope global").split() if "/" in word)
    links = sh("ip -o link show master br0").split(":")[1].strip(), Path("/sys/class/net/br0/mtu").read_text()
    return routes, addresses, links
wanted = state()
assert len(wanted[1]) == 3
sh("ip link delete br0; ip address flush dev v0; ip link set v0 down")  # as after a boot
sh("mkdir -p /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp; chown -R systemd-network: /run/systemd/netif || true")
networkd = subprocess.Popen(["timeout", "65", "/lib/systemd/systemd-networkd"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
def there():
    try:
        return state() == wanted
    except (AssertionError, IndexError, FileNotFoundError):  # br0 is not there yet
        return False
end = time.monotonic() + 60
while not there():
    assert time.monotonic() < end, f"networkd sets {state()}"
networkd.terminate()
""",
    "ifupdown": """
sh("mount -t tmpfs own /etc/network && mkdir /run/network /etc/network/if-pre-up.d /etc/network/if-up.d /etc/network/if-down.d /etc/network/if-post-down.d")
directory = Path("/etc/network/interfaces.d")
address = Address(name="192.0.2.1/24", link="v0", persist="ifupdown")
def refusal(*resources):
    return trio.run(lambda: converge_once(*resources))[1].checks(resources[0].ref)[-1].error
assert "does not read the files in /etc/network/interfaces.d" in refusal(address)
Path("/etc/network/interfaces").write_text("source /etc/network/interfaces.d/*.cfg\\n")
assert "does not read" in refusal(address)
Path("/etc/network/interfaces").write_text("auto lo\\niface lo inet loopback\\n  source /etc/network/interfaces.d/* \\n")
make = lambda ensure="present": (
    Link(name="zbr", type="bridge", mtu=1400, persist="ifupdown", ensure=ensure),
    *(() if ensure == "absent" else (Link(name="v1", master="zbr", persist="ifupdown"),)),
    Link(name="d0", type="veth", peer="d1", address="02:00:00:00:00:01", state="down", persist="ifupdown", ensure=ensure),
    Address(name="192.0.2.1/24", link="v0", persist="ifupdown", ensure=ensure),
    Address(name="192.0.2.2/24", link="v0", persist="ifupdown", ensure=ensure),
    Address(name="2001:db8::1/64", link="v0", persist="ifupdown", ensure=ensure),
    Address(name="10.1.0.1/16", link="zbr", persist="ifupdown", ensure=ensure),
    Route(name="198.51.100.0/24", gateway="192.0.2.254", link="v0", metric=50, persist="ifupdown", ensure=ensure),
    Route(name="2001:db8:1::/48", gateway="2001:db8::2", link="v0", persist="ifupdown", ensure=ensure),
)
names = lambda: sorted(path.name for path in directory.iterdir()) if directory.exists() else []
assert converge(*make(), noop=True).changes == 0 and names() == []
converge(*make())
assert len(names()) == 9 and names()[:2] == ["reactor-d0", "reactor-v0-address-192.0.2.1_24"], names()
assert (directory / "reactor-v0-address-192.0.2.1_24").read_text() == (
    HEAD[:-1] + "auto v0\\niface v0 inet static\\n    address 192.0.2.1/24\\n")
assert converge(*make()).changes == 0
def state():
    words = lambda command: sorted(" ".join(line.split(": ", 1)[-1].split()[:5]).split(" brd ")[0].split(" scope ")[0] for line in sh(command).splitlines())
    return (words("ip -4 -o address show scope global"), words("ip route show 198.51.100.0/24"), words("ip -6 route show 2001:db8:1::/48"),
            words("ip -6 -o address show scope global"), sh("ip -o link show master zbr").split(":")[1].strip(),
            *(Path(f"/sys/class/net/{name}").read_text().strip() for name in ("zbr/mtu", "d0/address", "d0/operstate")))
wanted = state()
assert len(wanted[0]) == 3 and all(wanted), wanted
assert sh("ifquery --list").split() == ["lo", "d0", "v0", "v1", "zbr"], sh("ifquery --list")
sh("ip link delete zbr; ip link delete d0; ip address flush dev v0; ip link set v0 down")  # as after a boot
sh("ifup -a")
assert state() == wanted, (state(), wanted)
assert converge(*make()).changes == 0
converge(*make("absent"))
assert names() == ["reactor-v1"], names()
from reactor.resources.network import ifupdown
def commands(**properties):  # this kernel may not have the type
    (file,) = ifupdown.link_files(Link(persist="ifupdown", **properties))
    Path(file.path).write_text(file.text)
    return sh(f"ifquery {properties['name']}").splitlines()
assert commands(name="v0.7", type="vlan", parent="v0", id=7) == [
    "pre-up: ip link show dev v0 >/dev/null 2>&1 || ifup v0",
    "pre-up: ip link show dev v0.7 >/dev/null 2>&1 || ip link add link v0 name v0.7 type vlan id 7",
    "up: ip link set dev v0.7 up", "post-down: ip link del dev v0.7 || true"]
assert "ip link add name x0 type vxlan id 42 dev v0 remote 239.1.1.1 dstport 4789" in commands(
    name="x0", type="vxlan", id=42, parent="v0", remote="239.1.1.1")[1]
assert "ip link add link v0 name m0 type macvlan mode bridge" in commands(name="m0", type="macvlan", parent="v0")[1]
assert "ip link add name b0 type bond mode 802.3ad" in commands(name="b0", type="bond", mode="802.3ad")[0]
assert "ip link add name u0 type dummy" in commands(name="u0", type="dummy")[0]
""",
    "netplan": """
sh("mkdir -p /etc/netplan && mount -t tmpfs own /etc/netplan")
directory = Path("/etc/netplan")
(directory / "50-cloud-init.yaml").write_text("network:\\n  version: 2\\n  ethernets:\\n    v0: {dhcp4: true, addresses: [203.0.113.1/24]}\\n  bridges:\\n    br9: {}\\n")
make = lambda ensure="present": (
    Link(name="br0", type="bridge", mtu=1400, persist="netplan", ensure=ensure),
    *(() if ensure == "absent" else (Link(name="v1", master="br0", persist="netplan"),)),
    Address(name="192.0.2.1/24", link="v0", persist="netplan", ensure=ensure),
    Address(name="2001:db8::1/64", link="v0", persist="netplan", ensure=ensure),
    Address(name="10.1.0.1/16", link="br0", persist="netplan", ensure=ensure),
    Route(name="198.51.100.0/24", gateway="192.0.2.254", link="v0", metric=50, persist="netplan", ensure=ensure),
    Route(name="198.51.101.0/24", link="v0", persist="netplan", ensure=ensure),
)
names = lambda: sorted(path.name for path in directory.iterdir())
assert converge(*make(), noop=True).changes == 0 and names() == ["50-cloud-init.yaml"]
converge(*make())
assert len(names()) == 8, names()
assert all((directory / name).stat().st_mode & 0o777 == 0o600 for name in names()[1:])
assert (directory / "90-reactor-v0-address-192.0.2.1_24.yaml").read_text() == (
    HEAD[:-1] + 'network:\\n  version: 2\\n  ethernets:\\n    "v0": {"addresses": ["192.0.2.1/24"]}\\n')
assert converge(*make()).changes == 0
from reactor.resources.network import netplan
for properties in (  # this kernel may not have these types
    {"name": "v0.7", "type": "vlan", "parent": "v0", "id": 7},
    {"name": "bo0", "type": "bond", "mode": "active-backup", "state": "down"},
    {"name": "vx0", "type": "vxlan", "id": 42, "remote": "192.0.2.9"},
):
    for file in netplan.link_files(Link(persist="netplan", **properties)):
        Path(file.path).write_text(file.text)
sh("chmod 600 /etc/netplan/* && /usr/lib/netplan/generate")
made = {path.name: path.read_text().split("\\n") for path in Path("/run/systemd/network").iterdir()}
def holds(name, *lines):
    assert set(lines) <= set(made[name]), (lines, made.get(name, sorted(made)))
holds("10-netplan-v0.network", "Name=v0", "DHCP=ipv4", "Address=203.0.113.1/24", "Address=192.0.2.1/24", "Address=2001:db8::1/64",
      "VLAN=v0.7", "Destination=198.51.100.0/24", "Gateway=192.0.2.254", "Metric=50", "Destination=198.51.101.0/24", "Scope=link")
holds("10-netplan-br0.netdev", "Kind=bridge", "MTUBytes=1400")
holds("10-netplan-br0.network", "Address=10.1.0.1/16")
holds("10-netplan-v1.network", "Bridge=br0")
holds("10-netplan-v0.7.netdev", "Kind=vlan", "Id=7")
holds("10-netplan-bo0.netdev", "Kind=bond", "Mode=active-backup")
holds("10-netplan-bo0.network", "ActivationPolicy=manual")
holds("10-netplan-vx0.netdev", "Kind=vxlan", "VNI=42", "Remote=192.0.2.9")
converge(*make("absent"))
assert names() == ["50-cloud-init.yaml", *(f"90-reactor-{name}.yaml" for name in ("bo0", "v0.7", "v1", "vx0"))], names()
""",
    "a host that has neither": """
sh("mount -t tmpfs own /usr/sbin; mount -t tmpfs own /sbin")
for persist, words in {"ifupdown": "this host has no ifupdown", "netplan": "this host has no netplan"}.items():
    address = Address(name="192.0.2.1/24", link="v0", persist=persist)
    for noop in (True, False):
        _, story = trio.run(lambda: converge_once(address, options=RunOptions(noop=noop)))
        assert story.checks(address.ref)[-1].error == words
assert not [name for name in os.listdir("/etc/netplan") if "reactor" in name] if os.path.exists("/etc/netplan") else True
""",
}


@pytest.mark.parametrize("what", BODY)
def test_files_for_the_next_boot_are_written_repaired_and_removed(what):
    done = run_in_namespaces(PROGRAM + BODY[what] + "\nprint('done')\n", options=("--mount", "--net"))
    assert done == ["done"]


@pytest.mark.parametrize(
    ("kind", "properties", "message"),
    [
        (
            Link,
            {"name": "v0", "netns": "blue"},
            "networkd configures the network of the host, not a namespace",
        ),
        (Address, {"name": "192.0.2.1/24", "link": "v0", "netns": "blue"}, "not a namespace"),
        (Route, {"name": "default", "gateway": "192.0.2.1"}, "networkd keeps routes by their link"),
    ],
)
def test_what_can_not_be_written_is_refused(kind, properties, message):
    assert message in the_problem(kind, persist="networkd", **properties).message


@pytest.mark.parametrize("kind", ["dummy", "veth", "macvlan"])
def test_netplan_is_not_asked_for_links_that_it_does_not_make(kind):
    made_with = {"veth": {"peer": "x1"}, "macvlan": {"parent": "x1"}}.get(kind, {})
    problem = the_problem(Link, name="x0", type=kind, persist="netplan", **made_with)
    assert (problem.path, problem.message) == (("persist",), f"netplan makes no link of type {kind}")
