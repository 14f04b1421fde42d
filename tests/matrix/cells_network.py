"""Cells of the kinds link, address and route: what the kernel has, by what it is to have, by what is done afterwards.

All is in the network namespace of the world: a veth pair v0, v1 that is up, and what a cell makes besides.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cell import Cell, differs, first, fixed_manifest
from programs import must, said

BASE = "link add v0 type veth peer name v1; link set v0 up; link set v1 up; address add 10.9.0.1/24 dev v0"
LINKS = {
    "nothing": "",
    "a bridge": "link add x0 type bridge; link set x0 up",
    "a bridge that is down": "link add x0 type bridge",
    "a bridge with another mtu": "link add x0 type bridge; link set x0 mtu 1300 up",
    "a bridge with another address": "link add x0 type bridge; link set x0 address 02:00:00:00:00:07 up",
    "a veth": "link add x0 type veth peer name x1",
    "in a bridge": "link add b0 type bridge; link add x0 type veth peer name x1; link set x0 master b0",
}
LINKS_WANTED: dict[str, dict[str, object]] = {
    "bridge": {"type": "bridge"},
    "bridge with mtu": {"type": "bridge", "mtu": 1400},
    "bridge with address": {"type": "bridge", "address": "02:00:00:00:00:01"},
    "bridge that is down": {"type": "bridge", "state": "down"},
    "veth": {"type": "veth", "peer": "x1"},
    "veth by force": {"type": "veth", "peer": "x1", "force": True},
    "any": {"mtu": 1400},
    "bridge in a bridge that is not there": {"type": "veth", "peer": "x1", "master": "nobridge"},
    "absent": {"ensure": "absent"},
}
LINK_DRIFTS = {
    "deleted": "link del x0", "down": "link set x0 down", "up": "link set x0 up", "mtu": "link set x0 mtu 1234",
    "renamed": "link set x0 down; link set x0 name x9",
}  # fmt: skip
ADDRESSES = {
    "none": "", "there": "address add 192.0.2.5/24 dev v0", "another prefix": "address add 192.0.2.5/32 dev v0",
    "on another link": "address add 192.0.2.5/24 dev v1", "another first": "address add 192.0.2.4/24 dev v0",
    "first of its network": "address add 192.0.2.5/24 dev v0; address add 192.0.2.6/24 dev v0",
    "v6 there": "address add 2001:db8::5/64 dev v0 nodad",
    "a route over it": "address add 192.0.2.5/24 dev v0; route add 198.51.100.0/24 via 192.0.2.9",
    "link is down": "link set v0 down",
}  # fmt: skip
ADDRESSES_WANTED: dict[str, dict[str, object]] = {
    "there": {"address": "192.0.2.5/24", "link": "v0"},
    "another prefix": {"address": "192.0.2.5/28", "link": "v0"},
    "v6": {"address": "2001:db8::5/64", "link": "v0"},
    "absent": {"address": "192.0.2.5/24", "link": "v0", "ensure": "absent"},
    "v6 absent": {"address": "2001:db8::5/64", "link": "v0", "ensure": "absent"},
    "on no link": {"address": "192.0.2.5/24", "link": "nolink9"},
    "absent on no link": {"address": "192.0.2.5/24", "link": "nolink9", "ensure": "absent"},
}
ADDRESS_DRIFTS = {
    "flushed": "address flush dev v0",
    "link down": "link set v0 down",
    "deleted": "address del 192.0.2.5/24 dev v0",
}
ROUTES = {
    "none": "", "there": "route add 198.51.100.0/24 via 10.9.0.2", "by another gateway": "route add 198.51.100.0/24 via 10.9.0.3",
    "by a link": "route add 198.51.100.0/24 dev v0", "with a metric": "route add 198.51.100.0/24 via 10.9.0.2 metric 7",
    "a default": "route add default via 10.9.0.2", "link is down": "link set v0 down",
    "no way to its gateway": "address flush dev v0",
}  # fmt: skip
ROUTES_WANTED: dict[str, dict[str, object]] = {
    "by a gateway": {"destination": "198.51.100.0/24", "gateway": "10.9.0.2"},
    "by a link": {"destination": "198.51.100.0/24", "link": "v0"},
    "with a metric": {"destination": "198.51.100.0/24", "gateway": "10.9.0.2", "metric": 7},
    "default": {"destination": "default", "gateway": "10.9.0.2"},
    "absent": {"destination": "198.51.100.0/24", "ensure": "absent"},
    "default absent": {"destination": "default", "ensure": "absent"},
    "by no gateway": {"destination": "198.51.100.0/24", "gateway": "203.0.113.9"},
    "by no link": {"destination": "198.51.100.0/24", "link": "nolink9"},
}
ROUTE_DRIFTS = {
    "deleted": "route del 198.51.100.0/24", "replaced": "route replace 198.51.100.0/24 via 10.9.0.7",
    "link down and up": "link set v0 down; link set v0 up",
}  # fmt: skip


def cells() -> Iterator[Cell]:
    """Every state by everything wanted, and every drift from what was reached."""
    for wanted, properties in LINKS_WANTED.items():
        for state, make in LINKS.items():
            yield _cell("link", "x0", state, wanted, make, properties, fails=_link_fails(state, wanted))
        if wanted.startswith(("bridge", "veth", "absent")) and "not there" not in wanted:
            for drift, acts in LINK_DRIFTS.items():
                lost = drift == "renamed" and wanted.startswith("veth")  # its other end is there already
                yield _cell("link", "x0", "nothing", wanted, "", properties, drift, acts, fails=lost)
    for wanted, properties in ADDRESSES_WANTED.items():
        for state, make in ADDRESSES.items():
            yield _cell("address", "a", state, wanted, make, properties, fails=wanted == "on no link")
        if "no link" not in wanted:
            for drift, acts in ADDRESS_DRIFTS.items():
                yield _cell("address", "a", "none", wanted, "", properties, drift, acts)
    for wanted, properties in ROUTES_WANTED.items():
        for state, make in ROUTES.items():
            yield _cell("route", "r", state, wanted, make, properties, fails=_route_fails(state, wanted))
        if not _route_fails("none", wanted):
            for drift, acts in ROUTE_DRIFTS.items():
                yield _cell("route", "r", "none", wanted, "", properties, drift, acts)
    yield from _brought()
    yield from _booted()


def _link_fails(state: str, wanted: str) -> bool:
    if "not there" in wanted:
        return True
    if wanted == "any":
        return state == "nothing"
    if wanted.startswith("bridge"):
        return state in ("a veth", "in a bridge")
    return wanted == "veth" and "bridge" in state and state != "in a bridge"


def _route_fails(state: str, wanted: str) -> bool:
    if wanted in ("by no gateway", "by no link"):
        return True
    if wanted == "default absent":
        return state == "a default"
    if "absent" in wanted:
        return False
    return state == "link is down" or (state == "no way to its gateway" and wanted != "by a link")


def _cell(kind, name, state, wanted, make, properties, drift=None, acts="", *, fails=False) -> Cell:
    resources = partial(fixed_manifest, [{kind: [{name: properties}]}])
    judge = partial(_JUDGES[kind], properties)
    drifted = None if drift is None else partial(_ip, acts)
    title = " / ".join(filter(None, (state, wanted, drift)))
    return Cell(kind, title, resources, judge, partial(_make, make), drifted, fails, "", _look, _clean)


def _brought() -> Iterator[Cell]:
    """Links and addresses that other resources of the manifest bring."""
    link = {"link": [{"x0": {"type": "bridge"}}]}
    address = {"address": [{"192.0.2.5/24": {"link": "x0"}}]}
    route = {"route": [{"198.51.100.0/24": {"gateway": "192.0.2.9"}}]}
    sysctl = {"sysctl": [{"net.ipv4.conf.x0.rp_filter": {"value": "2", "persist": False}}]}
    for name, manifest in {
        "an address of a link": [link, address],
        "a route by an address of a link": [link, address, route],
        "a parameter of a link": [link, sysctl],
        "a route by a link": [link, {"route": [{"198.51.100.0/24": {"link": "x0"}}]}],
        "a port of a bridge": [link, {"link": [{"p0": {"type": "veth", "peer": "p1", "master": "x0"}}]}],
    }.items():
        yield Cell(
            "link",
            name,
            partial(fixed_manifest, manifest),
            lambda place: None,
            partial(_make, ""),
            look=_look,
            clean=_clean,
        )


BOOT = Path("/etc/systemd/network")
DROP_INS = BOOT / "10-reactor-v0.network.d"
BOOT_STATES: dict[str, dict[str, str]] = {
    "no files": {},
    "another drop-in": {"10-reactor-v0.network.d/reactor-{file}.conf": "[Link]\n"},
    "an empty base": {"10-reactor-v0.network": ""},
    "others beside": {
        "10-reactor-v0.network": "[Match]\nName=v0\n",
        "10-reactor-v0.network.d/mine.conf": "[Network]\n",
    },
}
BOOTED: dict[str, tuple[str, dict[str, object], str]] = {
    "address": ("address-192.0.2.5_24", {"address": "192.0.2.5/24", "link": "v0"}, "Address=192.0.2.5/24"),
    "route": ("route-198.51.100.0_24-7-254", {"destination": "198.51.100.0/24", "link": "v0", "metric": 7}, "Metric=7"),
    "link": ("link", {"link": "v0", "mtu": 1400}, "MTUBytes=1400"),
}  # fmt: skip


def _booted() -> Iterator[Cell]:
    """What is written for the next boot, and removed from there."""
    for kind, (file, properties, line) in BOOTED.items():
        for ensure in ("present",) if kind == "link" else ("present", "absent"):
            resources = partial(
                _same, [{kind: [{"b": {**properties, "persist": "networkd", "ensure": ensure}}]}]
            )
            for state, files in BOOT_STATES.items():
                make = partial(_make_boot, {path.format(file=file): text for path, text in files.items()})
                judge = partial(_boot_wrong, f"reactor-{file}.conf", line if ensure == "present" else None)
                title = f"at boot: {state} / {ensure}"
                yield Cell(kind, title, resources, judge, make, look=_look_boot, clean=_clean_boot)
                drifted = partial(
                    _make_boot, {path.format(file=file): text for path, text in files.items()}, base=False
                )
                name = f"at boot: no files / {ensure} / {state}"
                yield Cell(
                    kind,
                    name,
                    resources,
                    judge,
                    partial(_make, ""),
                    drifted,
                    look=_look_boot,
                    clean=_clean_boot,
                )


def _make_boot(files: dict[str, str], place: Path, *, base: bool = True) -> None:
    if base:
        _make("", place)
    shutil.rmtree(BOOT, ignore_errors=True)
    for path, text in files.items():
        (BOOT / path).parent.mkdir(parents=True, exist_ok=True)
        (BOOT / path).write_text(text)


def _boot_files() -> dict[str, str]:
    return {
        str(path.relative_to(BOOT)): path.read_text() for path in sorted(BOOT.rglob("*")) if path.is_file()
    }


def _look_boot(place: Path) -> object:
    return _look(place), _boot_files()


def _boot_wrong(name: str, line: str | None, place: Path) -> str | None:
    found = _boot_files()
    others = differs(
        "the drop-in of others",
        "10-reactor-v0.network.d/mine.conf" in found,
        (DROP_INS / "mine.conf").exists(),
    )
    if line is None:
        return first(others, differs("that its file is there", (DROP_INS / name).exists(), False))
    text = found.get(f"10-reactor-v0.network.d/{name}", "")
    matched = "Name=v0" in found.get("10-reactor-v0.network", "").splitlines()
    return first(
        others,
        differs("that it is said", line in text.splitlines(), True),
        differs("that it is for the link", matched, True),
    )


def _clean_boot(place: Path) -> None:
    _clean(place)
    shutil.rmtree(BOOT, ignore_errors=True)
    BOOT.mkdir()


def _same(manifest, place: Path):
    return manifest


def _make(commands: str, place: Path) -> None:
    _ip(BASE, place)
    for name in ("all", "default", "v0", "v1"):
        Path(f"/proc/sys/net/ipv6/conf/{name}/accept_dad").write_text("0")
    _ip(commands, place)


def _ip(commands: str, place: Path) -> None:
    for command in filter(None, map(str.strip, commands.split(";"))):
        said("ip", *command.split())


def _clean(place: Path) -> None:
    for link in json.loads(must("ip", "-j", "link", "show")):
        if link["ifname"] != "lo":
            said("ip", "link", "delete", link["ifname"])


def _links() -> dict[str, dict]:
    return {link["ifname"]: link for link in json.loads(must("ip", "-d", "-j", "link", "show"))}


def _addresses(link: str) -> set[str]:
    """Those that somebody gave it: the kernel makes the link-local ones itself, some time after the link is up."""
    found = json.loads(said("ip", "-j", "address", "show", "dev", link) or "[]")
    given = (each for link in found for each in link.get("addr_info", []) if each["scope"] != "link")
    return {f"{each['local']}/{each['prefixlen']}" for each in given}


def _routes() -> list[dict]:
    """Whether their links are connected or not: a pair that is up needs a moment to be."""
    found = json.loads(must("ip", "-j", "route", "show"))
    return [{**each, "flags": [flag for flag in each["flags"] if flag != "linkdown"]} for each in found]


def _look(place: Path) -> object:
    links = {
        name: ("UP" in link["flags"], link["mtu"], link.get("master"), link["address"])
        for name, link in _links().items()
    }
    return links, {name: sorted(_addresses(name)) for name in links}, sorted(map(str, _routes()))


def _link_wrong(properties, place: Path) -> str | None:
    link = _links().get("x0")
    if properties.get("ensure") == "absent":
        return differs("that it is there", link is not None, False)
    if link is None:
        return "it is not there"
    kind = properties.get("type")
    return first(
        kind and differs("its type", link.get("linkinfo", {}).get("info_kind"), kind),
        ("mtu" in properties and differs("its mtu", link["mtu"], properties["mtu"])) or None,
        ("address" in properties and differs("its address", link["address"], properties["address"])) or None,
        differs("that it is up", "UP" in link["flags"], properties.get("state", "up") == "up")
        if kind
        else None,
    )


def _address_wrong(properties, place: Path) -> str | None:
    there = _addresses(properties["link"])
    is_wanted = properties.get("ensure") != "absent"
    stem = properties["address"].partition("/")[0]
    same = {each for each in there if each.partition("/")[0] == stem}
    return differs("what it has of this address", same, {properties["address"]} if is_wanted else set())


def _route_wrong(properties, place: Path) -> str | None:
    found = [route for route in _routes() if route["dst"] == properties["destination"]]
    if properties.get("ensure") == "absent":
        return differs("the routes there", [route for route in found if route.get("metric", 0) == 0], [])
    found = [route for route in found if route.get("metric", 0) == properties.get("metric", 0)]
    if len(found) != 1:
        return f"there are {len(found)} routes"
    gateway = differs("the gateway", found[0].get("gateway"), properties.get("gateway"))
    return (
        gateway or ("link" in properties and differs("the link", found[0]["dev"], properties["link"])) or None
    )


_JUDGES = {"link": _link_wrong, "address": _address_wrong, "route": _route_wrong}
