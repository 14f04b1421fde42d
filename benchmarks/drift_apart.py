"""How long a change lives where changes are rare, as users see it: 20 and 200 ms apart, on a disk, and unpinned.

As `drift.py`, but what lies still has lost its place in the caches, and the processor sleeps in between. On the disk
both flush the new file before the rename, and the directory after it; nothing else writes there. In the last part
nothing is bound to a core, and this program, in Python, makes the changes and looks whether they are undone.
"""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

import _harness
from _harness import (
    Row,
    Running,
    World,
    arguments,
    compile_c,
    content_of,
    interleaved,
    percentile,
    probe,
    reactor_running,
    show,
    started,
    workspace,
    write_manifest,
)

HOWS = ("write", "chmod", "rename")
GAPS = {20: 60, 200: 10}
"""Milliseconds between changes, and how many changes of each kind a turn has."""
DISK_GAP_MS = 20
GIVE_UP_SECONDS = 3.0
Found = dict[str, list[float]]


@contextlib.contextmanager
def keeper(name: str, world: World, manifest: Path, floor: str) -> Iterator[Running]:
    """Empty directories, and then the program that keeps the files."""
    world.make_directories()
    by_floor = partial(started, [floor, "watch", *world.arguments()], lambda line: line == "converged\n")
    with by_floor() if name == "floor" else reactor_running(manifest) as running:
        yield running
    world.check_content()


def apart(world: World, prober: str, gaps: dict[int, int]) -> Found:
    """Microseconds for each kind of change and each gap."""
    return {
        f"{how}, {gap} ms apart": probe(prober, world, how, samples, gap=1000 * gap)
        for gap, samples in gaps.items()
        for how in HOWS
    }


def on_disk(world: World, prober: str, samples: int) -> Found:
    """The same for writes, on a disk that has written all that was written before."""
    os.sync()
    return {"write on a disk": probe(prober, world, "write", samples, gap=1000 * DISK_GAP_MS)}


def turns(
    number: int, world: World, manifest: Path, tools: tuple[str, str], measure
) -> dict[str, list[Found]]:
    """What ``measure(world, prober)`` finds under the floor and under reactor, in turns."""
    floor, prober = tools

    def turn(name: str) -> Found:
        with keeper(name, world, manifest, floor):
            return measure(world, prober)

    return interleaved(number, {name: partial(turn, name) for name in ("floor", "reactor")})


def rows(found: dict[str, list[Found]], bar: float) -> list[Row]:
    """The median of all turns for each kind of change."""

    def middle(name: str, what: str) -> float:
        return median(percentile(turn[what], 50) for turn in found[name])

    return [
        Row(f"{what}, p50", middle("reactor", what), "µs", bar, middle("floor", what))
        for what in found["reactor"][0]
    ]


def seconds_until_right(path: Path, wanted: str, change) -> float:
    """Make the change, and look at the file until it is as desired."""
    start = time.perf_counter()
    change(path)
    while time.perf_counter() - start < GIVE_UP_SECONDS:
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mode & 0o7777 == 0o644 and path.read_text() == wanted:
                return time.perf_counter() - start
    raise AssertionError(path)


def rename_over(path: Path) -> None:
    """Replace the file as editors do."""
    edited = path.with_name(f"{path.name}.edit")
    edited.write_text("drift")
    edited.replace(path)


CHANGES = {
    "write": lambda path: path.write_text("drift"),
    "chmod": lambda path: path.chmod(0o600),
    "rename": rename_over,
}


def unpinned(world: World, manifest: Path, samples: int) -> list[Row]:
    """Milliseconds until each change was undone, with the changes 20 ms apart and nothing bound to a core."""
    _harness.pinned = lambda _core, command: [*command]
    chosen = random.Random(1)
    found: dict[str, list[float]] = {how: [] for how in CHANGES}
    with keeper("reactor", world, manifest, ""):
        for _ in range(samples):
            for how, change in CHANGES.items():
                time.sleep(0.02)
                number = chosen.randrange(world.count)
                taken = seconds_until_right(Path(world.path(number)), content_of(number), change)
                found[how].append(1000 * taken)
    return [
        Row(f"{how}, unpinned, prober in Python, p50", median(each), "ms", 0.6) for how, each in found.items()
    ]


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__)
    files, dirs, gaps, samples, number = (
        (1000, 100, {20: 10}, 10, 2) if options.quick else (10_000, 1000, GAPS, 60, 5)
    )
    with workspace(options.dir) as space, workspace(Path("/var/tmp")) as disk:
        tools = (compile_c("floor", disk), compile_c("drift", disk))
        in_memory, stored = (
            World(space / "w", dirs, files),
            World(disk / "w", dirs // 10, files // 10, is_on_disk=True),
        )
        manifest = write_manifest(in_memory, disk / "manifest.yaml")
        manifest_of_disk = write_manifest(stored, disk / "of-disk.yaml")
        results = rows(turns(number, in_memory, manifest, tools, partial(apart, gaps=gaps)), 2.5)
        results += rows(
            turns(number, stored, manifest_of_disk, tools, partial(on_disk, samples=samples)), 1.5
        )
        results += unpinned(in_memory, manifest, samples)
    show(
        f"drift, apart: {files} files on {options.dir}, the disk is that of /var/tmp, {number} turns", results
    )


if __name__ == "__main__":
    main()
