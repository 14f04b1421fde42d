"""The engine without start-up: first convergence, and passes over files that are as desired already.

In-process, after the manifest is loaded. Against the C floor's pass of the same sort, both with 10,000 files in
1,000 directories. The first creates every file: at most 3 times the floor. A no-op pass finds all as desired: at most 4
times the floor's, which reads and compares every file, both in a fresh engine and when everything is marked in a
running one, where stamps spare the reading. The first convergence with watches, a journal on the disk of the temporary
files, and a console whose lines are thrown away: at most 3 times the floor, which has none of these. For information: a
pass against a mere stat of each file, and the watched convergence without journal and console.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median

import trio
from _harness import Row, World, arguments, compile_c, interleaved, show, workspace, write_manifest

from reactor.console.display import Display
from reactor.engine.engine import Engine
from reactor.engine.events import Cause, Checked, Converged, Event
from reactor.engine.options import RunOptions
from reactor.journal.journal import Journal
from reactor.journal.records import lean
from reactor.loading import load

Times = dict[str, float]
PASSES = (
    ("first convergence", "first", "first_ms", 3.0),
    ("no-op pass of a fresh engine, all is read", "full", "full_ms", 4.0),
    ("no-op pass of a running engine, stamps hold", "marked", "full_ms", 4.0),
    ("the same, against a stat of each file", "marked", "stat_ms", None),
    ("first convergence, watched", "watched", "first_ms", None),
    ("the same, with the journal and the console", "recorded", "first_ms", 3.0),
)
ECHOES_END_SECONDS = 0.5
"""By then the events of our own writes have been checked, and the files are old enough for a stamp to prove much."""


class Observed:
    """A sink that knows when the engine has converged, and how many checks it made."""

    def __init__(self) -> None:
        self.checks = 0
        self.converged = trio.Event()

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if isinstance(event, Checked):
            self.checks += 1
        elif isinstance(event, Converged):
            self.converged.set()

    def begin(self) -> None:
        """Begin to count anew."""
        self.checks = 0
        self.converged = trio.Event()

    async def expect(self, checks: int) -> None:
        """Wait for convergence."""
        await self.converged.wait()
        assert self.checks >= checks, f"{self.checks} checks of {checks}"


def floor_passes(program: str, world: World) -> Times:
    """The floor's milliseconds."""
    world.make_directories()
    output = subprocess.run([program, "passes", *world.arguments()], check=True, capture_output=True).stdout
    times: Times = json.loads(output)
    return times


@contextlib.contextmanager
def timed(times: Times, name: str) -> Iterator[None]:
    """Note the milliseconds of the block; the litter of what went before is collected first."""
    gc.collect()
    start = time.perf_counter()
    yield
    times[name] = (time.perf_counter() - start) * 1e3


def run_once(manifest: Path, times: Times, name: str, world: World) -> None:
    """Load, and time one run of a new engine to its end."""
    seen = Observed()
    engine = Engine(load(str(manifest)).graph, RunOptions(), seen)
    with timed(times, name):
        trio.run(engine.run)
    assert seen.checks == world.count, f"{seen.checks} checks"


async def run_watched(manifest: Path, times: Times, world: World) -> None:
    """Time a run that watches: to its first convergence, and a pass with everything marked again."""
    seen = Observed()
    engine = Engine(load(str(manifest)).graph, RunOptions(watch=True, audit_interval=None), seen)
    async with trio.open_nursery() as nursery:
        with timed(times, "watched"):
            nursery.start_soon(engine.run)
            await seen.expect(world.count)
        await trio.sleep(ECHOES_END_SECONDS)
        await pass_over_all(engine, seen, world)
        with timed(times, "marked"):
            await pass_over_all(engine, seen, world)
        engine.stop()


async def run_recorded(manifest: Path, times: Times, world: World, directory: str) -> None:
    """Time a run that watches, with the journal in ``directory`` and the console, to its first convergence."""
    graph = load(str(manifest)).graph
    seen, display = Observed(), Display("text", resources=world.count, continuous=True)
    journal = Journal.open(directory, str(manifest), display.warn)

    def emit(event: Event) -> None:
        display(lean(event))
        journal.record(event)
        seen(event)

    options = RunOptions(watch=True, audit_interval=None, diff=True)
    async with trio.open_nursery() as nursery:
        with timed(times, "recorded"):
            engine = Engine(graph, options, emit, run_store=journal)
            for task in (display.run, journal.run, engine.run):
                nursery.start_soon(task)
            await seen.expect(world.count)
        nursery.cancel_scope.cancel()
    journal.close()


async def pass_over_all(engine: Engine, seen: Observed, world: World) -> None:
    """Mark every vertex and wait until all are checked."""
    seen.begin()
    for vertex in range(world.count):
        engine.dispatcher.mark(vertex, Cause.DRIFT)
    await seen.expect(world.count)


def reactor_passes(manifest: Path, world: World) -> Times:
    """Our milliseconds."""
    times: Times = {}
    world.make_directories()
    run_once(manifest, times, "first", world)
    world.check_content()
    time.sleep(ECHOES_END_SECONDS)
    run_once(manifest, times, "full", world)
    world.make_directories()
    trio.run(run_watched, manifest, times, world)
    world.check_content()
    world.make_directories()
    nowhere = Path(os.devnull)
    with tempfile.TemporaryDirectory() as state, nowhere.open("w") as out, contextlib.redirect_stdout(out):
        trio.run(run_recorded, manifest, times, world, state)
    world.check_content()
    return times


def in_new_process(manifest: Path, world: World) -> Times:
    """The same in a process of its own, as the floor has: in one that has run engines before, memory is in pieces."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(reactor_passes, manifest, world).result()


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__)
    files, dirs, rounds = (1000, 100, 2) if options.quick else (10_000, 1000, 5)
    with workspace(options.dir) as space:
        world = World(space / "w", dirs, files)
        manifest = write_manifest(world, space / "manifest.yaml")
        floor = compile_c("floor", space)
        contenders = {
            "floor": partial(floor_passes, floor, world),
            "reactor": partial(in_new_process, manifest, world),
        }
        found = interleaved(rounds, contenders)
    rows = []
    for title, ours, theirs, bar in PASSES:
        times = (
            median(turn[ours] for turn in found["reactor"]),
            median(turn[theirs] for turn in found["floor"]),
        )
        rows.append(Row(title, times[0], "ms", bar, times[1]))
    show(f"convergence in-process: {files} files in {dirs} directories on {options.dir}", rows)


if __name__ == "__main__":
    main()
