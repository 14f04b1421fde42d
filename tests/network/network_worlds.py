"""Network namespaces of the tests' own, and what `ip` sees in them."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache

_NUMBERS = itertools.count()


def ip(*words: object) -> str:
    done = subprocess.run(["ip", *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {words}: {done.stderr}"
    return done.stdout


class Namespace:
    """One network namespace with a veth pair v0, v1, as seen by `ip`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def ip(self, *words: object) -> str:
        return ip("-n", self.name, *words)

    def run(self, line: str) -> None:
        """Several commands of ip, one a line."""
        for command in filter(None, map(str.strip, line.splitlines())):
            self.ip(*command.split())

    def run_at_once(self, commands: Iterable[str]) -> None:
        """Many commands in one process, as fast as it can."""
        lines = "\n".join(commands)
        command = ["ip", "-n", self.name, "-batch", "-"]
        subprocess.run(command, input=lines, text=True, check=True, capture_output=True)

    def links(self) -> dict[str, dict]:
        found = json.loads(self.ip("-d", "-j", "link", "show"))
        return {link["ifname"]: link for link in found}

    def link(self, name: str) -> dict:
        return self.links()[name]

    def addresses(self, link: str) -> set[str]:
        return self.all_addresses()[link]

    def all_addresses(self) -> dict[str, set[str]]:
        """The addresses of each link, without the link-local ones, which the kernel adds itself."""
        return {
            link["ifname"]: {
                f"{each['local']}/{each['prefixlen']}"
                for each in link["addr_info"]
                if each["scope"] != "link"
            }
            for link in json.loads(self.ip("-j", "address", "show"))
        }

    def routes(self) -> set[str]:
        """The routes of all tables, but those that the kernel made; whatever the carrier of their link."""
        lines = [
            line
            for family in ("-4", "-6")
            for line in self.ip(family, "route", "show", "table", "all").splitlines()
        ]
        return {
            " ".join(word for word in line.split() if word not in ("dead", "linkdown"))
            for line in lines
            if "proto kernel" not in line and "table local" not in line
        }

    def everything(self) -> tuple:
        """All that a resource could change, to be compared. A link may come or go meanwhile."""
        links = self.links()
        settings = {
            name: ("UP" in link["flags"], link["mtu"], link.get("master"), link["address"])
            for name, link in links.items()
        }
        return settings, self.all_addresses(), self.routes()


@contextmanager
def namespace() -> Iterator[Namespace]:
    """One where nobody asks the neighbours for seconds whether an IPv6 address is taken, and announces the answer."""
    name = f"reactor-test-{os.getpid()}-{next(_NUMBERS)}"
    ip("netns", "add", name)
    ip("netns", "exec", name, "sysctl", "-qw", "net.ipv6.conf.default.accept_dad=0")
    try:
        yield Namespace(name)
    finally:
        if os.path.exists(f"/run/netns/{name}"):
            ip("netns", "delete", name)


@cache
def types_the_kernel_lacks() -> set[str]:
    """Of the types that `link` can make, those that this kernel can't."""
    with namespace() as world:
        world.run("link add v0 type veth peer name v1")
        tries = {
            "dummy": "link add t0 type dummy",
            "bond": "link add t1 type bond",
            "vlan": "link add t2 link v0 type vlan id 5",
            "macvlan": "link add t3 link v0 type macvlan mode bridge",
            "vxlan": "link add t4 type vxlan id 5 dstport 4789",
            "bridge": "link add t5 type bridge",
        }
        return {kind for kind, words in tries.items() if not _can(world, words)}


def _can(world: Namespace, words: str) -> bool:
    command = ["ip", "-n", world.name, *words.split()]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
