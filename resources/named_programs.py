"""The programs that a kind only names: systemd, cron or a login starts them later."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from reactor import NamedProgram

_SEARCHED = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
"""Where systemd looks for a program without a path, whatever the unit sets as its PATH."""
_FIRST_PATH = re.compile(r"\s*(/[\w.+@/-]*\w)(?=[\s;&|<>]|$)")


def started_by_systemd(program: str) -> Iterator[NamedProgram]:
    """The first word of a command that no shell reads."""
    paths = (
        (program,) if program.startswith("/") else tuple(os.path.join(each, program) for each in _SEARCHED)
    )
    yield NamedProgram(f"the program {program}", paths)


def started_by_shell(command: str) -> Iterator[NamedProgram]:
    """The program that a command begins with, if it is a plain path. A name may be a word of the shell itself."""
    if (found := _FIRST_PATH.match(command)) is not None:
        yield NamedProgram(f"the program {found[1]}", (found[1],))
