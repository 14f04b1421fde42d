"""A change at the end of a long chain is repaired as fast as at the end of a short one.

Files that each require the one before, 1,000 against 10, kept by `reactor run`; the last one is changed from
outside. Bar: within a factor of two at the median.
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

LONG, SHORT = 1000, 10
FILES_PER_DIRECTORY = 10


def write_chain(world: World, path: Path) -> Path:
    """A manifest in which every file requires the one before."""
    lines = ["resources:", "  - file:"]
    lines.append('      - defaults: {ensure: present, owner: root, group: root, mode: "0644"}')
    for number in range(world.count):
        lines.append(f"      - {world.path(number)}:")
        lines.append(f"          content: {json.dumps(content_of(number))}")
        if number:
            lines.append(f'          require: ["file#{world.path(number - 1)}"]')
    path.write_text("\n".join(lines) + "\n")
    return path


def leaf_latencies(prober: str, space: Path, length: int, samples: int) -> list[float]:
    """Microseconds from a change of the last file to its repair."""
    world = World(space / f"chain{length}", length // FILES_PER_DIRECTORY, length)
    world.make_directories()
    with reactor_running(write_chain(world, space / f"{length}.yaml")):
        return probe(prober, world, "write", samples, first=length - 1)


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
