"""The scheduler alone, without I/O: that work is local, and that a big graph is no trouble.

One leaf marked, started and finished in a random graph of 1,000,000 vertices and in one of 1,000: the same within
a factor of two. 100,000 vertices from all dirty to converged, with checks that take no time: under 3 s.
"""

from __future__ import annotations

import gc
import random
import time
from functools import partial

from _harness import Row, arguments, interleaved, medians, show

from reactor.engine.events import Cause
from reactor.engine.outcome import Outcome
from reactor.engine.scheduler import Scheduler
from reactor.graph.graph import EdgeKind
from reactor.graph.topology import Topology

EDGES_PER_VERTEX = 2
LEAVES = 10_000
JOBS = 64


def random_topology(size: int) -> Topology:
    """A random acyclic graph with about two edges a vertex, the same for the same size."""
    rng = random.Random(size)
    draws = ((rng.randrange(size), rng.randrange(size)) for _ in range(EDGES_PER_VERTEX * size))
    edges = dict.fromkeys((min(pair), max(pair)) for pair in draws if pair[0] != pair[1])
    return Topology.of_edges(size, ((first, second, EdgeKind.REQUIRE) for first, second in edges))


def quiet_scheduler(size: int) -> tuple[Scheduler, list[int]]:
    """A scheduler at rest, and some of its leaves in random order."""
    topology = random_topology(size)
    leaves = [vertex for vertex in range(size) if not topology.successors[vertex]]
    chosen = random.Random(1).choices(leaves, k=LEAVES)
    return Scheduler(topology, jobs=JOBS), chosen


def leaf_microseconds(scheduler: Scheduler, leaves: list[int]) -> float:
    """The cost of marking, starting and finishing one leaf."""
    start = time.perf_counter()
    for leaf in leaves:
        scheduler.mark(leaf, Cause.DRIFT, 0.0)
        started = scheduler.next_ready(0.0)
        assert started == leaf
        scheduler.finished(leaf, Outcome.OK, 0.0)
    taken = time.perf_counter() - start
    assert scheduler.converged
    return taken / len(leaves) * 1e6


def converge_seconds(topology: Topology) -> float:
    """Everything dirty, then one instant check after the other, until nothing is in motion."""
    scheduler = Scheduler(topology, jobs=JOBS)
    start = time.perf_counter()
    for vertex in range(topology.size):
        scheduler.mark(vertex, Cause.INITIAL, 0.0)
    checks = 0
    while (ready := scheduler.next_ready(0.0)) is not None:
        scheduler.finished(ready, Outcome.OK, 0.0)
        checks += 1
    taken = time.perf_counter() - start
    assert scheduler.converged
    assert checks == topology.size
    return taken


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__)
    rounds, large, all_dirty = (3, 100_000, 20_000) if options.quick else (5, 1_000_000, 100_000)
    gc.disable()
    sizes = {"small": 1000, "large": large}
    schedulers = {name: quiet_scheduler(size) for name, size in sizes.items()}
    leaf = medians(
        interleaved(rounds, {name: partial(leaf_microseconds, *one) for name, one in schedulers.items()})
    )
    topology = random_topology(all_dirty)
    converge = medians(interleaved(rounds, {"all": partial(converge_seconds, topology)}))["all"]
    show(
        "the scheduler alone",
        [
            Row(f"one leaf of {large:,} vertices", leaf["large"], "µs", 2.0, leaf["small"]),
            Row(f"{all_dirty:,} vertices, all dirty", converge, "s", 3.0),
        ],
        "1,000 vertices",
    )


if __name__ == "__main__":
    main()
