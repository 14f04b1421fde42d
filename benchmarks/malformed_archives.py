"""Bad archives: 100,000 of them, tar in all its compressions and zip. `malformed_archives.py [N]`.

Each must be unpacked, or end in an error for people: never in another exception, never after more than 2 s, and all of them
together in 300 MB. Nothing may come to lie beside the directory they are unpacked into. Ends with 1 when one did not.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from _archives import malformed
from _harness import arguments, workspace
from _malformed import attack, finish

from reactor import UnpackingError, UnpackingLimits, unpack

SEED = 18
LIMITS = UnpackingLimits(size=128 << 20)


def unpacking(place: Path) -> Callable[[random.Random], Callable[[], None]]:
    """What makes one archive in ``place``, and what unpacks it there."""
    archive, into = place / "archive", place / "into"

    def make(rng: random.Random) -> Callable[[], None]:
        kind, data = malformed(rng)
        shutil.rmtree(into, ignore_errors=True)
        into.mkdir()
        archive.write_bytes(data)

        def work() -> None:
            try:
                unpack(str(archive), str(into), kind, limits=LIMITS)
            except OSError as error:
                # The archive asks for a name that the file system does not take.
                if error.errno != errno.ENAMETOOLONG:
                    raise
            assert sorted(os.listdir(place)) == ["archive", "into"]

        return work

    return make


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__ or "", 100_000)
    count = 1000 if options.quick else options.count
    print(f"seed {SEED}")
    with workspace(options.dir) as place:
        tally = attack(count, SEED, unpacking(place), (UnpackingError,))
    finish(f"malformed archives: {count:,}", tally)


if __name__ == "__main__":
    main()
