"""Bad rules of goss: a million files of them. `malformed_goss.py [N]`.

Each must be read, or end in an error for people: never in another exception, never after more than 2 s, and all of them
together in 300 MB. What can be read is compared with what a look may find, without taking one: a broken command is not to
be run. Ends with 1 when one did not.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from _goss_rules import malformed
from _harness import arguments, workspace
from _malformed import attack, finish

from reactor import ResourceError
from reactor.resources.health.goss.matchers import Text, check_matcher, complaint, matches
from reactor.resources.health.goss.rules import Rules
from reactor.resources.health.goss.runner import read_rules

SEED = 18
FOUND = (
    Text("root:x:0\n" + "a" * 60 + "!\n"),
    "a" * 30,
    5,
    True,
    ["a", "b", 3],
    {"x": [1, {"y": "z"}]},
    None,
    1.5,
)


def reading(place: Path) -> Callable[[random.Random], Callable[[], None]]:
    """What makes one file in ``place``, and what reads and compares it."""
    path = place / "rules.yaml"

    def make(rng: random.Random) -> Callable[[], None]:
        path.write_bytes(malformed(rng))
        found = rng.choice(FOUND)
        return lambda: compare(read_rules(str(path)), found)

    return make


def compare(rules: Rules, found: object) -> None:
    """Compare each property that expects something with ``found``."""
    for _, _, rule in rules.all():
        for name, field in type(rule).model_fields.items():
            checks = [getattr(each, "func", None) for each in field.metadata]
            expected = getattr(rule, name) if check_matcher in checks else None
            if expected is not None and not matches(found, expected):
                complaint(found, expected)


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__ or "", 1_000_000)
    count = 1000 if options.quick else options.count
    print(f"seed {SEED}")
    with workspace(options.dir) as place:
        tally = attack(count, SEED, reading(place), (ResourceError,))
    finish(f"malformed rules of goss: {count:,}", tally)


if __name__ == "__main__":
    main()
