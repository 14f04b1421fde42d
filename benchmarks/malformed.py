"""Bad manifests: 10,000 of them, made by breaking the examples at random.

Each must end in diagnostics that have a place: never in another exception, never after more than 2 s. A change
that leaves the manifest valid does not count. Some go through the real command as well, which must exit with 2.
"""

from __future__ import annotations

import random
import subprocess
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

from _harness import REACTOR, ROOT, Row, arguments, child_environment, progress, show, workspace
from _mutate import mutated

from reactor.loading import load
from reactor.resource.diagnostic import ManifestError

SEED = 2
SHOWN = 5
EXIT_INVALID = 2


@dataclass
class Tally:
    """What became of the broken manifests; ``faults`` describes what should not have been."""

    invalid: int = 0
    valid: int = 0
    no_place: int = 0
    exceptions: int = 0
    wrong_exit: int = 0
    slowest: float = 0.0
    faults: list[str] = field(default_factory=list)


def try_loading(path: Path, tally: Tally) -> bool:
    """Load one manifest; whether it was invalid, in whatever way."""
    start = time.perf_counter()
    try:
        load(str(path))
    except ManifestError as error:
        tally.invalid += 1
        if not error.diagnostics or any(each.place is None for each in error.diagnostics):
            tally.no_place += 1
            tally.faults.append(f"no place: {error}\n{path.read_bytes()!r}")
    except Exception:  # noqa: BLE001 - finding these is what this is for
        tally.invalid += 1
        tally.exceptions += 1
        tally.faults.append(f"{traceback.format_exc()}\n{path.read_bytes()!r}")
    else:
        tally.valid += 1
        return False
    finally:
        tally.slowest = max(tally.slowest, time.perf_counter() - start)
    return True


def try_command(path: Path, tally: Tally) -> None:
    """Run the real command on one invalid manifest."""
    done = subprocess.run(
        [REACTOR, "run", "--converge-once", "--noop", str(path)],
        env=child_environment(),
        capture_output=True,
        check=False,
    )
    if done.returncode != EXIT_INVALID or b"Traceback" in done.stderr:
        tally.wrong_exit += 1
        tally.faults.append(f"exit {done.returncode}: {done.stderr.decode()[-500:]}\n{path.read_bytes()!r}")


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__)
    wanted, commands = (1000, 5) if options.quick else (10_000, 50)
    examples = [path.read_text() for path in sorted((ROOT / "examples").glob("*.yaml"))]
    rng, tally = random.Random(SEED), Tally()
    with workspace(options.dir) as space:
        path = space / "manifest.yaml"
        while tally.invalid < wanted:
            path.write_bytes(mutated(rng.choice(examples), rng))
            if try_loading(path, tally) and tally.invalid % (wanted // commands) == 0:
                progress(f"{tally.invalid} of {wanted}")
                try_command(path, tally)
    progress("")
    show(
        f"malformed manifests: {tally.invalid:,} invalid ones, {tally.valid:,} that stayed valid",
        [
            Row("without a place", tally.no_place, "", 0),
            Row("another exception than ManifestError", tally.exceptions, "", 0),
            Row("slowest load", tally.slowest, "s", 2.0),
            Row(f"real command not exiting with 2, of {commands}", tally.wrong_exit, "", 0),
        ],
    )
    for fault in tally.faults[:SHOWN]:
        print(f"\n{fault}")


if __name__ == "__main__":
    main()
