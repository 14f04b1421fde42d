"""How long a foreign change lives: write, chmod, rename-over and delete, from the change to the file being right.

10,000 files in 1,000 directories, kept by `reactor run` and by the C floor in turn, on the same core; the prober
(drift.c) has the other one. Bars: the median at most twice the floor's, the 90th percentile at most three times;
for a deletion the 2 ms that both wait on purpose are taken off first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from _harness import (
    Row,
    Running,
    World,
    arguments,
    compile_c,
    interleaved,
    percentile,
    probe,
    reactor_running,
    show,
    started,
    workspace,
    write_manifest,
)

HOWS = ("write", "chmod", "rename", "delete")
DELETION_WAIT_US = 2000.0
Keeper = Callable[[], contextlib.AbstractContextManager[Running]]
Samples = dict[str, list[float]]


def one_turn(keeper: Keeper, prober: str, world: World, samples: int) -> Samples:
    """All four kinds of change, under one run of ``keeper``."""
    world.make_directories()
    with keeper():
        found = {how: probe(prober, world, how, samples) for how in HOWS}
    world.check_content()
    return found


def summary(turns: list[Samples], how: str, percent: float) -> float:
    """The median over all turns of one percentile, without the wait that is there on purpose."""
    wait = DELETION_WAIT_US if how == "delete" else 0.0
    return median(percentile([us for us in turn[how] if us >= 0], percent) for turn in turns) - wait


def rows(results: dict[str, list[Samples]]) -> list[Row]:
    """One row a kind of change and percentile, and the changes never repaired."""
    found = []
    for how in HOWS:
        for percent, bar in ((50, 2.0), (90, 3.0), (99, None)):
            ours, floor = (summary(results[name], how, percent) for name in ("reactor", "floor"))
            found.append(Row(f"{how} p{percent}", ours, "µs", bar, floor))
    lost = sum(us < 0 for turn in results["reactor"] for how in HOWS for us in turn[how])
    return [*found, Row("not repaired within 3 s", lost, "", 0)]


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__)
    files, dirs, samples, turns = (1000, 100, 200, 2) if options.quick else (10_000, 1000, 350, 15)
    with workspace(options.dir) as space, workspace(Path("/tmp")) as tools:
        world = World(space / "w", dirs, files)
        manifest = write_manifest(world, tools / "manifest.yaml")
        floor, prober = compile_c("floor", tools), compile_c("drift", tools)
        keepers: dict[str, Keeper] = {
            "floor": lambda: started(
                [floor, "watch", *world.arguments()], lambda line: line == "converged\n"
            ),
            "reactor": lambda: reactor_running(manifest),
        }
        results = interleaved(
            turns,
            {name: partial(one_turn, keeper, prober, world, samples) for name, keeper in keepers.items()},
        )
    show(
        f"drift: {files} files in {dirs} directories on {options.dir}, {turns} x {samples} changes of each kind",
        rows(results),
    )


if __name__ == "__main__":
    main()
