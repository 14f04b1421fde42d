"""The attacks that need a race, each against real attackers, and a table of what was tried and what leaked.

As root: `python tests/attacks/run.py --seconds 600 [--only NAME]`. Ends with 1 when anything leaked. A leak is a byte of a file
that only root may read in whatever is shown or kept, a change in root's directory, or something forged that root took.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "archive")]

import more_races  # noqa: E402, F401 - adds its own
from races import RACES  # noqa: E402 - it is beside this script


class Outcome(NamedTuple):
    """What became of one race."""

    name: str
    attempts: int
    outcomes: dict[str, int]
    leaks: list[str]

    def __str__(self) -> str:
        ended = ", ".join(f"{count:,} {word}" for word, count in sorted(self.outcomes.items()))
        return f"{self.name:<62} {self.attempts:>9,} {len(self.leaks):>5}  {ended}"


def run_race(name: str, seconds: float) -> Outcome:
    """Run the race ``name`` in a process and a mount namespace of its own. Raises RuntimeError when it can't be run."""
    done = subprocess.run(
        ["unshare", "--mount", sys.executable, HERE / "races.py", name, str(seconds)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    if done.returncode != 0:
        raise RuntimeError(f"{name}: {done.stderr[-5000:]}")
    return Outcome(name, **json.loads(done.stdout))


def tell(line: object) -> None:
    """Print a line of the table at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Run them, and print the table as it grows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=600.0, help="for each (default: %(default)g)")
    parser.add_argument("--only", default="", metavar="NAME", help="those whose names hold this")
    options = parser.parse_args()
    tell(f"{'attack':<62} {'attempts':>9} {'leaks':>5}  outcomes")
    leaked = False
    for name in RACES:
        if options.only in name:
            outcome = run_race(name, options.seconds)
            tell(outcome)
            for leak in outcome.leaks:
                tell(f"    {leak}")
            leaked = leaked or bool(outcome.leaks)
    sys.exit(leaked)


if __name__ == "__main__":
    main()
