"""Finds what a package manager names as the cause among all that it writes: it is not always what it writes last."""

from __future__ import annotations

import re
from typing import Final

from reactor.resources.process import Completed, output_tail

_BEGINS: Final = re.compile(
    r"E: |Err:|dpkg: error|The following packages have unmet|Problem\b|(?i:error)|.*(?:\bGPG\b|\bnot signed\b)"
)
"""How such lines begin, of apt, dpkg and dnf. Those below that are indented go on with it."""
_OF_A_SCRIPT: Final = "dpkg: error"
_WORDS_OF_A_SCRIPT: Final = 2
"""Lines before that in which the script of a package may say why it failed."""
_MOST: Final = 12
_WIDTH: Final = 200


def complaint(completed: Completed) -> str:
    """The lines that tell why a program failed, each on a line of its own, and once; else its last words."""
    return complaint_in(f"{completed.stdout}\n{completed.stderr}") or output_tail(
        completed.stdout, completed.stderr
    )


def complaint_in(text: str) -> str:
    """The telling lines of what a program has written, each on a line of its own, and once; else nothing."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    # What is tried several times is complained of several times.
    telling = list(dict.fromkeys(lines[number][:_WIDTH] for number in sorted(_telling(lines))))
    if len(telling) > _MOST:
        telling[_MOST:] = [f"... and {len(telling) - _MOST} lines more"]
    return "".join(f"\n  {line}" for line in telling)


def _telling(lines: list[str]) -> set[int]:
    found: set[int] = set()
    goes_on = False
    for number, line in enumerate(lines):
        begins = _BEGINS.match(line.lstrip()) is not None
        goes_on = begins or (goes_on and line.startswith(" "))
        if goes_on:
            found.add(number)
        if line.startswith(_OF_A_SCRIPT):
            found.update(range(max(0, number - _WORDS_OF_A_SCRIPT), number))
    return found


def file_conflict(file: str, owner: str) -> str:
    """How to mend that two packages have one file."""
    return f"{file} belongs to {owner}: have package#{owner} absent, or install a version of it that gives the file up"
