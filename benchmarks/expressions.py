"""Random expressions: valid, nearly valid and hostile ones, written by a grammar. `expressions.py [N]`, a million by default.

Each must give a JSON-like value or fail with a place in its text: never another exception, never a Python attribute
reached. Every hundredth has the full budget of steps, the others a small one: the full one is what bounds the time.
"""

from __future__ import annotations

import random
import resource
import sys
import time
from collections.abc import Callable

from _harness import ROOT, Row, arguments, progress, show

sys.path.insert(0, str(ROOT / "tests" / "expression"))

from promises_of_expressions import breach, scope
from random_expressions import HOSTILE, Writer

from reactor.language.expression import parse_template
from reactor.language.expression.limits import MAX_STEPS
from reactor.language.expression.scope import Scope

SEED = 4
SMALL_STEPS = 10_000
FULL_EVERY = 100
SHOWN = 5
COSTED, BATCHES = 5_000, 5
SLOWEST_SECONDS, MEMORY_MIB = 2.0, 512


def cost(text: Callable[[int], str]) -> float:
    """Microseconds to parse and render one text, in the best of some batches."""
    world, batches = Scope({"Data": {"web": {"port": 8080}}}), []
    for batch in range(BATCHES):
        start = time.process_time()
        for number in range(COSTED):
            template = parse_template(text(batch * COSTED + number))
            assert template is not None
            template.render(world)
        batches.append((time.process_time() - start) / COSTED * 1e6)
    return min(batches)


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__, count=1_000_000)
    wanted = 10_000 if options.quick else options.count
    seen = cost("{{{{ Data.web.port }}}}-{}".format)
    new = cost("{{{{ Data.web.port ?? {} }}}}-17".format)
    writer, full, small = Writer(random.Random(SEED)), scope(MAX_STEPS), scope(SMALL_STEPS)
    faults: list[str] = []
    slowest, slowest_text = 0.0, ""
    for number in range(wanted):
        text = HOSTILE[number] if number < len(HOSTILE) else writer.any()
        start = time.process_time()
        fault = breach(text, full if number < len(HOSTILE) or number % FULL_EVERY == 0 else small)
        spent = time.process_time() - start
        if spent > slowest:
            slowest, slowest_text = spent, text
        if fault is not None:
            faults.append(f"{text!r}: {fault}")
        if number % 10_000 == 0:
            progress(f"{number:,} of {wanted:,}")
    progress("")
    show(
        f"random expressions: {wanted:,}",
        [
            Row("neither a value nor an error with a place, or a Python attribute", len(faults), "", 0),
            Row("slowest, of the processor's time", slowest, "s", SLOWEST_SECONDS),
            Row(
                "memory at the peak",
                resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "MiB",
                MEMORY_MIB,
            ),
            Row("parse and render one that was seen before", seen, "µs", 20),
            Row("parse and render a new one", new, "µs", 60),
        ],
    )
    print(f"slowest: {slowest_text[:100]!r}")
    for fault in faults[:SHOWN]:
        print(f"\n{fault}")


if __name__ == "__main__":
    main()
