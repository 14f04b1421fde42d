"""Simulate the scheduler for many steps, beside an oracle that shares no code with it.

    python tests/simulation/simulate.py --steps 10000000

Each life begins with a seed of its own, so that a breach is repeated by the command that is printed with it.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import traceback
from dataclasses import dataclass, field

from scheduler_life import Life
from scheduler_world import BreachError

LENGTHS = (30, 100, 300, 1000)
SIZES = (2, 3, 4, 5, 6, 8, 12, 20, 60)
"""In which the smallest life is looked for that breaks the same promise."""


@dataclass
class Report:
    """What was simulated. ``breaches``: the seeds of the lives, each with the step and the promise."""

    steps: int = 0
    lives: int = 0
    breaches: list[tuple[str, int, str]] = field(default_factory=list)


def live(seed: str, *, most: int = 60, trace: bool = False) -> tuple[int, str | None]:
    """Lead the life of ``seed`` to its end. Returns its steps, and how it broke a promise, if it did."""
    life: Life | None = None
    try:
        life = Life(seed, most)
        length = life.chance.choice(LENGTHS)
        while life.steps < length:
            life.step()
        life.end()
    except Exception as error:  # noqa: BLE001 - a traceback of the scheduler is a breach, too
        if trace:
            print(*(life.log if life else ()), sep="\n")
            traceback.print_exc()
        text = str(error) if isinstance(error, BreachError) else f"{type(error).__name__}: {error}"
        return (life.steps if life else 0), text
    return life.steps, None


def simulate(steps: int, seed: str, *, stop_at: int = 1) -> Report:
    """Lead lives until so many ``steps`` were made, or ``stop_at`` breaches found."""
    report = Report()
    started = said = time.monotonic()
    while report.steps < steps and len(report.breaches) < stop_at:
        name = f"{seed}-{report.lives}"
        made, breach = live(name)
        report.steps += made
        report.lives += 1
        if breach is not None:
            report.breaches.append((name, made, breach))
            print(f"breach in life {name}, step {made}: {breach}", flush=True)
        if (now := time.monotonic()) - said > 60:
            said = now
            print(f"{report.steps:,} steps, {report.steps / (now - started):,.0f}/s", flush=True)
    return report


def smallest(breach: str, seed: str, lives: int = 3000) -> tuple[str, int, int] | None:
    """A short life with few vertices that breaks the same promise: its seed, size and steps."""
    kind = _kind(breach)
    for most in SIZES:
        found = []
        for number in range(lives):
            name = f"{seed}-small-{number}"
            made, other = live(name, most=most)
            if other is not None and _kind(other) == kind:
                found.append((made, name))
        if found:
            made, name = min(found)
            return name, most, made
    return None


def _kind(breach: str) -> str:
    """The promise, without the numbers of this life."""
    return re.sub(r"[0-9.]+", "N", breach)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--stop-at", type=int, default=1, help="end after so many breaches")
    parser.add_argument("--life", help="repeat the life of this seed, and print its steps")
    parser.add_argument("--most", type=int, default=60, help="with --life: the size that was printed")
    options = parser.parse_args()
    if options.life:
        _, breach = live(options.life, most=options.most, trace=True)
        print(breach or "no promise is broken")
        return breach is not None
    started = time.monotonic()
    report = simulate(options.steps, options.seed, stop_at=options.stop_at)
    took = time.monotonic() - started
    print(
        f"{report.steps:,} steps in {report.lives:,} lives, {took:.0f} s: {len(report.breaches)} promises broken"
    )
    if report.breaches:
        name, made, breach = report.breaches[0]
        print(f"repeat it:  python {sys.argv[0]} --life {name}   (step {made}: {breach})")
        if (small := smallest(breach, options.seed)) is not None:
            name, most, made = small
            print(f"a smaller one: python {sys.argv[0]} --life {name} --most {most}   (step {made})")
    return bool(report.breaches)


if __name__ == "__main__":
    sys.exit(main())
