"""What nobody should feel: a reload under a running apply, a fight over one file, and the journal.

One of 1,000 files gets other content in the manifest while a command of 3 s runs: until the file has it. 10,000 files
and a hangup: until the reload is through. One of 10,000 gets other content: for how long putting the new version into
force holds the event loop, in one piece, journal included. Foreign writes while 10,000 files are loaded as a whole,
again and again. One file that another program writes 10,000 times, once a millisecond: what
that costs, and until it is right after the last. The drift benchmark's write, with the journal and without.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median

from _harness import (
    REACTOR,
    STATE,
    Row,
    Running,
    World,
    arguments,
    compile_c,
    content_of,
    cpu_seconds,
    interleaved,
    percentile,
    probe,
    reactor_running,
    show,
    started,
    workspace,
    write_manifest,
)

SLOW_APPLY = 3.0
EDITS = 5
"""Edits while one slow apply runs."""

WITHOUT_JOURNAL = (
    "import reactor.cli.running.state as state; state._journal = lambda *_: None; "
    "from reactor.cli.group import reactor; reactor()"
)
"""The same program, but for its memory."""


TIMED_SWAP = """
import time
from reactor.engine.engine import Engine
swap = Engine.reload
def timed(*arguments):
    start = time.perf_counter()
    reloaded = swap(*arguments)
    with open({path!r}, "a") as file:
        print(1000 * (time.perf_counter() - start), file=file)
    return reloaded
Engine.reload = timed
from reactor.cli.group import reactor
reactor()
"""
"""The same program, which appends to a file how many milliseconds each swap to a new version took."""


def wait_for(condition: Callable[[], object], patience: float = 30.0) -> float:
    """Seconds until ``condition`` holds, asked every half millisecond."""
    start = time.perf_counter()
    while not condition():
        if time.perf_counter() - start > patience:
            sys.exit("waited in vain")
        time.sleep(0.0005)
    return time.perf_counter() - start


def begins_with(path: Path, text: str) -> bool:
    """Whether the file has that beginning."""
    return path.read_text().startswith(text)


def gone(path: Path) -> bool:
    """Whether there is nothing."""
    return not path.exists()


def edit(manifest: Path, old: str, new: str) -> None:
    """Replace the manifest as editors do."""
    edited = manifest.with_name("edited.yaml")
    edited.write_text(manifest.read_text().replace(old, new))
    edited.replace(manifest)


def edits_under_a_slow_apply(space: Path, files: int, turns: int) -> list[float]:
    """Milliseconds from the edit of one file's content to that content, each while an unrelated command runs."""
    world, trigger, runs = World(space / "w", 10, files), space / "trigger", space / "runs"
    world.make_directories()
    manifest = write_manifest(world, space / "manifest.yaml")
    command = f"touch {runs}; sleep {SLOW_APPLY}; rm {runs}"
    with manifest.open("a") as more:
        more.write(f'      - {trigger}: {{content: "right"}}\n  - exec:\n')
        more.write(f'      - slow: {{command: "{command}", provider: shell, refreshonly: true,')
        more.write(f' subscribe: ["file#{trigger}"]}}\n')
    found = []
    with reactor_running(manifest):
        wait_for(partial(gone, runs))
        for turn in range(turns):
            trigger.write_text("wrong")
            wait_for(runs.exists)
            for number in range(EDITS):
                target, text = Path(world.path(number)), f"# edit {turn} of file {number}"
                old = target.read_text().partition("\n")[0]
                edit(manifest, f"{old}\\n", f"{text}\\n")
                found.append(1000 * wait_for(partial(begins_with, target, text)))
                assert runs.exists(), "the apply was over: this measured nothing"
            wait_for(partial(gone, runs))
    return found


def reloads_of_what_is_unchanged(space: Path, files: int, turns: int) -> list[float]:
    """Milliseconds from a hangup to the reload of so many files, none of which differs."""
    world = World(space / "w", 100, files)
    world.make_directories()
    with reactor_running(write_manifest(world, space / "manifest.yaml")) as running:
        return [1000 * reload_of_all(running, files) for _ in range(turns)]


def swaps_with_one_changed(space: Path, files: int, turns: int) -> list[float]:
    """Milliseconds for which a swap holds the event loop, for each reload of ``files`` files of which one changed."""
    world, swaps = World(space / "w", 100, files), space / "swaps"
    world.make_directories()
    manifest = write_manifest(world, space / "manifest.yaml")
    command = [
        sys.executable,
        "-c",
        TIMED_SWAP.format(path=str(swaps)),
        "run",
        str(manifest),
        "--format",
        "json",
    ]
    target, before = Path(world.path(0)), "# managed file 0"
    with started(command, lambda line: '"event":"converged"' in line):
        for turn in range(turns):
            after = f"# version {turn} of file 0"
            edit(manifest, f"{before}\\n", f"{after}\\n")
            wait_for(partial(begins_with, target, after))
            before = after
    return [float(line) for line in swaps.read_text().split()]


def drift_during_reloads(space: Path, files: int, samples: int) -> tuple[list[float], list[float]]:
    """Microseconds until each foreign write was right: while nothing is reloaded, and while one reload follows another."""
    world = World(space / "w", 100, files)
    world.make_directories()
    prober, manifest = compile_c("drift", space), write_manifest(world, space / "manifest.yaml")
    with reactor_running(manifest) as running:
        calm = probe(prober, world, "write", samples)
        over = threading.Event()
        reloads = threading.Thread(target=reload_until, args=(over, running, manifest, files))
        reloads.start()
        busy = probe(prober, world, "write", samples)
        over.set()
        reloads.join()
    return calm, busy


