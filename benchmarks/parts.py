"""1,000 lines in 100 files, owned by 1,000 resources, against the same 100 files as whole files; and repairs.

The files have 100 lines each, ten of them owned. Bars: a no-op pass takes at most twice as long as that of the whole
files, as a whole process and in one that stays; a damaged line, a setting of sshd and a key of JSON are repaired in
5 ms at the median. The passes of a running engine are measured in CPU time. For information: the first convergence,
in which each file is written once.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median

import trio
from _harness import (
    ENGINE_CORE,
    PROBER_CORE,
    REACTOR,
    Row,
    arguments,
    interleaved,
    pinned,
    reactor_running,
    seconds_of,
    show,
    workspace,
)

from reactor.engine.engine import Engine
from reactor.engine.events import Cause, Checked, Converged, Event
from reactor.engine.options import RunOptions
from reactor.loading import load

FILES, OWNED, OTHERS = 100, 10, 90
MARKED_TURNS = 41
SETTLED_SECONDS = 0.5
"""By then the events of our own writes have been checked, and a stamp proves that nothing has changed."""
PROBER = """
import os, sys, time
path, new, samples = sys.argv[1], sys.argv[2], int(sys.argv[3])
right = open(path, "rb").read()
wrong = right.replace(*(each.encode() for each in new.split("=>")))
assert wrong != right
for _ in range(samples):
    time.sleep(0.03)
    start = time.perf_counter()
    with open(path, "wb") as file:
        file.write(wrong)
    while open(path, "rb").read() != right:
        if time.perf_counter() - start > 10:
            sys.exit("not repaired")
    print((time.perf_counter() - start) * 1e3)
"""


def path_of(base: Path, number: int) -> Path:
    """The path of a file."""
    return base / f"f{number:03d}.conf"


def others_of(number: int) -> str:
    """The lines that nothing owns."""
    return "".join(f"# line {line} of file {number}, which is as long as many\n" for line in range(OTHERS))


def owned_of(number: int) -> list[str]:
    """The lines that are owned."""
    return [f"key{line} of file {number}" for line in range(OWNED)]


def write_files(base: Path) -> None:
    """The files without the owned lines."""
    base.mkdir(exist_ok=True)
    for number in range(FILES):
        path_of(base, number).write_text(others_of(number))


def check_files(base: Path) -> None:
    """Raises AssertionError when a file is not as desired."""
    for number in range(FILES):
        assert path_of(base, number).read_text() == wanted_of(number), number


def wanted_of(number: int) -> str:
    """The whole content of a file."""
    return others_of(number) + "".join(f"{line}\n" for line in owned_of(number))


def parts_manifest(base: Path, path: Path) -> Path:
    """Each owned line is a resource."""
    lines = ["resources:", "  - line:"]
    for number in range(FILES):
        file = path_of(base, number)
        lines += [f"      - {json.dumps(line)}: {{path: {file}}}" for line in owned_of(number)]
    path.write_text("\n".join(lines) + "\n")
    return path


def whole_manifest(base: Path, path: Path) -> Path:
    """Each file is a resource."""
    lines = ["resources:", "  - file:"]
    lines.append('      - defaults: {ensure: present, owner: root, group: root, mode: "0644"}')
    lines += [
        f"      - {path_of(base, number)}: {{content: {json.dumps(wanted_of(number))}}}"
        for number in range(FILES)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


class Seen:
    """A sink that counts checks until the engine has converged."""

    def __init__(self) -> None:
        self.checks = 0
        self.converged = trio.Event()

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if type(event) is Checked:
            self.checks += 1
        elif type(event) is Converged:
            self.converged.set()

    async def expect(self, checks: int) -> None:
        """Wait for convergence, and count from zero again."""
        await self.converged.wait()
        assert self.checks >= checks, f"{self.checks} checks of {checks}"
        self.checks, self.converged = 0, trio.Event()


def timed(run: Callable[[], object]) -> float:
    """Milliseconds of a call."""
    gc.collect()
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1e3


async def marked_pass(engine: Engine, seen: Seen, count: int) -> float:
    """Milliseconds of CPU for a pass over all ``count`` resources of a running engine, which are marked."""
    seen.checks, seen.converged = 0, trio.Event()
    gc.collect()
    start = time.thread_time()
    engine.dispatcher.mark_each(range(count), Cause.DRIFT)  # as when events were lost
    await seen.expect(count)
    return (time.thread_time() - start) * 1e3


async def marked_passes(manifests: Sequence[tuple[Path, int]]) -> list[float]:
    """The median of the passes of an engine for each manifest, with its number of resources.

    The engines run in one process and take turns: the processor is as fast for one as for the other.
    """
    running = []
    async with trio.open_nursery() as nursery:
        for manifest, count in manifests:
            seen = Seen()
            engine = Engine(load(str(manifest)).graph, RunOptions(watch=True, audit_interval=None), seen)
            nursery.start_soon(engine.run)
            await seen.expect(count)
            running.append((engine, seen, count))
        await trio.sleep(SETTLED_SECONDS)
        turns = [[await marked_pass(*each) for each in running] for _ in range(MARKED_TURNS)]
        for engine, _, _ in running:
            engine.stop()
    return [median(times) for times in zip(*turns, strict=True)]


def engine_passes(base: Path, manifest: Path) -> dict[str, float]:
    """Milliseconds of the passes of an engine."""
    write_files(base)
    times = {}
    for name in ("first", "fresh"):
        graph = load(str(manifest)).graph
        times[name] = timed(lambda graph=graph: trio.run(Engine(graph, RunOptions(), Seen()).run))  # type: ignore[misc]
        time.sleep(SETTLED_SECONDS)
    check_files(base)
    return times


def in_new_process(base: Path, manifest: Path) -> dict[str, float]:
    """The passes in a process of their own, and a whole process that finds all as desired."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        times = pool.submit(engine_passes, base, manifest).result()
    command = pinned(ENGINE_CORE, [REACTOR, "run", "--converge-once", str(manifest)])
    times["process"] = seconds_of(command) * 1e3
    return times


