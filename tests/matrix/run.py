"""Ask all cells, and show a table: ``python tests/matrix/run.py [WORDS...]``.

Words choose the cells whose names begin so: ``file``, ``"service: masked"``. Root runs it: the cells are asked in a
world of their own, which `tests/systemd/with-systemd` makes and throws away.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
INSIDE = "REACTOR_MATRIX_INSIDE"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(words: list[str]) -> int:
    """Exit code 1 where a promise is broken, 2 where no cell has such a name."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*")
    words = parser.parse_args(words).words
    if INSIDE not in os.environ:
        os.environ[INSIDE] = "1"
        world = str(HERE.parent / "systemd" / "with-systemd")
        os.execv(world, [world, sys.executable, str(Path(__file__).resolve()), *words])
    tests = HERE.parent
    sys.path[:0] = map(str, (HERE, tests, tests / "package", tests / "archive", tests.parent))
    from matrix import MODULES, answers, cells  # noqa: PLC0415 - only inside is the way there known

    asked = broken = 0
    _say(f"{'module':<20}{'cells':>8}{'broken':>8}{'seconds':>9}")
    for module in MODULES:
        chosen = [
            cell for cell in cells(module, whole=True) if not words or str(cell).startswith(tuple(words))
        ]
        if not chosen:
            continue
        found = list(answers(chosen))
        bad = [each for each in found if each.breaches]
        seconds = sum(each.seconds for each in found)
        _say(f"{module:<20}{len(found):>8}{len(bad):>8}{seconds:>9.1f}")
        for each in bad:
            _say("\n    ".join((f"  {each.cell}", *each.breaches)))
        asked, broken = asked + len(found), broken + len(bad)
    if not asked:
        parser.error(f"no cell has a name that begins with {' or '.join(map(repr, words))}")
    _say(f"{'all':<20}{asked:>8}{broken:>8}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
