"""What the benchmarks of malformed input share: the tally, its bounds, and the table at the end.

Each input depends on the seed and on its number alone: one that is named can be tried again by itself.
"""

from __future__ import annotations

import random
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

from _harness import Row, peak_megabytes, progress, show

MOST_SECONDS, MOST_MEGABYTES = 2.0, 300
_SHOWN = 5
_MANY = 10**9

Refused = tuple[type[Exception], ...]


@dataclass
class Tally:
    """What became of the inputs; ``faults`` describes what should not have been."""

    taken: int = 0
    refused: int = 0
    slow: int = 0
    slowest: float = 0.0
    faults: list[str] = field(default_factory=list)


def attempt(tally: Tally, name: str, work: Callable[[], object], refused: Refused) -> None:
    """Do ``work``, which may raise ``refused`` and nothing else, and not take long."""
    start = time.perf_counter()
    try:
        work()
    except refused:
        tally.refused += 1
    except Exception:  # noqa: BLE001 - finding these is what this is for
        tally.faults.append(f"{name}: {traceback.format_exc()}")
    else:
        tally.taken += 1
    took = time.perf_counter() - start
    tally.slowest = max(tally.slowest, took)
    if took > MOST_SECONDS:
        tally.slow += 1
        tally.faults.append(f"{name} took {took:.1f} s")


def attack(
    count: int, seed: int, make: Callable[[random.Random], Callable[[], object]], refused: Refused
) -> Tally:
    """Try ``count`` inputs; ``make`` builds one, and returns what is to be done with it."""
    tally = Tally()
    for number in range(count):
        attempt(tally, f"number {number}", make(random.Random(seed * _MANY + number)), refused)
        if number % 1000 == 0:
            progress(f"{number:,} of {count:,}, {len(tally.faults)} faults")
    progress("")
    return tally


def finish(title: str, tally: Tally) -> None:
    """Print the table and the first faults; end with 1 when there was one."""
    megabytes = peak_megabytes()
    rows = [
        Row("another exception than an error for people", len(tally.faults) - tally.slow, "", 0),
        Row(f"over {MOST_SECONDS:g} s", tally.slow, "", 0),
        Row("slowest", tally.slowest, "s", MOST_SECONDS),
        Row("most memory", megabytes, "MB", MOST_MEGABYTES),
    ]
    show(f"{title}, {tally.refused:,} refused, {tally.taken:,} taken", rows)
    for fault in tally.faults[:_SHOWN]:
        print(f"\n{fault[-3000:]}")
    sys.exit(bool(tally.faults) or megabytes > MOST_MEGABYTES)
