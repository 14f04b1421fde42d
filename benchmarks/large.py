"""100,000 files: validating them, converging and watching them, memory, and one edited file; the last also of 10,000.

Processor time of all threads: what a user of a busy host waits for. The first convergence ends when the run has checked
the echoes of its own writes. Memory is that of the converged run. "Until right" is from the moment the edited manifest
has its name to the moment the file has its new content. An edit of content costs a reload little; one that adds a file
has the whole manifest loaded.
"""

from __future__ import annotations

import resource
import subprocess
import time
from functools import partial
from pathlib import Path
from statistics import median

from _harness import (
    REACTOR,
    Row,
    World,
    arguments,
    child_environment,
    cpu_seconds,
    reactor_running,
    show,
    workspace,
    write_manifest,
)
from idle import status_field
from reload import begins_with, edit, wait_for


def validate_seconds(manifest: Path) -> float:
    """Processor time of ``reactor validate``."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [REACTOR, "validate", str(manifest)], check=True, stdout=subprocess.DEVNULL, env=child_environment()
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def edits(world: World, manifest: Path, turns: int) -> list[float]:
    """Milliseconds until each edit of one file's content is in that file."""
    found = []
    for number in range(turns):
        path, before = Path(world.path(number)), f"# managed file {number}"
        edit(manifest, f"{before}\\n", f"# edited file {number}\\n")
        found.append(1000 * wait_for(partial(begins_with, path, "# edited")))
        time.sleep(0.5)  # the reload frees what it no longer needs
    return found


def milliseconds_of_addition(world: World, manifest: Path) -> float:
    """Milliseconds until a file that was added at the end of the manifest is there: then all of it is loaded."""
    added = Path(world.path(0)).with_name("added.conf")
    with manifest.open("a") as file:
        file.write(f'      - {added}:\n          content: "added\\n"\n')
    return 1000 * wait_for(added.exists)


def measure(space: Path, files: int, turns: int) -> dict[str, float]:
    """All figures of one size."""
    world = World(space / f"w{files}", files // 10, files)
    world.make_directories()
    manifest = write_manifest(world, space / f"{files}.yaml")
    validating = median(validate_seconds(manifest) for _ in range(turns))
    with reactor_running(manifest) as running:
        converging = cpu_seconds(running.pid)
        megabytes = status_field(running.pid, "VmRSS") / 1024
        until_right = median(edits(world, manifest, turns))
        until_there = milliseconds_of_addition(world, manifest)
    return {
        "validate": validating,
        "converge": converging,
        "memory": megabytes,
        "edit": until_right,
        "add": until_there,
    }


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__)
    few, many, turns = (1000, 10_000, 2) if options.quick else (10_000, 100_000, 5)
    with workspace(options.dir) as space:
        small = measure(space, few, turns)
    with workspace(options.dir) as space:
        large = measure(space, many, turns)
    show(
        f"large: {many} files on {options.dir}",
        [
            Row(f"validate {many} files, processor time", large["validate"], "s", 1.5),
            Row("first convergence with watches, processor time", large["converge"], "s", 15),
            Row("resident memory", large["memory"], "MiB", 300),
            Row("one edited, until right", large["edit"], "ms", 1500),
            Row(f"one of {few} edited, until right", small["edit"], "ms", 300),
            Row("one added, until it is there", large["add"], "ms"),
            Row(f"one added to {few}, until it is there", small["add"], "ms"),
        ],
    )


if __name__ == "__main__":
    main()
