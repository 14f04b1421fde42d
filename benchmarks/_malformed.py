"""What the benchmarks of malformed input share: the tally, its bounds, and the table at the end.

Each input depends on the seed and on its number alone: one that is named can be tried again by itself. An input that takes
over 2 s is tried again at once. It counts as slow when each of its tries takes that much processor time, on its own and in the
processes that it starts, or that long by the clock: without the time in which something on this machine waited for a processor or
a disk, as the kernel says it (proc_pressure). Where the kernel does not say it, and more wants to run than there are processors,
the clock proves nothing: that is counted in a row of its own.
"""

from __future__ import annotations

import os
import random
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from _harness import Row, peak_megabytes, progress, show

MOST_SECONDS, MOST_MEGABYTES, TRIES = 2.0, 300, 3
_SHOWN = 5
_MANY = 10**9

Refused = tuple[type[Exception], ...]


@dataclass
class Tally:
    """What became of the inputs; ``faults`` describes what should not have been.

    ``slowest`` is the longest time of one input by the clock, by its quickest try; ``most_processor`` is the same of the
    processor time. ``slow_once`` inputs took long at first, but not at a later try; ``slow_when_busy`` at each
    try by the clock, on a busy machine.
    """

    taken: int = 0
    refused: int = 0
    slow: int = 0
    slow_once: int = 0
    slow_when_busy: int = 0
    slowest: float = 0.0
    most_processor: float = 0.0
    faults: list[str] = field(default_factory=list)

    def note_times(self, name: str, times: Sequence[float], processor: float) -> None:
        """Count how long each try of the input ``name`` took by its `Stopwatch`, and the least processor time of a try.

        There is one try, or more if the first took too long.
        """
        quickest = min(times)
        self.slowest = max(self.slowest, quickest)
        self.most_processor = max(self.most_processor, processor)
        is_slow, is_busy = quickest > MOST_SECONDS, os.getloadavg()[0] > (os.cpu_count() or 1)
        if processor > MOST_SECONDS or (is_slow and not is_busy):
            self.slow += 1
            words = f"{quickest:.1f} s, the quickest of {len(times)} tries, and {processor:.1f} s of processor time"
            self.faults.append(f"{name} took {words}")
        elif is_slow:
            self.slow_when_busy += 1
        elif len(times) > 1:
            self.slow_once += 1


def stalled_seconds() -> float:
    """For how long something on this machine has waited for a processor or a disk; 0 if the kernel does not say it."""
    return max(_pressure("cpu"), _pressure("io"))


def _pressure(of: str) -> float:
    with suppress(OSError), open(f"/proc/pressure/{of}", encoding="ascii") as lines:
        some = next(lines)  # some avg10=0.00 avg60=0.00 avg300=0.00 total=0
        return int(some.rpartition("=")[2]) / 1e6
    return 0.0


class Stopwatch:
    """Measures one try from its making on."""

    def __init__(self) -> None:
        self._start, self._stalled, self._busy = time.perf_counter(), stalled_seconds(), processor_time()

    @property
    def seconds(self) -> float:
        """The time by the clock, without that in which the machine had too much to do."""
        elapsed = time.perf_counter() - self._start
        return max(0.0, elapsed - (stalled_seconds() - self._stalled))

    @property
    def processor(self) -> float:
        """The processor time of this process, and of those that it started and that have ended."""
        return processor_time() - self._busy


def processor_time() -> float:
    """Seconds that this process has computed, and those it started that have ended."""
    return sum(os.times()[:4])


def attempt(tally: Tally, name: str, make: Callable[[], Callable[[], object]], refused: Refused) -> None:
    """Do the work that ``make`` returns: it may raise ``refused`` and nothing else, and may not take long."""
    work = make()
    watch = Stopwatch()
    try:
        work()
    except refused:
        tally.refused += 1
    except Exception:  # noqa: BLE001 - finding these is what this is for
        tally.faults.append(f"{name}: {traceback.format_exc()}")
    else:
        tally.taken += 1
    tries = [(watch.seconds, watch.processor)]
    while max(tries[-1]) > MOST_SECONDS and len(tries) < TRIES:
        tries.append(_time_of(make()))
    times, processor = zip(*tries, strict=True)
    tally.note_times(name, times, min(processor))


def _time_of(work: Callable[[], object]) -> tuple[float, float]:
    watch = Stopwatch()
    with suppress(Exception):  # how it ends was seen at its first try
        work()
    return watch.seconds, watch.processor


def attack(
    count: int, seed: int, make: Callable[[random.Random], Callable[[], object]], refused: Refused
) -> Tally:
    """Try ``count`` inputs; ``make`` builds one, and returns what is to be done with it."""
    tally = Tally()
    for number in range(count):
        made = partial(_made, make, seed * _MANY + number)
        attempt(tally, f"number {number}", made, refused)
        if number % 1000 == 0:
            progress(f"{number:,} of {count:,}, {len(tally.faults)} faults")
    progress("")
    return tally


def _made(make: Callable[[random.Random], Callable[[], object]], seed: int) -> Callable[[], object]:
    return make(random.Random(seed))


def time_rows(tally: Tally) -> list[Row]:
    """The rows of the table that say how long the inputs took."""
    return [
        Row(f"over {MOST_SECONDS:g} s", tally.slow, "", 0),
        Row(f"over {MOST_SECONDS:g} s by the clock of a busy machine", tally.slow_when_busy, ""),
        Row(f"over {MOST_SECONDS:g} s by the clock, but not again", tally.slow_once, ""),
        Row("slowest by the clock", tally.slowest, "s"),
        Row("most processor time of one", tally.most_processor, "s", MOST_SECONDS),
    ]


def finish(title: str, tally: Tally) -> None:
    """Print the table and the first faults; end with 1 when there was one."""
    megabytes = peak_megabytes()
    rows = [
        Row("another exception than an error for people", len(tally.faults) - tally.slow, "", 0),
        *time_rows(tally),
        Row("most memory", megabytes, "MB", MOST_MEGABYTES),
    ]
    show(f"{title}, {tally.refused:,} refused, {tally.taken:,} taken", rows)
    for fault in tally.faults[:_SHOWN]:
        print(f"\n{fault[-3000:]}")
    sys.exit(bool(tally.faults) or megabytes > MOST_MEGABYTES)
