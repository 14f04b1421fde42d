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
sh = lambda words: subprocess.run(words, shell=True, check=True, capture_output=True, text=True).stdout
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
watch = subprocess.Popen(["ip", "monitor", "route", "address", "link"], stdout=subprocess.PIPE, text=True)
networkd = subprocess.Popen(["timeout", "35", "/lib/systemd/systemd-networkd"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
def there():
    try:
        return state() == wanted
    except (subprocess.CalledProcessError, IndexError, FileNotFoundError):
        return False
import signal
signal.alarm(30)
for line in watch.stdout:
    if there():
        break
else:
    sys.exit(f"networkd sets {state()}")
networkd.terminate()
watch.kill()
""",
}


@pytest.mark.parametrize("what", BODY)
def test_the_next_boot(what):
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
