"""One life of reactor in a process of its own: ``python package_life.py apt|dnf ROOT NAME...`` installs packages in ROOT."""

from __future__ import annotations

import sys
from pathlib import Path

import trio
from apt_root import AptRoot
from dnf_root import DnfRoot

from reactor.testing.story import converge_once
from resources.package import Package, providers

if __name__ == "__main__":
    manager, root, *names = sys.argv[1:]
    providers.made[manager] = (AptRoot if manager == "apt" else DnfRoot).at(Path(root)).provider()
    resources = [Package(name=name, ensure="present", provider=manager) for name in names]
    trio.run(lambda: converge_once(*resources))
