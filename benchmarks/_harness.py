"""What the benchmarks share: the files they manage, fair interleaving, medians, and the table at the end."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

HERE = Path(__file__).parent
ROOT = HERE.parent
REACTOR = str(Path(sys.executable).with_name("reactor"))
ENGINE_CORE, PROBER_CORE = 1, 0
PROBE_GAP_US = 1000
START_PATIENCE_SECONDS = 120.0
CPUCLOCK_SCHED = 2
IDLE_WINDOW_SECONDS, IDLE_CPU_SECONDS = 0.25, 0.002

RECORD = "REACTOR_BENCHMARK_RECORD"
"""The variable that names a file to which `show` appends its tables, for `all.py`."""

STATE = tempfile.TemporaryDirectory(prefix="reactor-bench-state-")
"""The state directory of every run, on the disk that /var/lib is on in most machines, and nobody else's."""

T = TypeVar("T")


# --- the world: N files of about 220 bytes spread over D directories; floor.c and drift.c know the same one ---


@dataclass(frozen=True)
class World:
    """``count`` managed files under ``base``, spread over ``dirs`` directories that exist already."""

    base: Path
    dirs: int
    count: int
    is_on_disk: bool = False

    def directory(self, number: int) -> str:
        """The directory of file ``number``."""
        return f"{self.base}/d{number % self.dirs:05d}"

    def path(self, number: int) -> str:
        """The path of file ``number``."""
        return f"{self.directory(number)}/f{number:06d}.conf"

    def make_directories(self) -> None:
        """Start afresh: the directories exist and are empty. On a disk, what was there is put aside, not removed.

        For five minutes, ext4 without a journal uses no inode of a file that was removed, and looks at each of them
        whenever it makes another file: the tenth round would be twice as slow as the first.
        """
        if self.is_on_disk and self.base.exists():
            self.base.rename(tempfile.mkdtemp(dir=self.base.parent))
        shutil.rmtree(self.base, ignore_errors=True)
        for number in range(min(self.dirs, self.count)):
            Path(self.directory(number)).mkdir(parents=True)

    def check_content(self) -> None:
        """Raises AssertionError when a file is not as desired: a fast benchmark that did nothing is no benchmark."""
        for number in range(self.count):
            path = Path(self.path(number))
            assert path.read_text() == content_of(number), path
            assert path.stat().st_mode & 0o7777 == 0o644, path

    def arguments(self) -> list[str]:
        """The way floor.c and drift.c are told of it."""
        return [str(self.base), str(self.dirs), str(self.count)]


def content_of(number: int) -> str:
    """What managed file ``number`` should hold. Keep in step with managed_content() in world.h."""
    return f"# managed file {number}\n{'x' * 200}\n"


def write_manifest(world: World, path: Path) -> Path:
    """Write the manifest of ``world``: one list of files with shared defaults."""
    lines = ["resources:", "  - file:"]
    lines.append('      - defaults: {ensure: present, owner: root, group: root, mode: "0644"}')
    for number in range(world.count):
        text = json.dumps(content_of(number))
        lines.append(f"      - {world.path(number)}:\n          content: {text}")
    path.write_text("\n".join(lines) + "\n")
    return path


# --- running things ---


def arguments(doc: str, count: int | None = None) -> argparse.Namespace:
    """The options every benchmark has: ``--quick`` and ``--dir``; with a ``count`` also how many, which is its default."""
    return argument_parser(doc, count).parse_args()


def argument_parser(doc: str, count: int | None = None) -> argparse.ArgumentParser:
    """What reads `arguments`, for a benchmark that has further ones."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer and smaller runs, to see that it works")
    parser.add_argument(
        "--dir", type=Path, default=Path("/dev/shm"), help="where the files go (default: %(default)s)"
    )
    if count is not None:
        parser.add_argument(
            "count", nargs="?", type=int, default=count, help="how many (default: %(default)s)"
        )
    # Ended from outside, still stop what was started and remove what was written.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    return parser


@contextlib.contextmanager
def workspace(parent: Path) -> Iterator[Path]:
    """A directory of our own under ``parent``, removed at the end."""
    with tempfile.TemporaryDirectory(prefix="reactor-bench-", dir=parent) as name:
        yield Path(name)


def compile_c(name: str, into: Path) -> str:
    """Compile ``name``.c with ``cc -O2``; the path of the program."""
    program = into / name
    subprocess.run(["cc", "-O2", "-o", program, HERE / f"{name}.c"], check=True)
    return str(program)


def child_environment() -> dict[str, str]:
    """The environment of an installed program: byte code is written and found; the state is kept apart."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return {**kept, "REACTOR_STATE_DIR": STATE.name}


def pinned(core: int, command: Sequence[str]) -> list[str]:
    """``command``, on one core."""
    return ["taskset", "-c", str(core), *command]


def seconds_of(command: Sequence[str], statuses: Sequence[int] = (0,)) -> float:
    """Run ``command`` with its output thrown away; its wall time in seconds."""
    with tempfile.TemporaryFile("w+") as output:
        start = time.perf_counter()
        status = subprocess.run(
            command, env=child_environment(), stdout=output, stderr=output, check=False
        ).returncode
        taken = time.perf_counter() - start
        if status not in statuses:
            output.seek(0)
            sys.exit(f"{' '.join(command)[:300]}\nended with {status}:\n{output.read()[-3000:]}")
    return taken


