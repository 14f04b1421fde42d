"""Where the mutants are made and tried: clones of a commit, each with its environment, and the tool in one of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PROJECT = HERE.parent.parent
_LOCK = PROJECT / "requirements-mutation.lock"


def tool(directory: Path) -> Path:
    """The Python of cosmic-ray, in an environment that the project does not share."""
    environment = directory / "tool"
    if not (environment / "ready").exists():
        run(sys.executable, "-m", "venv", "--clear", environment)
        install = ("-m", "pip", "install", "-q", "--require-hashes", "--no-deps", "-r", _LOCK)
        run(environment / "bin/python", *install)
        (environment / "ready").touch()
    return environment / "bin/python"


def clone(directory: Path, number: int, commit: str) -> Path:
    """A clone at ``commit``, one for each of those who work side by side, with coverage.py beside its libraries."""
    place = directory / f"clone-{number}"
    if not (place / ".venv/ready").exists():
        run("rm", "-rf", place)
        run("git", "clone", "-q", PROJECT, place)
        run("git", "checkout", "-q", "--detach", commit, cwd=place)
        run("scripts/setup", "dev", cwd=place)
        _measure(place)
        (place / ".venv/ready").touch()
    run("git", "checkout", "-q", "--", ".", cwd=place)
    return place


def _measure(place: Path) -> None:
    """Let each process of the clone's Python ask whether it is to be measured."""
    locked = re.search(r"^coverage==(?:.*\\\n)+.*$", _LOCK.read_text(), re.MULTILINE)
    if locked is None:
        raise LookupError(f"{_LOCK} does not lock coverage")
    only = place / ".venv/coverage.lock"
    only.write_text(locked[0] + "\n")
    python = place / ".venv/bin/python"
    run(python, "-m", "pip", "install", "-q", "--require-hashes", "--no-deps", "-r", only)
    (packages,) = (place / ".venv/lib").glob("python*/site-packages")
    start = 'import os; "COVERAGE_PROCESS_START" in os.environ and __import__("coverage").process_startup()'
    (packages / "measure.pth").write_text(start + "\n")


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
