"""Finds the lines about the cause of an error in the output of a package manager, which need not be the last lines."""

from __future__ import annotations

import re
from typing import Final

from reactor import masked_start
from reactor.resources.process import Completed, output_tail

_BEGINS: Final = re.compile(
    r"E: |Err:|dpkg: error|The following packages have unmet|Problem\b|(?i:error)|.*(?:\bGPG\b|\bnot signed\b)"
)
"""The beginnings of such lines in apt, dpkg and dnf. An indented line continues the line above."""
_CAUSE: Final = re.compile(r"\s+(?:E: |Error: )")
_FAILED_SCRIPT: Final = re.compile(r"^Error in \w+ scriptlet", re.MULTILINE)
_OF_A_SCRIPT: Final = "dpkg: error"
_WORDS_OF_A_SCRIPT: Final = 2
"""The lines before such a line in which the script of a package may say why it failed."""
_MOST: Final = 12
_WIDTH: Final = 200


def error_lines(completed: Completed) -> str:
    """The lines about the cause of a failure, each once and on its own line; else the end of the output."""
    return error_lines_in(f"{completed.stdout}\n{completed.stderr}") or output_tail(
        completed.stdout, completed.stderr
    )


def error_lines_in(text: str) -> str:
    """The lines about the cause of a failure in ``text``, each once and on its own line; empty if there are none."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    # A repeated attempt reports its error repeatedly.
    important = list(
        dict.fromkeys(masked_start(lines[number], _WIDTH) for number in sorted(_important_lines(lines)))
    )
    if len(important) > _MOST:
        important[_MOST:] = [f"... and {len(important) - _MOST} lines more"]
    return "".join(f"\n  {line}" for line in important)


def cause_of(message: str) -> str:
    """The one line of an error, with the lines of the package manager, that says most."""
    first, *lines = message.splitlines()
    return next((line.strip() for line in lines if _CAUSE.match(line)), first)


def _important_lines(lines: list[str]) -> set[int]:
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


def failed_scripts(completed: Completed) -> str:
    """The same lines of a success in which a script of an RPM package failed, for which dnf does not fail."""
    return error_lines(completed) if _FAILED_SCRIPT.search(completed.stdout + completed.stderr) else ""


def file_conflict(file: str, owner: str) -> str:
    """The hint for a file that belongs to two packages."""
    return f"{file} belongs to {owner}: have package#{owner} absent, or install a version of it that gives the file up"
