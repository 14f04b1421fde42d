"""100 small packages from nothing, against one `apt-get install` of the same by hand; and a no-op run of them.

In systems of their own below a scratch directory, with a repository of packages made for this, as the tests have them.
In-process, after the manifest is loaded. The first is to take at most 2 transactions and 1.5 times what apt-get takes
by hand; the second is to start no program, and to take under 100 ms in a process that has never looked.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from statistics import median

import trio
from _harness import HERE, Row, arguments, show, workspace

sys.path.append(str(HERE.parent / "tests" / "package"))

from apt_root import AptRoot
from deb_packages import Deb

from reactor.engine.events import Result
from reactor.resources.package import Package, commands, providers
from reactor.testing.story import converge_once

COUNT = 100
NAMES = [f"tiny{number}" for number in range(COUNT)]


def system(directory: Path) -> AptRoot:
    """A system whose lists are fetched, and which has nothing installed."""
    root = AptRoot(directory, *map(Deb, NAMES))
    root.update()
    return root


def by_hand(root: AptRoot) -> float:
    """Seconds that apt-get takes."""
    began = time.perf_counter()
    root.apt_get("install", *NAMES)
    return time.perf_counter() - began


def converge(root: AptRoot, expected: Result) -> float:
    """Seconds that reactor takes, with a provider that knows nothing yet."""
    providers.made["apt"] = root.provider()
    resources = [Package(name=name, ensure="present", provider="apt") for name in NAMES]
    began = time.perf_counter()
    ended, _ = trio.run(lambda: converge_once(*resources))
    took = time.perf_counter() - began
    assert ended.counts[expected] == COUNT, ended
    return took


def started(root: AptRoot) -> int:
    """How many programs a run that finds all as desired starts."""
    count = 0
    real = commands.run

    async def counting(*given: object) -> object:
        nonlocal count
        count += 1
        return await real(*given)

    commands.run = counting
    try:
        converge(root, Result.OK)
    finally:
        commands.run = real
    return count


def main() -> None:
    """Measure in turns, and show the table."""
    options = arguments(__doc__)
    hand, ours, idle, transactions, programs_started = [], [], [], 0, 0
    rounds = 2 if options.quick else 5
    with workspace(options.dir) as directory:
        for turn in range(rounds):
            hand.append(by_hand(system(directory / f"hand{turn}")))
            root = system(directory / f"ours{turn}")
            ours.append(converge(root, Result.CHANGED))
            transactions = max(transactions, len(root.transactions))
            idle.append(converge(root, Result.OK))
            programs_started = max(programs_started, started(root))
    rows = [
        Row("from nothing", median(ours), "s", 1.5, median(hand)),
        Row("transactions", transactions, "", 2),
        Row("all as desired, in a provider that has never looked", median(idle) * 1000, "ms", 100),
        Row("programs started for that", programs_started, "", 0),
    ]
    show(f"{COUNT} packages of apt in {options.dir}", rows, "apt-get by hand")


if __name__ == "__main__":
    main()
