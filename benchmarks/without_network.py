"""What the network costs a run that has none: one run of one file, beside that of a copy without `reactor/fleet`.

Both are copies of this tree, run in turns; the least of all runs counts. The time is that of the processor; the modules
are those of reactor.
Bar: 1.02 times.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from _harness import ROOT, Row, arguments, show, workspace

BAR = 1.02
COUNT = "import sys, reactor.cli as c; c._leave = lambda code: (print(sum(n.startswith('reactor') for n in sys.modules)), c.os._exit(code or 0)); c.main()"
"""Runs reactor, and prints how many modules of it were imported."""


def copy_of(space: Path, name: str, *, fleet: bool) -> Path:
    """A copy of the package, with or without the part for many hosts."""
    left_out = shutil.ignore_patterns("__pycache__", *(() if fleet else ("fleet",)))
    for package in ("reactor", "resources", "watchers"):
        shutil.copytree(ROOT / package, space / name / package, ignore=left_out, symlinks=True)
    return space / name


def run_once(tree: Path, manifest: Path) -> tuple[float, float, float]:
    """Seconds of processor time, MB and modules of one run."""
    variables = {
        **os.environ,
        "PYTHONPATH": str(tree),
        "REACTOR_STATE_DIR": str(manifest.parent / f"state-{tree.name}"),
    }
    words = [sys.executable, "-c", COUNT, "run", "--converge-once", str(manifest)]
    with subprocess.Popen(words, env=variables, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, said
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, float(said.split()[-1])


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__)
    rounds = 5 if options.quick else 30
    with workspace(options.dir) as space:
        manifest = space / "site.yaml"
        own = f"owner: '{os.getuid()}', group: '{os.getgid()}', mode: '0644'"
        manifest.write_text(
            f"resources: [{{file: [{{'{space}/out': {{ensure: present, content: x, {own}}}}}]}}]\n"
        )
        trees = [copy_of(space, "with", fleet=True), copy_of(space, "without", fleet=False)]
        found: dict[Path, list[tuple[float, float, float]]] = {tree: [] for tree in trees}
        for number in range(rounds + 2):
            for tree in trees:
                figures = run_once(tree, manifest)
                if number > 1:  # the first ones compile
                    found[tree].append(figures)
    ours, without = ([list(column) for column in zip(*found[tree], strict=True)] for tree in trees)
    rows = [
        Row(what, min(ours[at]), unit, BAR, min(without[at]))
        for at, (what, unit) in enumerate((("start to end", "s"), ("memory", "MB"), ("modules", "")))
    ]
    show("a run without a network", rows, "without it")


if __name__ == "__main__":
    main()
