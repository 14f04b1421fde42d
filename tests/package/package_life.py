"""One life of reactor in a process of its own: ``python package_life.py apt|dnf ROOT NAME...`` installs packages in ROOT.

It heeds signals as a run does, and writes what they lead to.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import trio
from apt_root import AptRoot
from dnf_root import DnfRoot

from reactor.cli.running.signals import Interruption
from reactor.engine.options import RunOptions
from reactor.resources.package import Package, providers
from reactor.testing.story import Story, graph_of


async def live(resources):
    engine = Story(graph_of(resources), RunOptions()).engine
    async with trio.open_nursery() as nursery:
        await nursery.start(Interruption(engine, lambda words: os.write(1, f"{words}\n".encode())).listen)
        await engine.run()
        nursery.cancel_scope.cancel()


if __name__ == "__main__":
    manager, root, *names = sys.argv[1:]
    providers.made[manager] = (AptRoot if manager == "apt" else DnfRoot).at(Path(root)).provider()
    resources = [Package(name=name, ensure="present", provider=manager) for name in names]
    trio.run(live, resources)