def marked_in_new_processes(rounds: int, manifests: Sequence[tuple[Path, int]]) -> list[float]:
    """The median of `marked_passes` in some processes."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        turns = [pool.submit(trio.run, marked_passes, manifests).result() for _ in range(rounds)]
    return [median(times) for times in zip(*turns, strict=True)]


def repairs(space: Path, samples: int) -> dict[str, float]:
    """The median milliseconds of repairs, by what is damaged."""
    contents = {
        "a lost line": ("a.conf", "wanted\n", "wanted\n=>", "  - line:\n      - wanted: {path: PATH}\n"),
        "a setting of sshd": (
            "sshd_config",
            "Port 22\n",
            "Port 22=>Port 23",
            "  - setting:\n      - Port: {path: PATH, value: 22}\n",
        ),
        "a key of JSON": (
            "daemon.json",
            '{\n  "a": {"b": 1},\n  "c": 2\n}\n',
            '"b": 1=>"b": 2',
            "  - setting:\n      - a.b: {path: PATH, value: 1}\n",
        ),
        "a key of YAML": (
            "a.yaml",
            "a:\n  b: 1 # c\n",
            "b: 1=>b: 2",
            "  - setting:\n      - a.b: {path: PATH, value: 1}\n",
        ),
    }
    found = {}
    for name, (base, content, change, resources) in contents.items():
        path = space / base
        path.write_text(("" if base.endswith(("json", "yaml")) else others_of(0)) + content)
        manifest = space / f"{base}.manifest.yaml"
        manifest.write_text("resources:\n" + resources.replace("PATH", str(path)))
        with reactor_running(manifest):
            command = [sys.executable, "-c", PROBER, str(path), change, str(samples)]
            output = subprocess.run(pinned(PROBER_CORE, command), check=True, capture_output=True, text=True)
        found[name] = median(map(float, output.stdout.split()))
    return found


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__)
    rounds, samples = (2, 20) if options.quick else (5, 100)
    with workspace(options.dir) as space:
        base = space / "w"
        parts, whole = parts_manifest(base, space / "parts.yaml"), whole_manifest(base, space / "whole.yaml")
        contenders = {
            "parts": partial(in_new_process, base, parts),
            "whole": partial(in_new_process, base, whole),
        }
        found = interleaved(rounds, contenders)
        marked = marked_in_new_processes(rounds, [(parts, FILES * OWNED), (whole, FILES)])
        repaired = repairs(space, samples)
    rows = []
    for name, title, bar in (
        ("process", "no-op run, the whole process", 2.0),
        ("fresh", "no-op pass of a fresh engine, all is read", 2.0),
        ("first", "first convergence", None),
    ):
        ours, theirs = (median(turn[name] for turn in found[who]) for who in ("parts", "whole"))
        rows.append(Row(title, ours, "ms", bar, theirs))
    rows.insert(1, Row("no-op pass of a running engine, stamps hold, CPU", marked[0], "ms", 2.0, marked[1]))
    rows += [Row(f"repair of {name}, p50", taken, "ms", 5.0) for name, taken in repaired.items()]
    show(f"{FILES * OWNED} lines in {FILES} files on {options.dir}", rows, "whole files")


if __name__ == "__main__":
    main()
