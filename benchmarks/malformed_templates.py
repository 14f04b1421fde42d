"""Bad templates: a million of each language, made by breaking good ones at random.

`malformed_templates.py [--only LANGUAGE] [N]`.

Each must end as a text or as an error with a place: never in another exception, never after more than 2 s, with never more
than 300 MB. The deadline of the process that renders them is 1.5 s here, for 5 s: what it ends is counted. The seed is
printed; `--seed` takes another one. Ends with 1 when one did not.
"""

from __future__ import annotations

import resource
import sys
import time

from _harness import ROOT, Row, argument_parser, progress, show
from _malformed import MOST_MEGABYTES, MOST_SECONDS, TRIES, Stopwatch, Tally, time_rows

sys.path.insert(0, str(ROOT / "tests" / "templates"))

from mutated_templates import SECONDS, broken, fault_of

from reactor.language.templates import ENGINES
from reactor.language.templates.sandbox.engine import end_all

SEED = 18
SHOWN = 5


def main() -> None:
    """Measure and print."""
    parser = argument_parser(__doc__ or "", count=1_000_000)
    parser.add_argument(
        "--seed", type=int, default=SEED, help="for other random changes (default: %(default)s)"
    )
    parser.add_argument("--only", choices=sorted(ENGINES), help="one language (default: all)")
    options = parser.parse_args()
    kinds = [options.only] if options.only else list(ENGINES)
    count = 2_000 if options.quick else options.count
    went_well = [attack(kind, options.seed, count) for kind in kinds]
    end_all()
    largest = _peak(resource.RUSAGE_CHILDREN)
    show(
        "the processes that rendered them",
        [Row("memory of the largest at its peak", largest, "MB", MOST_MEGABYTES)],
    )
    sys.exit(not all(went_well) or largest > MOST_MEGABYTES)


def attack(kind: str, seed: int, count: int) -> bool:
    """Render ``count`` broken templates of this language, print the table, and return whether all went well."""
    tally, ended, begun = Tally(), 0, time.monotonic()
    for number, source in enumerate(broken(kind, seed, count)):
        ended += try_one(kind, source, tally) > SECONDS
        if number % 1_000 == 0:
            progress(f"{kind}: {number:,} of {count:,}, {len(tally.faults)} faults")
    progress("")
    memory = _peak(resource.RUSAGE_SELF)
    show(
        f"malformed templates, {kind}: {count:,} with the seed {seed}, {tally.refused:,} of them in error, "
        f"in {time.monotonic() - begun:,.0f} s",
        [
            Row("neither a text nor an error with a place", len(tally.faults) - tally.slow, "", 0),
            *time_rows(tally),
            Row("ended by the deadline", ended, ""),
            Row("memory of this process at its peak", memory, "MB", MOST_MEGABYTES),
        ],
    )
    for fault in tally.faults[:SHOWN]:
        print(f"\n{fault[:2000]}")
    return not tally.faults and memory <= MOST_MEGABYTES


def try_one(kind: str, source: str, tally: Tally) -> float:
    """Render ``source``, count what becomes of it, and return how many seconds the first try took."""
    watch = Stopwatch()
    fault, is_error, took = fault_of(kind, source)
    processor = watch.processor  # the deadline bounds that of the process that renders
    tally.refused += is_error
    if fault is not None:
        tally.faults.append(f"{source!r}: {fault}")
    times = [watch.seconds]
    while times[-1] > MOST_SECONDS and len(times) < TRIES:
        watch = Stopwatch()
        fault_of(kind, source)
        times.append(watch.seconds)
    tally.note_times(repr(source[:200]), times, processor)
    return took


def _peak(whose: int) -> float:
    return resource.getrusage(whose).ru_maxrss / 1024


if __name__ == "__main__":
    main()
