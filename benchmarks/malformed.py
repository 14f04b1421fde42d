"""Bad manifests: a million of them, made by breaking the examples at random. `malformed.py [N]`.

Each must be loaded, or end in diagnostics that all have a place: never in another exception, never after more than 2 s, and
all of them together in 300 MB. Some that are invalid go through the command as well, in this process, which must exit with 2. Ends
with 1 when one did not.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from _harness import ROOT, arguments, child_environment, workspace
from _malformed import attack, finish
from _mutate import mutated
from click.testing import CliRunner

from reactor.cli.group import reactor
from reactor.loading import load
from reactor.resource.diagnostic import ManifestError

SEED = 2
COMMANDS = 50
EXIT_INVALID = 2


def load_at(path: Path) -> None:
    """Load the manifest at ``path``. Raises ManifestError for an invalid one, and ValueError if that has no place."""
    try:
        load(str(path))
    except ManifestError as error:
        if not error.diagnostics or any(each.place is None for each in error.diagnostics):
            raise ValueError(f"no place: {error}") from error
        raise


def run_command(path: Path) -> None:
    """Load ``path`` as `load_at` does; when it is invalid, the command must exit with 2 and no traceback."""
    try:
        load_at(path)
    except ManifestError:
        done = CliRunner(env=child_environment()).invoke(
            reactor, ["run", "--converge-once", "--noop", str(path)]
        )
        if done.exit_code != EXIT_INVALID or "Traceback" in done.stderr:
            raise ValueError(f"exit {done.exit_code}, {done.exception!r}: {done.stderr!r}") from None
        raise


def loading(place: Path, every: int) -> Callable[[random.Random], Callable[[], None]]:
    """What makes one manifest in ``place``, and what loads it; one of ``every`` goes through the command."""
    path = place / "manifest.yaml"
    examples = [path.read_text() for path in sorted((ROOT / "examples").glob("*.yaml"))]

    def make(rng: random.Random) -> Callable[[], None]:
        path.write_bytes(mutated(rng.choice(examples), rng))
        attempt = run_command if rng.randrange(every) == 0 else load_at
        return lambda: attempt(path)

    return make


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__ or "", 1_000_000)
    count = 1000 if options.quick else options.count
    print(f"seed {SEED}")
    with workspace(options.dir) as place:
        tally = attack(count, SEED, loading(place, max(1, count // COMMANDS)), (ManifestError,))
    finish(f"malformed manifests: {count:,}", tally)


if __name__ == "__main__":
    main()
