"""One life of reactor in a process of its own: ``python package_life.py ROOT NAME...`` installs packages with apt in ROOT."""

from __future__ import annotations

import sys
from pathlib import Path

import trio
from apt_root import AptRoot

from reactor.testing.story import converge_once
from resources.package import Package, providers

if __name__ == "__main__":
    providers.made["apt"] = AptRoot.at(Path(sys.argv[1])).provider()
    resources = [Package(name=name, ensure="present", provider="apt") for name in sys.argv[2:]]
    trio.run(lambda: converge_once(*resources))
