"""What it costs to hear writes: 3,000 a second, by somebody else, in a directory where one file is managed.

`reactor run` on 100 files with content in one directory and one of which only owner and mode are managed, so that what
others write to it is heard, looked at, and right. Each row is the CPU of reactor while a process writes; the rate that it
reached is beside it. "Closed" is open, write, close for each write; otherwise a few files are held open for all of them.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from _harness import Row, arguments, cpu_seconds, reactor_running, show, workspace

RATE = 3000
CASES = {
    "names nobody declared, closed": ("foreign", "closed"),
    "names nobody declared, held open": ("foreign", "held"),
    "a declared file, closed": ("declared", "closed"),
    "a declared file, held open": ("declared", "held"),
}
DECLARED = "declared"
FOREIGN = [f"foreign{number}" for number in range(100)]


def write_manifest(directory: Path, path: Path) -> Path:
    """The managed files of ``directory``."""
    own = {"ensure": "present", "owner": str(os.getuid()), "group": str(os.getgid()), "mode": "0644"}
    files = [{"name": str(directory / f"file{number}"), "content": "right\n", **own} for number in range(100)]
    files.append({"name": str(directory / DECLARED), **own})
    path.write_text(json.dumps({"resources": [{"file": each} for each in files]}))
    return path


def write_for(directory: str, what: str, how: str, seconds: float) -> int:
    """Write `RATE` times a second; return how often."""
    names = itertools.cycle(FOREIGN if what == "foreign" else [DECLARED])
    held: dict[str, int] = {}
    began = time.monotonic()
    for number in itertools.count():
        ahead = began + number / RATE - time.monotonic()
        if ahead > 0:
            time.sleep(ahead)
        if time.monotonic() - began > seconds:
            return number
        name = next(names)
        descriptor = held[name] if name in held else os.open(f"{directory}/{name}", os.O_WRONLY | os.O_CREAT)
        os.pwrite(descriptor, b"anything\n", 0)
        if how == "closed":
            os.close(descriptor)
        else:
            held[name] = descriptor
    raise AssertionError


def cost_of(pid: int, directory: Path, case: tuple[str, str], seconds: float) -> tuple[float, float]:
    """Percent of a core that reactor used meanwhile, and writes a second."""
    before, began = cpu_seconds(pid), time.monotonic()
    command = [sys.executable, __file__, "--write", str(directory), *case, str(seconds)]
    written = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    took = time.monotonic() - began
    return 100 * (cpu_seconds(pid) - before) / took, written / seconds


def main() -> None:
    """Measure and print."""
    if "--write" in sys.argv:
        directory, what, how, seconds = sys.argv[2:]
        print(write_for(directory, what, how, float(seconds)))
        return
    options = arguments(__doc__)
    seconds = 3.0 if options.quick else 10.0
    rows = []
    with workspace(options.dir) as space:
        directory = space / "managed"
        directory.mkdir()
        with reactor_running(write_manifest(directory, space / "manifest.yaml")) as process:
            for title, case in CASES.items():
                percent, rate = cost_of(process.pid, directory, case, seconds)
                rows.append(Row(f"{title}, {rate:,.0f} / s", percent, "% of a core", 10))
    show(f"foreign writes, {seconds:g} s each", rows)


if __name__ == "__main__":
    main()