def reload_until(over: threading.Event, running: Running, manifest: Path, files: int) -> None:
    """Load all ``files`` again and again: a comment that comes and goes before them makes the manifest another text."""
    comment, resources = "# The same files.\n", "resources:\n"
    while not over.is_set():
        reload_of_all(running, files, partial(edit, manifest, resources, f"{comment}{resources}"))
        if not over.is_set():
            reload_of_all(running, files, partial(edit, manifest, comment, ""))


def reload_of_all(running: Running, files: int, request: Callable[[], None] | None = None) -> float:
    """Seconds from ``request``, by default a hangup, to the word of the reload, which kept all.

    Reads only what is new: reading all output again and again would take the core from the program that is measured.
    """
    said = re.compile(f'"event":"reloaded",.*"kept":{files},')
    with running.output.open() as output:
        output.seek(0, os.SEEK_END)
        rest = ""

        def is_over() -> bool:
            nonlocal rest
            *lines, rest = (rest + output.read()).split("\n")
            return any(map(said.search, lines))

        if request is None:
            os.kill(running.pid, signal.SIGHUP)
        else:
            request()
        return wait_for(is_over)


def fight(space: Path, writes: int) -> tuple[float, float, int, int]:
    """Somebody writes one file so often: CPU (percent of a core), ms until right at last, rows and kilobytes of the journal."""
    world = World(space / "w", 1, 1)
    world.make_directories()
    journal = Path(STATE.name) / "journal.sqlite"
    with reactor_running(write_manifest(world, space / "manifest.yaml")) as running:
        path = Path(world.path(0))
        rows_before, size_before = journal_rows(journal), journal_size(journal)
        before, start = cpu_seconds(running.pid), time.perf_counter()
        for number in range(writes):
            path.write_text("fight")
            time.sleep(max(0.0, start + (number + 1) * 0.001 - time.perf_counter()))
        took = time.perf_counter() - start
        percent = 100 * (cpu_seconds(running.pid) - before) / took
        last = 1000 * wait_for(lambda: path.read_text() == content_of(0))
        time.sleep(0.5)  # the journal writes five times a second
        rows, size = journal_rows(journal) - rows_before, journal_size(journal) - size_before
    return percent, last, rows, size // 1024


def journal_rows(path: Path) -> int:
    """How many events it holds."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return int(connection.execute("SELECT count(*) FROM events").fetchone()[0])


def journal_size(path: Path) -> int:
    """Bytes of the file and its log."""
    return sum(each.stat().st_size for each in path.parent.glob(f"{path.name}*"))


@contextlib.contextmanager
def keeping(manifest: Path, *, journal: bool) -> Iterator[Running]:
    """``reactor run``, with its journal or without."""
    program = [REACTOR] if journal else [sys.executable, "-c", WITHOUT_JOURNAL]
    command = [*program, "run", str(manifest), "--format", "json"]
    with started(command, lambda line: '"event":"converged"' in line) as running:
        yield running


def repair(world: World, manifest: Path, prober: str, samples: int, *, journal: bool) -> float:
    """Microseconds from a foreign write to the repaired file, at the median."""
    world.make_directories()
    with keeping(manifest, journal=journal):
        return percentile(probe(prober, world, "write", samples), 50)


def journal_cost(space: Path, files: int, samples: int, turns: int) -> tuple[float, float]:
    """The median repair with the journal, and without."""
    world = World(space / "w", files // 10, files)
    manifest = write_manifest(world, space / "manifest.yaml")
    measure = partial(repair, world, manifest, compile_c("drift", space), samples)
    found = interleaved(
        turns, {"with": partial(measure, journal=True), "without": partial(measure, journal=False)}
    )
    return median(found["with"]), median(found["without"])


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__)
    small, large, writes, samples, turns = (
        (100, 1000, 1000, 200, 2) if options.quick else (1000, 10_000, 10_000, 1000, 5)
    )
    with workspace(options.dir) as space:
        edits = edits_under_a_slow_apply(space, small, turns)
    with workspace(options.dir) as space:
        reloads = reloads_of_what_is_unchanged(space, large, turns)
    with workspace(options.dir) as space:
        swaps = swaps_with_one_changed(space, large, turns)
    with workspace(options.dir) as space:
        calm, busy = drift_during_reloads(space, large, samples)
    with workspace(options.dir) as space:
        percent, last, rows, kilobytes = fight(space, writes)
    with workspace(options.dir) as space:
        ours, bare = journal_cost(space, large, samples, turns)
    show(
        f"reload, fight and journal on {options.dir}, {turns} turns",
        [
            Row(f"one of {small} in force under a {SLOW_APPLY:g} s apply", median(edits), "ms", 100),
            Row("the slowest of them", max(edits), "ms"),
            Row(f"reload of {large} unchanged", median(reloads), "ms", 1000),
            Row(f"swap of {large}, one changed, in one piece", median(swaps), "ms", 30),
            Row(
                f"write while {large} are reloaded, p50, against a calm one",
                percentile(busy, 50),
                "µs",
                2,
                percentile(calm, 50),
            ),
            Row("the slowest of them", max(busy) / 1000, "ms", 3),
            Row(f"{writes} foreign writes of one file, CPU", percent, "%", 50),
            Row("until it is right after the last", last, "ms", 1500),
            Row("events in the journal", rows, "", 200),
            Row("growth of the journal", kilobytes, "KiB", 1024),
            Row(f"write among {large}, p50", ours, "µs", 1.15, bare),
        ],
        "no journal",
    )


if __name__ == "__main__":
    main()
