"""A change at the end of a long chain is repaired as fast as at the end of a short one.

Files that each require the one before, 1,000 against 10, and at the end of the chain 100 leaves that require its
last link, kept by `reactor run`. One leaf after the other is changed from outside: many, for who changes the same
file again and again is in a fight, and those are slowed down. Bar: within a factor of two at the median.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from statistics import median

from _harness import (
    Row,
    World,
    arguments,
    compile_c,
    content_of,
    interleaved,
    percentile,
    probe,
    reactor_running,
    show,
    workspace,
)

LONG, SHORT, LEAVES = 1000, 10, 100
FILES_PER_DIRECTORY = 10


def write_chain(world: World, length: int, path: Path) -> Path:
    """A manifest in which each of the first ``length`` files requires the one before, and all others the last."""
    lines = ["resources:", "  - file:"]
    lines.append('      - defaults: {ensure: present, owner: root, group: root, mode: "0644"}')
    for number in range(world.count):
        lines.append(f"      - {world.path(number)}:")
        lines.append(f"          content: {json.dumps(content_of(number))}")
        if number:
            lines.append(f'          require: ["file#{world.path(min(number, length) - 1)}"]')
    path.write_text("\n".join(lines) + "\n")
    return path


def leaf_latencies(prober: str, space: Path, length: int, samples: int) -> list[float]:
    """Microseconds from a change of a leaf to its repair."""
    count = length + LEAVES
    world = World(space / f"chain{length}", count // FILES_PER_DIRECTORY, count)
    world.make_directories()
    with reactor_running(write_chain(world, length, space / f"{length}.yaml")):
        return probe(prober, world, "write", samples, first=length)


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__)
    rounds, samples = (2, 100) if options.quick else (5, 500)
    with workspace(options.dir) as space:
        prober = compile_c("drift", space)
        contenders = {
            length: partial(leaf_latencies, prober, space, length, samples) for length in (SHORT, LONG)
        }
        found = interleaved(rounds, {str(length): run for length, run in contenders.items()})
    rows = []
    for percent, bar in ((50, 2.0), (90, None)):
        long, short = (
            median(percentile(run, percent) for run in found[str(length)]) for length in (LONG, SHORT)
        )
        rows.append(Row(f"leaf of a chain of {LONG}, p{percent}", long, "µs", bar, short))
    show("chains: leaf changed to leaf repaired", rows, f"chain of {SHORT}")


if __name__ == "__main__":
    main()
