"""Power failures at random moments, replayed from the log of a disk.

    python tests/power/run.py --cases 1000 [--filesystem ext4|xfs|btrfs] [--seed S]

A recording converges four versions of a manifest on a file system whose disk logs every write and flush, while another
program flushes a file of its own now and then. A case takes a random moment of it, with all, some or one of the writes
that were not flushed then, and mounts the disk as it would be after a power failure. Every managed file must be a whole
version, none older than the last run that had ended; and reactor, started on it, must end with all as declared, no
refresh lost and nothing left over. Needs root, and namespaces for its mounts. Ends with 1 when a case fails.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from power_world import VERSIONS, PowerWorld  # noqa: E402 - it is beside this script
from recording import FILE_SYSTEMS, LoggedDisk, Recording  # noqa: E402

INSIDE = "REACTOR_POWER_INSIDE"
CASES_OF_A_RECORDING = 50


def record(kind: str, directory: Path, chance: random.Random) -> Recording:
    """Converge every version on a new logged disk, and return its log."""
    disk = LoggedDisk(kind, directory)
    with disk.recording():
        world = PowerWorld(directory, disk.point)
        world.prepare()
        over = threading.Event()
        neighbour = threading.Thread(
            target=flush_now_and_then, args=(disk.point / "neighbour", over, chance.random())
        )
        neighbour.start()
        try:
            for version in range(1, VERSIONS + 1):
                disk.mark(f"begins {version}")
                world.converge(version)
                disk.mark(f"ended {version}")
                time.sleep(chance.choice((0.0, 1.2)))  # the file system writes its own journal each second
        finally:
            over.set()
            neighbour.join()
    return disk.recorded()


def flush_now_and_then(path: Path, over: threading.Event, seed: float) -> None:
    """Be another program, whose flushes make the file system write its journal at moments that reactor has not chosen."""
    chance = random.Random(seed)
    with path.open("ab") as file:
        while not over.wait(chance.random() * 0.05):
            file.write(b"line\n")
            file.flush()
            os.fsync(file.fileno())


def judge(recording: Recording, directory: Path, chance: random.Random) -> tuple[str, list[str]]:
    """Let the power fail at a random moment; return how, and what was wrong then or after the next run."""
    moment = recording.draw(chance)
    marks = [mark.split() for mark in recording.marks(moment)]
    begun = max(int(version) for word, version in marks if word == "begins")
    ended = max((int(version) for word, version in marks if word == "ended"), default=0)
    how = f"{recording.kind}, {moment.how} of the unflushed writes, record {moment.length} of {len(recording.records)}"
    try:
        with recording.replayed(moment, directory) as point:
            world = PowerWorld(directory, point)
            found = world.damage(ended, begun)
            world.converge(begun)
            return how, found + world.problems(begun)
    except (AssertionError, OSError, subprocess.CalledProcessError) as error:
        return how, [str(error)]


def failures(kind: str, cases: int, chance: random.Random) -> int:
    """Record once and let the power fail ``cases`` times; return in how many something was wrong."""
    failed = 0
    with tempfile.TemporaryDirectory(prefix="reactor-power-", dir="/dev/shm") as directory:
        recording = record(kind, Path(directory), chance)
        for _ in range(cases):
            how, found = judge(recording, Path(directory), chance)
            if found:
                failed += 1
                print(f"{how}:", *found[:10], sep="\n    ", flush=True)
    return failed


def arguments() -> argparse.Namespace:
    """What to do."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=1000, help="on each file system")
    parser.add_argument(
        "--filesystem", choices=FILE_SYSTEMS, action="append", help="only this one; may be repeated"
    )
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6)
    return parser.parse_args()


def main() -> int:
    """Let the power fail on each file system, and print each failure as it is found."""
    options = arguments()
    if INSIDE not in os.environ:
        command = ["unshare", "--mount", "--propagation", "private", sys.executable, __file__, *sys.argv[1:]]
        return subprocess.run(command, env={**os.environ, INSIDE: "1"}, check=False).returncode
    print(f"seed {options.seed}", flush=True)
    chance = random.Random(options.seed)
    kinds = options.filesystem or list(FILE_SYSTEMS)
    failed = 0
    for kind in kinds:
        for first in range(0, options.cases, CASES_OF_A_RECORDING):
            failed += failures(kind, min(CASES_OF_A_RECORDING, options.cases - first), chance)
    print(
        f"{options.cases} power failures on {', '.join(kinds)}: {failed} with something torn, lost or left over"
    )
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