@dataclass(frozen=True)
class Running:
    """A keeper of files at work: its process and the file that its output goes to."""

    pid: int
    output: Path


@contextlib.contextmanager
def started(command: Sequence[str], ready: Callable[[str], bool]) -> Iterator[Running]:
    """Run ``command`` on the engine's core; wait for a line of output for which ``ready`` is true
    and for idleness; stop it at last.
    """
    with tempfile.TemporaryFile("w+") as errors, tempfile.NamedTemporaryFile("w+") as output:
        process = subprocess.Popen(
            pinned(ENGINE_CORE, command), stdout=output, stderr=errors, text=True, env=child_environment()
        )
        try:
            if not _said(process, Path(output.name), ready):
                errors.seek(0)
                sys.exit(f"{command} was not ready (status {process.poll()}):\n{errors.read()[-3000:]}")
            _wait_until_idle(process.pid)
            yield Running(process.pid, Path(output.name))
        finally:
            process.terminate()
            process.wait(30)


def _said(process: subprocess.Popen[str], output: Path, ready: Callable[[str], bool]) -> bool:
    deadline = time.monotonic() + START_PATIENCE_SECONDS
    with output.open() as lines:
        while time.monotonic() < deadline and process.poll() is None:
            if any(ready(line) for line in lines.readlines()):
                return True
            time.sleep(0.02)
    return False


def cpu_seconds(pid: int) -> float:
    """Time on a processor of all threads ``pid`` has or had, to the nanosecond."""
    return time.clock_gettime((~pid << 3) | CPUCLOCK_SCHED)  # clock_getcpuclockid(3), which Python lacks


def _wait_until_idle(pid: int) -> None:
    """Wait for the end of what follows a first convergence: the check of our own writes' events."""
    deadline = time.monotonic() + START_PATIENCE_SECONDS
    before = -1.0
    while cpu_seconds(pid) - before > IDLE_CPU_SECONDS and time.monotonic() < deadline:
        before = cpu_seconds(pid)
        time.sleep(IDLE_WINDOW_SECONDS)


def reactor_running(manifest: Path) -> contextlib.AbstractContextManager[Running]:
    """``reactor run MANIFEST``, converged and watching."""
    return started(
        [REACTOR, "run", str(manifest), "--format", "json"], lambda line: '"event":"converged"' in line
    )


def probe(
    prober: str, world: World, how: str, samples: int, first: int = 0, *, gap: int = PROBE_GAP_US
) -> list[float]:
    """Change files from number ``first`` on, one at a time; microseconds until each was right, or -1 for never.

    Between two changes it waits for ``gap`` microseconds and up to half as long again.
    """
    settings = [first, samples, gap, 1, how]
    command = pinned(PROBER_CORE, [prober, *world.arguments(), *map(str, settings)])
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [float(line) for line in output.split()]


# --- numbers ---


def percentile(values: Sequence[float], percent: float) -> float:
    """The value below which ``percent`` of a hundred lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def interleaved(rounds: int, contenders: Mapping[str, Callable[[], T]]) -> dict[str, list[T]]:
    """Call each contender once a round, so that what else the machine does hits all of them alike."""
    results: dict[str, list[T]] = {name: [] for name in contenders}
    for turn in range(rounds):
        for name, run in contenders.items():
            progress(f"round {turn + 1}/{rounds}: {name}")
            results[name].append(run())
    progress("")
    return results


def medians(results: dict[str, list[float]]) -> dict[str, float]:
    """The median of each contender's results."""
    return {name: statistics.median(values) for name, values in results.items()}


def progress(text: str) -> None:
    """Say what is being measured, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


# --- the table ---


@dataclass(frozen=True)
class Row:
    """One thing shown: ``ours`` and ``floor`` in ``unit``, and the most that ours may be.

    With a floor the bar is a factor of it, without one it is an amount. A bar of None is for information.
    """

    what: str
    ours: float
    unit: str
    bar: float | None = None
    floor: float | None = None

    @property
    def measure(self) -> float:
        """What is held against the bar."""
        return self.ours if self.floor is None else self.ours / self.floor

    def cells(self) -> tuple[str, ...]:
        """The row as text."""
        ratio = "" if self.floor is None else f"{self.measure:.2f} x"
        verdict = "" if self.bar is None else ("pass" if self.measure <= self.bar else "MISS")
        bar = "" if self.bar is None else f"{self.bar:g} {self.unit if self.floor is None else 'x'}"
        floor = "" if self.floor is None else f"{_amount(self.floor)} {self.unit}"
        return (self.what, f"{_amount(self.ours)} {self.unit}", floor, ratio, bar, verdict)


def _amount(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def show(title: str, rows: Sequence[Row], against: str = "floor") -> None:
    """Print the table. ``against`` names the column that the bar is a factor of."""
    header = ("", "reactor", against, "ratio", "bar", "")
    table = [header, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in table) for column in range(len(header))]
    print(f"\n{title}")
    for line in table:
        print(
            "  ".join(
                cell.rjust(width) if at else cell.ljust(width)
                for at, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
        )
    if RECORD in os.environ:
        with Path(os.environ[RECORD]).open("a") as file:
            file.write(
                json.dumps({"title": title, "against": against, "rows": [asdict(row) for row in rows]}) + "\n"
            )


def peak_megabytes() -> float:
    """The most memory that this process has had since its program was started.

    The ``ru_maxrss`` of getrusage(2) also counts what whoever started it had.
    """
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")) / 1024
