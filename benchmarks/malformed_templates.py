"""Bad templates: a million of each language, made by breaking good ones at random. `malformed_templates.py [N]`.

Each must end as a text or as an error with a place: never in another exception, never after more than 2 s, with never more
than 300 MB. The deadline of the process that renders them is 1.5 s here, for 5 s: what it ends is counted. The seed is
printed; `--seed` takes another one.
"""

from __future__ import annotations

import resource
import sys
import time

from _harness import ROOT, Row, argument_parser, progress, show

sys.path.insert(0, str(ROOT / "tests" / "templates"))

from mutated_templates import SECONDS, broken, fault_of

from reactor.language.templates import ENGINES

SEED = 18
SHOWN = 5
MEMORY_MIB, SLOWEST_SECONDS = 300, 2.0


def main() -> None:
    """Measure and print."""
    parser = argument_parser(__doc__ or "", count=1_000_000)
    parser.add_argument(
        "--seed", type=int, default=SEED, help="for other random changes (default: %(default)s)"
    )
    options = parser.parse_args()
    wanted = 2_000 if options.quick else options.count
    for kind in ENGINES:
        faults: list[str] = []
        errors = ended = 0
        slowest, slowest_source, begun = 0.0, "", time.monotonic()
        for number, source in enumerate(broken(kind, options.seed, wanted)):
            fault, is_error, spent = fault_of(kind, source)
            errors += is_error
            ended += spent > SECONDS
            if spent > slowest:
                slowest, slowest_source = spent, source
            if fault is not None:
                faults.append(f"{source!r}: {fault}")
            if number % 1_000 == 0:
                progress(f"{kind}: {number:,} of {wanted:,}, {len(faults)} faults")
        progress("")
        show(
            f"malformed templates, {kind}: {wanted:,} with the seed {options.seed}, {errors:,} of them in error, "
            f"in {time.monotonic() - begun:,.0f} s",
            [
                Row("neither a text nor an error with a place", len(faults), "", 0),
                Row("slowest", slowest, "s", SLOWEST_SECONDS),
                Row("ended by the deadline", ended, ""),
                Row("memory of this process at its peak", _peak(resource.RUSAGE_SELF), "MiB", MEMORY_MIB),
            ],
        )
        print(f"slowest: {slowest_source[:100]!r}")
        for fault in faults[:SHOWN]:
            print(f"\n{fault[:2000]}")
    from reactor.language.templates.sandbox.engine import end_all  # noqa: PLC0415 - for the processes, which are reaped once they have ended

    end_all()
    show(
        "the processes that rendered them",
        [Row("memory of the largest at its peak", _peak(resource.RUSAGE_CHILDREN), "MiB", MEMORY_MIB)],
    )


def _peak(whose: int) -> float:
    return resource.getrusage(whose).ru_maxrss / 1024


if __name__ == "__main__":
    main()
