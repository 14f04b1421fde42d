"""A tree from templates: the first rendering, a pass over a tree that is as desired, and one damaged file.

5,000 Jinja2 templates in 500 directories, all of which include one partial. Bars: the first rendering in-process at most 3
times a bare loop over Jinja2 that renders and writes the same files; a no-op pass of the running engine over all of it
under 20 % of the first rendering; one damaged file right again within 2 ms at the median, under `reactor run`, whose
memory stays below 150 MiB. For information: the no-op pass of a new process, which has to render all again.
"""

from __future__ import annotations

import gc
import json
import shutil
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from statistics import median

import jinja2
import trio
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

from reactor.engine.engine import Engine
from reactor.engine.events import Cause, Checked, Converged, Event
from reactor.engine.options import RunOptions
from reactor.loading import load

DATA = {"filling": "x" * 200}
PARTIAL = "_partials/filling"
ECHOES_END_SECONDS = 0.5
"""By then the events of our own writes have been checked, and the files are old enough for a stamp to prove much."""
DAMAGES = 40
"""In each run. More than 50 in 10 seconds would be taken for a fight over the tree, and slowed down."""
Times = dict[str, float]


def write_templates(world: World, source: Path) -> None:
    """A template for every file of ``world``, and the partial that all of them include."""
    for number in range(world.count):
        path = source / Path(world.path(number)).relative_to(world.base)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# managed file {number}\n{{% include '{PARTIAL}' %}}\n")
    (source / PARTIAL).parent.mkdir()
    (source / PARTIAL).write_text("{{ Data.filling }}")
    assert content_of(1) == f"# managed file 1\n{DATA['filling']}\n"


def write_manifest(world: World, source: Path, path: Path) -> Path:
    """The manifest: one scaffold."""
    properties = {"ensure": "present", "source": str(source)}
    path.write_text(json.dumps({"data": DATA, "resources": [{"scaffold": [{str(world.base): properties}]}]}))
    return path


def bare_loop(world: World, source: Path) -> Times:
    """What a script would do: render every template and write it."""
    shutil.rmtree(world.base, ignore_errors=True)
    gc.collect()
    start = time.perf_counter()
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(source), keep_trailing_newline=True, undefined=jinja2.StrictUndefined
    )
    for path in sorted(source.rglob("*")):
        name = str(path.relative_to(source))
        if path.is_file() and name != PARTIAL:
            target = world.base / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(environment.get_template(name).render(Data=DATA))
    taken = time.perf_counter() - start
    world.check_content()
    return {"loop": taken * 1e3}


class Observed:
    """A sink that knows when the engine has converged, and how its checks ended."""

    def __init__(self) -> None:
        self.checks: list[Checked] = []
        self.converged = trio.Event()

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if isinstance(event, Checked):
            self.checks.append(event)
        elif isinstance(event, Converged):
            self.converged.set()


async def engine_passes(manifest: Path, times: Times) -> None:
    """Time the first rendering, and a check of all of it once nothing happens any more."""
    seen = Observed()
    engine = Engine(load(str(manifest)).graph, RunOptions(watch=True, audit_interval=None), seen)
    async with trio.open_nursery() as nursery:
        gc.collect()
        start = time.perf_counter()
        nursery.start_soon(engine.run)
        await seen.converged.wait()
        times["first"] = (time.perf_counter() - start) * 1e3
        await trio.sleep(ECHOES_END_SECONDS)
        for name in ("unproven", "noop"):  # the stamps of the first were too young to prove anything
            seen.converged = trio.Event()
            start = time.perf_counter()
            engine.dispatcher.mark(0, Cause.AUDIT)
            await seen.converged.wait()
            times[name] = (time.perf_counter() - start) * 1e3
        assert not [check for check in seen.checks if check.error]
        engine.stop()


def reactor_passes(manifest: Path, world: World) -> Times:
    """Our milliseconds."""
    times: Times = {}
    shutil.rmtree(world.base, ignore_errors=True)
    trio.run(engine_passes, manifest, times)
    world.check_content()
    seen = Observed()
    again = Engine(load(str(manifest)).graph, RunOptions(), seen)
    gc.collect()
    start = time.perf_counter()
    trio.run(again.run)
    times["again"] = (time.perf_counter() - start) * 1e3
    gc.unfreeze()
    return times


def damaged(manifest: Path, world: World, prober: str) -> tuple[list[float], float]:
    """Microseconds until each damaged file was right again, and the MiB that the process has resident."""
    with reactor_running(manifest) as running:
        found = probe(prober, world, "write", DAMAGES)
        status = Path(f"/proc/{running.pid}/status").read_text()
        resident = int(status.partition("VmRSS:")[2].split()[0]) / 1024
    world.check_content()
    return found, resident


def rows(found: Mapping[str, list[Times]], repairs: list[tuple[list[float], float]], count: int) -> list[Row]:
    """The table."""

    def middle(contender: str, name: str) -> float:
        return median(turn[name] for turn in found[contender])

    first = middle("reactor", "first")
    samples = [us for turn, _ in repairs for us in turn]
    repaired = [us / 1e3 for us in samples if us >= 0]
    return [
        Row(f"first rendering of {count}, against a bare loop", first, "ms", 3.0, middle("loop", "loop")),
        Row("no-op pass of a running engine, against the first", middle("reactor", "noop"), "ms", 0.2, first),
        Row("no-op pass of a new engine, against the first", middle("reactor", "again"), "ms", None, first),
        Row("one damaged file, p50", percentile(repaired, 50), "ms", 2.0),
        Row("one damaged file, p90", percentile(repaired, 90), "ms"),
        Row("not repaired within 3 s", sum(us < 0 for us in samples), "", 0),
        Row("resident memory", max(resident for _, resident in repairs), "MiB", 150),
    ]


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__)
    files, dirs, rounds = (500, 50, 2) if options.quick else (5000, 500, 5)
    with workspace(options.dir) as space, workspace(Path("/tmp")) as tools:
        world, source = World(space / "w", dirs, files), space / "templates"
        write_templates(world, source)
        manifest = write_manifest(world, source, tools / "manifest.yaml")
        contenders = {
            "loop": partial(bare_loop, world, source),
            "reactor": partial(reactor_passes, manifest, world),
        }
        found = interleaved(rounds, contenders)
        prober = compile_c("drift", tools)
        repairs = [damaged(manifest, world, prober) for _ in range(rounds)]
    title = f"scaffold: {files} templates in {dirs} directories on {options.dir}"
    show(title, rows(found, repairs, files), "compared with")


if __name__ == "__main__":
    main()
