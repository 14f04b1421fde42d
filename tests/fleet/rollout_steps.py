"""Simulate rollouts for many steps: ``python tests/fleet/rollout_steps.py --steps 1000000``.

Each life begins with a seed of its own, so a breach is repeated by ``--life SEED``.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter

from rollout_world import WAVES, BreachError, World, gates, step

SIZES = (1, 2, 3, 8, 20, 60)
LENGTHS = (50, 200, 600)


def live(seed: str) -> tuple[int, Counter, str | None]:
    """Lead one life. Returns its steps, what happened in it, and how it broke a promise, if it did."""
    chance = random.Random(seed)
    pick = chance.choice
    world = World(pick(SIZES), gates(pick), pick(WAVES))
    made = 0
    try:
        for _ in range(pick(LENGTHS)):
            made += 1
            step(world, pick)
        world.finish()
    except BreachError as breach:
        return made, world.seen, str(breach)
    return made, world.seen + Counter({f"ended {world.state.phase}": 1}), None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--seed", default="rollout")
    parser.add_argument("--life")
    options = parser.parse_args()
    steps, lives, breaches, seen, began = 0, 0, 0, Counter(), time.monotonic()
    while steps < options.steps:
        name = options.life or f"{options.seed}-{lives}"
        made, events, breach = live(name)
        steps, lives, seen = steps + made, lives + 1, seen + events
        if breach:
            breaches += 1
            print(f"breach in life {name}, step {made}: {breach}")
        if breaches == 5 or options.life:
            break
    print(f"{steps:,} steps in {lives:,} lives, {time.monotonic() - began:.0f} s; breaches: {breaches}")
    for what, count in sorted(seen.items()):
        print(f"  {what:<24}{count:>10,}")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
