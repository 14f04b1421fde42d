"""What watching costs while nothing happens: CPU, descriptors, threads, memory.

`reactor run` on 10,000 files, converged and left alone for 15 s, over 60 s; then on 20,000, for the memory of one more
file. Threads are counted at the end: those that trio used for the convergence go after 10 idle seconds.

Names that other programs create or remove in a directory on the way to a managed file or to the state directory, such
as /tmp, wake it, and so does every mount. So that only its own wake-ups count, it runs in a mount namespace of its own,
where the files and the state directory have a file system of their own below `--dir`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import _harness
from _harness import Row, World, arguments, cpu_seconds, reactor_running, show, workspace, write_manifest

ALONE = "REACTOR_BENCHMARK_ALONE"
"""The variable that says that this process is in a mount namespace of its own."""
SETTLING_SECONDS = 15.0
"""By then trio's threads, which end after 10 idle seconds, and the checks of the state directory are over."""


@dataclass(frozen=True)
class Cost:
    """What one idle process holds and uses."""

    cpu_percent: float
    wakeups: float
    inotify: int
    threads: int
    rss_kib: int


def status_field(pid: int, name: str) -> int:
    """A number from /proc/PID/status."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1])


def inotify_descriptors(pid: int) -> int:
    """How many of its descriptors are inotify instances."""
    return sum(str(link.readlink()) == "anon_inode:inotify" for link in Path(f"/proc/{pid}/fd").iterdir())


def switches(pid: int) -> int:
    """How often all threads together have gone to sleep so far: each time, something had woken them."""
    field = "voluntary_ctxt_switches:"
    lines = "".join(path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/status")).splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(field))


def cost_of(pid: int, seconds: float) -> Cost:
    """Leave the process alone for ``seconds``, then look."""
    before, slept = cpu_seconds(pid), switches(pid)
    time.sleep(seconds)
    percent = 100 * (cpu_seconds(pid) - before) / seconds
    wakeups = 60 * max(0, switches(pid) - slept) / seconds
    return Cost(
        percent, wakeups, inotify_descriptors(pid), status_field(pid, "Threads"), status_field(pid, "VmRSS")
    )


def watch(space: Path, files: int, dirs: int, seconds: float, settling: float = 0.0) -> Cost:
    """The cost of watching so many files."""
    world = World(space / "w", dirs, files)
    world.make_directories()
    with reactor_running(write_manifest(world, space / "manifest.yaml")) as process:
        time.sleep(settling)
        return cost_of(process.pid, seconds)


def enter_own_namespace(directory: Path) -> None:
    """Start this program again in a mount namespace of its own, with an empty file system in memory on ``directory``.

    In a container that may not mount, it runs as it is.
    """
    if ALONE in os.environ:
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", directory], check=True)
        _harness.STATE = tempfile.TemporaryDirectory(prefix="reactor-bench-state-", dir=directory)
        return
    unshare = ["unshare", "--mount", "--propagation", "private"]
    probe = [*unshare, "mount", "-t", "tmpfs", "tmpfs", directory]
    if subprocess.run(probe, check=False, capture_output=True).returncode == 0:
        os.environ[ALONE] = "1"
        os.execvp(unshare[0], [*unshare, sys.executable, *sys.argv])
    print("other programs count too: no mount namespace can be made here", file=sys.stderr)


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__)
    enter_own_namespace(options.dir)
    files, dirs, seconds = (1000, 100, 12.0) if options.quick else (10_000, 1000, 60.0)
    with workspace(options.dir) as space:
        cost = watch(space, files, dirs, seconds, SETTLING_SECONDS)
        double = watch(space, 2 * files, dirs, 0.1)
    show(
        f"idle: {files} files in {dirs} directories, {seconds:g} s",
        [
            Row("CPU", cost.cpu_percent, "% of a core", 0.1),
            Row("wake-ups a minute", cost.wakeups, "", 1),
            Row("inotify descriptors", cost.inotify, "", 1),
            Row("threads", cost.threads, "", 3),
            Row("resident memory", cost.rss_kib / 1024, "MiB", 75),
            Row("one more file", (double.rss_kib - cost.rss_kib) / files, "KiB", 2.3),
        ],
    )


if __name__ == "__main__":
    main()
