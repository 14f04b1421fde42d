"""Break the core on purpose, a line at a time, and see which of it the tests notice.

`python tests/mutation/run.py [--sample 60] [--part NAME] [--seed N]`. Each part of `PARTS` is mutated in a clone of the
last commit, two parts side by side, by cosmic-ray, in an environment of its own (`requirements-mutation.lock`). A mutant
is killed when a test of the part fails or hangs. Ends with 1 when fewer than 90 % were killed; the diffs of the survivors
are printed, each to be tested or explained.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
PROJECT = HERE.parent.parent
ENOUGH = 0.9
"""The part of the mutants that has to be killed."""


class Part(NamedTuple):
    """What is mutated together: the folder, its tests in the order in which they are likely to notice, seconds they may take."""

    folder: str
    tests: tuple[str, ...]
    timeout: float


PARTS = {
    "engine": Part("reactor/engine", ("tests/engine", "tests/crash", "tests/health"), 400),
    "journal": Part("reactor/journal", ("tests/journal", "tests/crash"), 400),
    "manifest": Part("reactor/manifest", ("tests/manifest", "tests/language", "tests/cli"), 600),
    "watchers": Part("watchers", ("tests/watchers", "tests/network"), 400),
    "file": Part("resources/file", ("tests/file", "tests/attacks"), 400),
}


class Mutant(NamedTuple):
    """One change, and whether the tests let it pass."""

    part: str
    survived: bool
    diff: str


def main() -> int:
    """Mutate, tell each part's share as it ends, and then the survivors."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sample", type=int, default=60, help="mutants of each part; 0 for all")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this one; may be repeated")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6)
    parser.add_argument("--jobs", type=int, default=2, help="parts side by side")
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch, ThreadPoolExecutor(asked.jobs) as pool:
        tool = install_tool(Path(scratch))
        mutated = [
            pool.submit(mutate, name, Path(scratch), tool, asked.sample, asked.seed)
            for name in asked.part or PARTS
        ]
        mutants = [mutant for part in mutated for mutant in part.result()]
    for mutant in mutants:
        if mutant.survived:
            print(f"\nsurvived in {mutant.part}:\n{mutant.diff}")
    return 0 if tell_share("all", mutants) >= ENOUGH else 1


def install_tool(scratch: Path) -> Path:
    """The programs of cosmic-ray, in an environment that the project does not share."""
    run(sys.executable, "-m", "venv", scratch / "tool")
    pip = scratch / "tool/bin/pip"
    run(pip, "install", "-q", "--require-hashes", "--no-deps", "-r", PROJECT / "requirements-mutation.lock")
    return scratch / "tool/bin"


def mutate(name: str, scratch: Path, tool: Path, sample: int, seed: int) -> list[Mutant]:
    """Mutate one part in a clone of its own. Raises CalledProcessError when its tests fail as they stand."""
    part, clone = PARTS[name], scratch / name
    run("git", "clone", "-q", PROJECT, clone)
    run("scripts/setup", "dev", cwd=clone)
    (clone / "mutation.toml").write_text(configuration(part))
    run(tool / "cosmic-ray", "baseline", "mutation.toml", cwd=clone)
    run(tool / "cosmic-ray", "init", "mutation.toml", "session.sqlite", cwd=clone)
    chosen = ["--sample", str(sample), "--seed", str(seed)]
    run(tool / "python", HERE / "sample.py", "session.sqlite", *chosen, cwd=clone)
    run(tool / "cosmic-ray", "exec", "mutation.toml", "session.sqlite", cwd=clone)
    mutants = read_results(name, run(tool / "cosmic-ray", "dump", "session.sqlite", cwd=clone))
    tell_share(name, mutants)
    return mutants


def configuration(part: Part) -> str:
    """What cosmic-ray is told, as TOML."""
    # No bytecode: a mutant written within a second of the last, and as long, would be taken for it.
    tests = (
        f"env PYTHONDONTWRITEBYTECODE=1 .venv/bin/pytest -x -q -n0 -p no:cacheprovider {' '.join(part.tests)}"
    )
    return "\n".join(
        (
            "[cosmic-ray]",
            f"module-path = {json.dumps(part.folder)}",
            f"timeout = {part.timeout}",
            "excluded-modules = []",
            f"test-command = {json.dumps(tests)}",
            "[cosmic-ray.distributor]",
            'name = "local"',
            "",
        )
    )


def read_results(name: str, dump: str) -> list[Mutant]:
    """The mutants that were tried. Each line of ``dump`` is a pair, of what was to be done and what came of it."""
    pairs = [json.loads(line) for line in dump.splitlines()]
    return [
        Mutant(name, result["test_outcome"] == "survived", result["diff"] or "")
        for _, result in pairs
        if result is not None and result["worker_outcome"] != "skipped"
    ]


def tell_share(name: str, mutants: list[Mutant]) -> float:
    """Print and return which part of them was killed."""
    killed = sum(not mutant.survived for mutant in mutants)
    share = killed / len(mutants) if mutants else 1.0
    print(f"{name}: {killed} of {len(mutants)} killed, {share:.1%}", flush=True)
    return share


def run(*command: object, cwd: Path | None = None) -> str:
    """Run it, and return what it printed. Raises CalledProcessError, with all it said told."""
    environment = {key: value for key, value in os.environ.items() if key != "CI"}
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode != 0:
        print(done.stdout[-5000:], done.stderr[-5000:], sep="\n", file=sys.stderr)
        done.check_returncode()
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
